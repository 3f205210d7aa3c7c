#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "experiments/program/commands/registry.hpp"

namespace penstock::view_file {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string screenshot;
  std::string size;
  std::string theme;
  std::string select;
  bool compare = false;
};

/// The places of the viewer, best first: installed beside this program, or built beside it.
std::vector<std::string> viewers() {
  namespace fs = std::filesystem;
  std::error_code none;
  const fs::path own = fs::read_symlink("/proc/self/exe", none).parent_path();
  return {own / "penstock-viewer", own.parent_path() / "gui" / "penstock-viewer",
          "penstock-viewer"};
}

std::vector<std::string> arguments_of(const Options& options) {
  std::vector<std::string> words{"penstock-viewer"};
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(name);
    words.push_back(value);
  };
  add("--screenshot", options.screenshot);
  add("--size", options.size);
  add("--theme", options.theme);
  add("--select", options.select);
  if (options.compare) words.emplace_back("--compare");
  words.emplace_back("--");
  words.insert(words.end(), options.files.begin(), options.files.end());
  return words;
}

/// Becomes the viewer. Returns only if there is none.
int start_viewer(const Options& options) {
  std::vector<std::string> words = arguments_of(options);
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  for (const std::string& viewer : viewers()) execvp(viewer.c_str(), raw.data());
  say("error: the viewer is not built: install qt6-base-dev and qt6-svg-dev, then build "
      "penstock-viewer (cmake/setup penstock-viewer)");
  return ExitCode::machine_cannot;
}

void declare(CommandLine& line, Options& options) {
  line.optional("FILE", options.files, "scenarios, timelines, orders (.csv), traces");
  line.flag("--compare", options.compare, "the first run against the others, on one axis");
  line.option("--select", options.select, "select the first op that fits a search", "QUERY");
  line.choice("--theme", options.theme, {"light", "dark", "contrast"}, "default: the system's");
  line.option("--screenshot", options.screenshot, "write a picture, without a display", "OUT.png");
  line.option("--size", options.size, "of the window, default 1440x900", "WxH");
}

}  // namespace

constinit extern const CommandEntry view_entry{
    .name = "view",
    .summary = "open the viewer",
    .group = CommandGroup::simulate,
    .example = "penstock view experiments/scenarios/first_run.json",
    .declare = command<Options, declare, start_viewer>,
};

}  // namespace penstock::view_file
