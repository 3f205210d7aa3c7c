#include "experiments/input/files/files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "experiments/input/files/byte_stream.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

std::string reason() { return std::strerror(errno); }

std::string read_all(std::FILE* file) {
  std::string content;
  std::string block(std::size_t{1} << 20, '\0');
  while (const std::size_t got = std::fread(block.data(), 1, block.size(), file)) {
    content.append(block, 0, got);
    if (content.size() > Limits::input_file_bytes) {
      throw InputError(fmt::format("it is larger than {} bytes", Limits::input_file_bytes));
    }
  }
  if (std::ferror(file) != 0) throw InputError("cannot read: " + reason());
  return content;
}

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
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw InputError("is a folder, not a file");
  InputFile file(path == "-" ? ::fdopen(::dup(STDIN_FILENO), "rb")
                             : std::fopen(path.c_str(), "rb"));
  if (!file) throw InputError("cannot open: " + reason());
  if (is_endless(file.get())) throw InputError("it is a device; a file is needed");
  return file;
}

std::string read_file(const std::string& path) {
  try {
    const InputFile file = open_input(path);
    std::string content = read_all(file.get());
    if (path.ends_with(".gz")) return gunzip(content, Limits::input_file_bytes);
    return content;
  } catch (const InputError& error) {
    throw in_file(path, error);
  }
}

InputError in_file(const std::string& path, const InputError& error) {
  const std::string place =
      error.where().empty() ? path : fmt::format("{}: {}", path, error.where());
  return InputError(fmt::format("{}: {}", place, error.what()));
}

std::string resolve(const std::string& folder, const std::string& path) {
  return (fs::path(folder) / path).string();
}

}  // namespace penstock
