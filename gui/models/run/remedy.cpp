#include "gui/models/run/remedy.hpp"

#include <filesystem>

namespace penstock {

bool is_nsys_report(const std::string& path) {
  return path.ends_with(".nsys-rep") || path.ends_with(".qdrep");
}

std::string export_command(const std::string& path) {
  std::string quoted = "'";
  for (const char c : path) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return "nsys export --type sqlite " + quoted + "'";
}

Remedy remedy_of(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (is_nsys_report(path)) {
      return {RemedyKind::copy, "Copy the command", export_command(path)};
    }
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return {RemedyKind::forget, "Forget the file", ""};
  }
  return {RemedyKind::again, "Open again", ""};
}

}  // namespace penstock
