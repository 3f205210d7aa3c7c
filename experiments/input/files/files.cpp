#include "experiments/input/files/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "experiments/input/files/shipped.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

std::string reason() { return std::strerror(errno); }

/// Whether this is a device other than a terminal, such as /dev/zero, which may never end.
bool is_endless(std::FILE* file) {
  struct stat facts {};
  if (::fstat(::fileno(file), &facts) != 0) return false;
  if (S_ISBLK(facts.st_mode)) return true;
  return S_ISCHR(facts.st_mode) && ::isatty(::fileno(file)) == 0;
}

}  // namespace

void CloseInput::operator()(std::FILE* file) const { std::fclose(file); }

InputFile open_input(const std::string& path) {
  const bool is_standard = path == "-";
  std::error_code ignored;
  if (!is_standard && fs::is_directory(path, ignored)) throw InputError("is a folder, not a file");
  InputFile file(is_standard ? ::fdopen(::dup(STDIN_FILENO), "rb")
                             : std::fopen(path.c_str(), "rb"));
  if (!file && errno == ENOENT)
    throw InputError("cannot open: " + reason() + why_not_shipped(path));
  if (!file) throw InputError("cannot open: " + reason());
  if (is_endless(file.get())) throw InputError("it is a device; a file is needed");
  return file;
}

InputError in_file(const std::string& path, const InputError& error) {
  // That of another file, which this one names, keeps its place to itself.
  return {path, error.file().empty() ? error.where() : "", error.what()};
}

std::string resolve(const std::string& folder, const std::string& path) {
  return (fs::path(folder) / path).string();
}

}  // namespace penstock
