#include "validate/machine/host.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <sstream>
#include <thread>

namespace penstock {

namespace {

/// "model name" of the first processor in /proc/cpuinfo.
std::string processor() {
  std::istringstream lines(file_text("/proc/cpuinfo"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

/// The cpufreq governor of the first processor, "performance"; empty when unknown.
std::string clock_policy() {
  std::string text = file_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::map<std::string, std::string> host_environment() {
  std::map<std::string, std::string> all{
      {"cores", fmt::format("{}", std::thread::hardware_concurrency())}};
  utsname system{};
  if (uname(&system) == 0) {
    all["os"] = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  }
  // Some processors have no model name; two of these cannot be distinguished.
  const std::string name = processor();
  all["cpu"] = name.empty() ? std::string(system.machine) : name;
  if (const std::string policy = clock_policy(); !policy.empty()) all["clock_policy"] = policy;
  return all;
}

std::optional<std::string> nvidia_driver(const std::string& module) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue Mar  3 …": the first dotted
  // number, since the words around it vary.
  std::istringstream words(module.substr(0, module.find('\n')));
  for (std::string word; words >> word;) {
    const bool numbers = word.find_first_not_of("0123456789.") == std::string::npos;
    if (numbers && word.front() != '.' && word.find('.') != std::string::npos) return word;
  }
  return std::nullopt;
}

std::string cuda_version_text(std::uint32_t version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string cublaslt_version_text(std::uint32_t version) {
  return fmt::format("{}.{}.{}", version / 10'000, version / 100 % 100, version % 100);
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace penstock
