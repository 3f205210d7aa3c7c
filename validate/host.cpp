#include "validate/host.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <sstream>
#include <thread>

namespace penstock {

std::map<std::string, std::string> host_environment() {
  std::map<std::string, std::string> all{
      {"cores", fmt::format("{}", std::thread::hardware_concurrency())}};
  utsname system{};
  if (uname(&system) == 0) {
    all["os"] = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  }
  return all;
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace penstock
