#include "experiments/input/scenario/section_parts.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/named_files.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

/// Suggests the right path if the working folder has the file.
std::string hint(const std::string& folder, const std::string& path) {
  std::error_code ignored;
  if (folder.empty() || folder == "." || !fs::exists(path, ignored)) return "";
  const fs::path right = fs::relative(path, folder, ignored);
  return right.empty() ? "" : std::string(working_folder_hint) + right.string();
}

/// "a", "b" and "c".
std::string quoted_list(const std::vector<std::string>& keys) {
  std::string text;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) text += i + 1 == keys.size() ? " and " : ", ";
    text += fmt::format("\"{}\"", keys[i]);
  }
  return text;
}

}  // namespace

std::string named_file(const std::string& source, const std::string& folder, const char* pointer,
                       const std::string& path) {
  const std::string place = resolve(folder, path);
  std::error_code ignored;
  // An order that the viewer opens is the source of its scenario: the user names it.
  if (place != fs::absolute(source, ignored)) check_confined(place);
  if (fs::path(path).is_absolute() || fs::exists(place, ignored)) return place;
  // A document without a file has no folder of its own.
  const bool own_folder = !folder.empty() || fs::exists(source, ignored);
  const std::string against =
      own_folder ? fmt::format("the folder of {}", source) : "the working folder";
  throw InputError(
      place, "",
      fmt::format("cannot open: No such file or directory; \"{}\" of {} is relative to {}{}", path,
                  pointer, against, hint(folder, path)));
}

void check_one_of(const nlohmann::json& section, const char* place,
                  std::initializer_list<const char*> keys, bool optional) {
  std::vector<std::string> given;
  for (const char* key : keys) {
    if (section.contains(key)) given.emplace_back(key);
  }
  if (given.size() == 1 || (given.empty() && optional)) return;
  const std::vector<std::string> known(keys.begin(), keys.end());
  std::string what = fmt::format("it must have {}one of {}; it has {}", optional ? "at most " : "",
                                 quoted_list(known), given.empty() ? "none" : quoted_list(given));
  for (std::size_t i = 0; i < given.size(); ++i) {  // a setting for one leaves the others there
    what += fmt::format("{} --set '{}={{\"{}\": …}}'", i == 0 ? ";" : " or", place, given[i]);
  }
  if (!given.empty()) what += " replaces the section";
  throw InputError(place, what);
}

Field repeat() {
  return {"repeat", whole(1, 1'000'000), "how many of it follow each other, default 1"};
}

std::uint32_t repeats(const nlohmann::json& layer, const std::string& source, std::size_t before) {
  const auto times = layer.value("repeat", std::uint32_t{1});
  if (before + times <= Limits::layers) return times;
  throw InputError(
      source + "/repeat",
      fmt::format("these are more than {} layers in all, which is the most there can be",
                  Limits::layers));
}

}  // namespace penstock
