#include "experiments/input/files/shipped.hpp"

#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace penstock {
namespace {

namespace fs = std::filesystem;

/// Empty where the variable is empty or not set.
std::string named_data_folder() {
  const char* const named = std::getenv("PENSTOCK_DATA");
  return named == nullptr ? "" : named;
}

fs::path data_folder() {
  if (const std::string named = named_data_folder(); !named.empty()) return named;
  return fs::path(program_folder()).parent_path() / "share" / "penstock";
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// What is in a folder, by name, but for what is hidden and its README.
std::vector<std::string> names_beginning(const fs::path& folder, const std::string& typed) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool hidden = name.starts_with('.') || name == "README.md";
    if (!hidden && name.starts_with(typed)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

bool leaves_its_folder(const fs::path& path) {
  return path.is_absolute() || path.lexically_normal().string().starts_with("..");
}

}  // namespace

std::string program_folder() {
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  if (!none) return program.parent_path();
  // Without /proc, as in a bare chroot: the path that it was started by.
  const auto* const started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return started == nullptr ? fs::path() : fs::weakly_canonical(started, none).parent_path();
}

std::string input_path(const std::string& path) {
  constexpr std::string_view in_source_tree = "experiments/";
  if (path.empty() || leaves_its_folder(path) || is_there(path)) return path;
  const bool as_in_tree = path.starts_with(in_source_tree);
  const std::string name = as_in_tree ? path.substr(in_source_tree.size()) : path;
  for (const char* const folder : {"scenarios", "models", "papers", ""}) {
    if (const fs::path shipped = data_folder() / folder / name; is_there(shipped)) return shipped;
  }
  return path;
}

std::vector<std::string> shipped_names(const std::string& folder, const std::string& typed) {
  if (!names_beginning(".", typed).empty()) return {};
  return names_beginning(data_folder() / folder, typed);
}

std::string why_not_shipped(const std::string& path) {
  const std::string named = named_data_folder();
  if (named.empty() || leaves_its_folder(path) || is_there(fs::path(named) / "scenarios"))
    return "";
  return "; PENSTOCK_DATA is " + named + ", which has no scenarios";
}

}  // namespace penstock
