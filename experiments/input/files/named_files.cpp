#include "experiments/input/files/named_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "experiments/input/files/json_input.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

struct Confinement {
  std::string name;  // as given
  fs::path place;    // empty: none
};

/// Of the process, as its limits are.
Confinement& confinement() {
  static Confinement confinement;
  return confinement;
}

/// Where a path leads, as far as it exists; empty if that cannot be told, as in a circle of links.
fs::path place_of(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path.empty() ? "." : path, error);
  const fs::path place = fs::weakly_canonical(absolute, error);
  return error ? fs::path() : place;
}

bool is_below(const fs::path& folder, const fs::path& place) {
  if (folder.empty() || place.empty()) return false;
  const auto [rest, ignored] =
      std::mismatch(folder.begin(), folder.end(), place.begin(), place.end());
  return rest == folder.end();
}

}  // namespace

void confine_named_files(const std::string& folder) {
  std::error_code error;
  const fs::path place = fs::canonical(folder, error);
  if (error || !fs::is_directory(place, error)) {
    throw UsageError(fmt::format("--confine {}: it is no folder", folder));
  }
  confinement() = {folder, place};
}

void check_confined(const std::string& path) {
  const auto& [name, folder] = confinement();
  if (folder.empty() || is_below(folder, place_of(path))) return;
  throw InputError(path, "",
                   fmt::format("an input names it, and it leads out of {} (--confine); move it "
                               "there, or give another folder",
                               name));
}

bool leads_below(const std::string& folder, const std::string& path) {
  return is_below(place_of(folder), place_of(path));
}

void require_json(const std::string& folder, const std::string& path, std::string_view text,
                  const char* needed) {
  if (is_json(text) || leads_below(folder, path)) return;
  throw InputError(path, "", fmt::format("it is no JSON document; {} is needed", needed));
}

InputError without_quotes(const InputError& error) {
  std::string what = error.what();
  const std::size_t first = what.find_first_of("\"'");
  const std::size_t last = what.find_last_of("\"'");
  if (first != std::string::npos) what.replace(first, last - first + 1, "what is there");
  return {error.where(), what};
}

}  // namespace penstock
