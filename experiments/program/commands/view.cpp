#include <unistd.h>

#include <filesystem>

#include "experiments/input/files/shipped.hpp"
#include "experiments/program/commands/line/budget_options.hpp"
#include "experiments/program/commands/registry.hpp"

namespace penstock::view_file {
namespace {

struct Options : Arguments {
  Texts files = line.input().optional_list("FILE", "scenarios, timelines, orders (.csv), traces");
  Flag compare = line.flag("--compare", "the first run against the others, on one axis");
  Text select = line.option("--select", "select the first op that fits a search", "QUERY");
  Text theme = line.choice("--theme", {"light", "dark", "contrast"}, "default: the system's");
  Text screenshot = line.option("--screenshot", "write a picture, without a display", "OUT.png");
  Text size = line.option("--size", "of the window, default 1440x900", "WxH");
  const Existing& replaced = line.replaces();
};

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
  const std::vector<std::string> bounds = handed_over_bounds();
  words.insert(words.end(), bounds.begin(), bounds.end());
  if (options.compare) words.emplace_back("--compare");
  if (options.replaced == Existing::any) words.emplace_back("--force");
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
  // Best first: installed beside this program, or built beside it.
  const std::filesystem::path own = program_folder();
  for (const std::filesystem::path& viewer :
       {own / "penstock-viewer", own.parent_path() / "gui" / "penstock-viewer",
        std::filesystem::path("penstock-viewer")}) {
    execvp(viewer.c_str(), raw.data());
  }
  say("error: the viewer is not built: install qt6-base-dev and qt6-svg-dev, then build "
      "penstock-viewer (cmake/setup penstock-viewer)");
  return ExitCode::machine_cannot;
}

}  // namespace

constinit extern const CommandEntry view_entry{
    .name = "view",
    .summary = "open the viewer",
    .group = CommandGroup::simulate,
    .example = "penstock view first_run.json",
    .declare = command<Options, start_viewer>,
};

}  // namespace penstock::view_file
