#include "experiments/input/scenario/named_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "experiments/input/files/files.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

/// Suggests the right path if the working folder has the file.
std::string hint(const std::string& folder, const std::string& path) {
  std::error_code ignored;
  if (folder.empty() || folder == "." || !fs::exists(path, ignored)) return "";
  const fs::path right = fs::relative(path, folder, ignored);
  return right.empty()
             ? ""
             : fmt::format("; for the one of the working folder write {}", right.string());
}

}  // namespace

std::string named_file(const std::string& source, const std::string& folder, const char* pointer,
                       const std::string& path) {
  const std::string place = resolve(folder, path);
  std::error_code ignored;
  if (fs::path(path).is_absolute() || fs::exists(place, ignored)) return place;
  const std::string against =
      source == "-" ? "the working folder" : fmt::format("the folder of {}", source);
  throw InputError(
      fmt::format("{}: cannot open: No such file or directory; \"{}\" of {} is relative to {}{}",
                  place, path, pointer, against, hint(folder, path)));
}

}  // namespace penstock
