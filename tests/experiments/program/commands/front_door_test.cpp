#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "experiments/program/commands/registry.hpp"
#include "experiments/program/help/markdown.hpp"
#include "experiments/program/help/pages.hpp"
#include "tests/support/program.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has_line_beginning(const std::string& text, const std::string& beginning) {
  const std::vector<std::string> lines = lines_of(text);
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.starts_with(beginning); });
}

}  // namespace

TEST_CASE("first screen: the program alone shows the eight commands that most people need") {
  const ProgramRun alone = run_penstock({}, ".");
  CHECK(alone.code == 0);
  CHECK(alone.output == first_screen());
  CHECK(lines_of(alone.output).size() <= 24);
  int commands = 0;
  for (const CommandEntry* entry : command_entries()) {
    commands += has_line_beginning(alone.output, "  " + std::string(entry->name) + " ") ? 1 : 0;
  }
  CHECK(commands == 8);
}

TEST_CASE("describe: --dtype takes every type that a scenario's model does") {
  const auto schema = nlohmann::json::parse(run_penstock({"schema", "scenario"}, ".").output);
  const std::string help = run_penstock({"describe", "--help"}, ".").output;
  for (const std::string type : schema["properties"]["model"]["properties"]["dtype"]["enum"]) {
    CHECK(says(help, type));
  }
}

TEST_CASE("help: --help lists every command, help every guide") {
  const ProgramRun all = run_penstock({"--help"}, ".");
  const ProgramRun help = run_penstock({"help"}, ".");
  CHECK(help.code == 0);
  for (const CommandEntry* entry : command_entries()) {
    CAPTURE(entry->name);
    CHECK(has_line_beginning(all.output, "  " + std::string(entry->name) + " "));
  }
  for (const HelpPage& guide : guides()) {
    CAPTURE(guide.name);
    CHECK(has_line_beginning(help.output, "  " + std::string(guide.name) + " "));
  }
}

TEST_CASE("--help: at most 45 lines of 80 columns, with an example") {
  const auto fits = [](const std::vector<std::string>& arguments) {
    const ProgramRun run = run_penstock(arguments, ".");
    CAPTURE(run.output);
    CHECK(run.code == 0);
    const std::vector<std::string> lines = lines_of(run.output);
    CHECK(lines.size() <= 45);
    CHECK(!says(run.output, " tell"));  // reports, identifies
    CHECK(has_line_beginning(run.output, "Usage: penstock "));
    return lines;
  };
  fits({"--help"});
  for (const CommandEntry* entry : command_entries()) {
    CAPTURE(entry->name);
    const std::string name(entry->name);
    const std::vector<std::string> lines = fits({name, "--help"});
    CHECK(std::find(lines.begin(), lines.end(), "Example:") != lines.end());
    for (const CommandHelp& sub : help_of(*entry).subcommands) {
      fits({name, sub.name.substr(sub.name.rfind(' ') + 1), "--help"});
    }
  }
}

TEST_CASE("help: a command's page comes behind its options, a guide as it is") {
  const ProgramRun page = run_penstock({"help", "run"}, ".");
  CHECK(page.code == 0);
  CHECK(page.output.starts_with(help_text(
      help_of(**std::find_if(command_entries().begin(), command_entries().end(),
                             [](const CommandEntry* entry) { return entry->name == "run"; })))));
  CHECK(says(page.output, "of_makespan"));
  const ProgramRun both = run_penstock({"help", "layout"}, ".");
  CHECK(says(both.output, "Usage: penstock layout"));
  CHECK(says(both.output, page_text(find_page(guides(), "layout")->text)));
  const ProgramRun unknown = run_penstock({"help", "rnu"}, ".");
  CHECK(unknown.code == 2);
  CHECK(unknown.errors.starts_with(
      "penstock: error: unknown topic \"rnu\"; did you mean \"run\"? known: "));
}

TEST_CASE("help: every command has a page, and every page a command") {
  CHECK(command_pages().size() == command_entries().size());
  for (const CommandEntry* entry : command_entries()) {
    CAPTURE(entry->name);
    const auto page = find_page(command_pages(), entry->name);
    REQUIRE(page);
    CHECK(title_of(*page) == "penstock " + std::string(entry->name));
    CHECK(std::count(page->text.begin(), page->text.end(), '\n') >= 8);
  }
}

TEST_CASE("did you mean: a mistyped command or option names the nearest one") {
  const ProgramRun command = run_penstock({"rn", "s.json"}, ".");
  CHECK(command.code == 2);
  CHECK(command.errors ==
        "penstock: error: unknown command \"rn\"; did you mean \"run\"? see penstock help\n");
  const ProgramRun option = run_penstock({"run", "s.json", "--enigne", "relax"}, ".");
  CHECK(option.code == 2);
  CHECK(option.errors ==
        "penstock: error: run does not take \"--enigne\"; did you mean \"--engine\"? see penstock "
        "run "
        "--help\n");
  const ProgramRun far = run_penstock({"frobnicate"}, ".");
  CHECK(far.code == 2);
  CHECK(far.errors == "penstock: error: unknown command \"frobnicate\"; see penstock help\n");
}

TEST_CASE("a mistyped option is named before an argument that is missing") {
  for (const char* command : {"run", "explain", "compare", "describe", "check"}) {
    CHECK(run_penstock({command, "--jsn"}, ".").errors ==
          "penstock: error: " + std::string(command) +
              " does not take \"--jsn\"; did you mean \"--json\"? see penstock " + command +
              " --help\n");
  }
  CHECK(
      run_penstock({"profile", "check", "store", "--budgt"}, ".").errors ==
      "penstock: error: profile does not take \"--budgt\"; did you mean \"--budget\"? see penstock "
      "profile --help\n");
}

TEST_CASE("an option without its value, and a flag with one, are refused by their names") {
  const auto error_of = [](const std::string& option) {
    return run_penstock({"run", "first_run.json", option}, ".").errors;
  };
  CHECK(error_of("--engine") ==
        "penstock: error: --engine needs a value: auto|relax|events; see penstock run --help\n");
  CHECK(error_of("--json=maybe") ==
        "penstock: error: --json does not take \"maybe\"; see penstock run --help\n");
}

TEST_CASE("an option with an empty value is refused by its name, whichever it is") {
  for (const std::string option : {"--confine", "--max-memory", "--timeout", "--svg", "--engine"}) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{option, ""}, {option + "="}}) {
      const ProgramRun run = run_penstock(with_words({"run", "first_run.json"}, words), ".");
      CHECK(run.code == 2);
      CHECK(run.errors.starts_with("penstock: error: " + option));
    }
  }
  CHECK(run_penstock({"profile", "list", "s", "--max-memory", ""}, ".").code == 2);
  const ProgramRun twice =
      run_penstock({"list", "hardware", "--timeout", "1", "--timeout", "2"}, ".");
  CHECK(twice.errors.starts_with("penstock: error: --timeout: "));
}

TEST_CASE("formulas of collectives begin with the start that runs and flows pay") {
  CHECK(has_line_beginning(run_penstock({"list", "collectives"}, ".").output,
                           "              all_reduce: start + 2 (n - 1) (B/n/bw + lat)"));
}

TEST_CASE("an output folder is not standard output") {
  const Scratch scratch;
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"gallery", "-o", "-"},
                                             {"help", "--man", "-"},
                                             {"layout", "m", "-o", "-"},
                                             {"validate", "s", "--keep", "-"}}) {
    CAPTURE(words.front());
    const ProgramRun run = run_penstock(words, scratch.path(""));
    CHECK(run.code == 2);
    CHECK(says(run.errors, "several files cannot go to standard output"));
  }
  CHECK_FALSE(std::filesystem::exists(scratch.path("-")));
}

TEST_CASE("--json and an output on standard output are two outputs") {
  const std::string scenario = PENSTOCK_ROOT "/experiments/scenarios/first_run.json";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run", scenario, "--svg", "-"},
                                             {"explain", scenario, "--svg", "-"},
                                             {"search", scenario, "-o", "-"},
                                             {"validate", scenario, "--timeline", "-"}}) {
    CAPTURE(words.front());
    const ProgramRun run = run_penstock(with_words(words, {"--json"}), ".");
    CHECK(run.code == 2);
    CHECK(run.errors == "penstock: error: -: two outputs cannot be one file\n");
  }
}

TEST_CASE("schema: each kind is printed as JSON") {
  for (const char* kind : {"scenario", "profile", "paper", "catalogue"}) {
    CAPTURE(kind);
    const ProgramRun run = run_penstock({"schema", kind}, ".");
    CHECK(run.code == 0);
    CHECK(nlohmann::json::parse(run.output).contains("$schema"));
  }
}

TEST_CASE("man pages: one a command and one a guide, from the same texts") {
  const Scratch scratch;
  CHECK(run_penstock({"help", "--man", scratch.path("")}, ".").code == 0);
  for (const CommandEntry* entry : command_entries()) {
    const std::string text =
        content_of(scratch.path("penstock-" + std::string(entry->name) + ".1"));
    CHECK(text.starts_with(".TH "));
    CHECK(says(text, ".SH DESCRIPTION\n"));
  }
  for (const HelpPage& guide : guides()) {
    CHECK(
        content_of(scratch.path("penstock-" + std::string(guide.name) + ".7")).starts_with(".TH "));
  }
  CHECK(says(content_of(scratch.path("penstock.1")), "penstock\\-run"));
}

// A relative path in --set is below the scenario's folder, which may be an installed one.
TEST_CASE("guides: no path of an example depends on where the scenarios are") {
  for (const HelpPage& guide : guides()) {
    CAPTURE(guide.name);
    CHECK(!says(guide.text, "\"../"));
  }
}

TEST_CASE("completion: commands, options and the values that are known") {
  const Desk nowhere;  // without files that begin alike
  const auto candidates = [&](const std::vector<std::string>& words) {
    return nowhere.run(with_words({"completion", "fish", "--"}, words)).output;
  };
  const auto offers = [&](const std::vector<std::string>& words, const std::string& text) {
    return has_line_beginning(candidates(words), text + "\t");
  };
  CHECK(offers({"ru"}, "run"));
  CHECK(!offers({"ru"}, "explain"));
  CHECK(offers({"run", "--eng"}, "--engine"));
  CHECK(offers({"run", "--engine", ""}, "relax"));
  CHECK(offers({"run", "s.json", "--set", "/schedule/m"}, "/schedule/microbatches="));
  CHECK(offers({"run", "s.json", "--set", "/schedule/name=zb"}, "/schedule/name=zb-h1"));
  CHECK(offers({"run", "s.json", "--set", "/recompute/mode="}, "/recompute/mode=full"));
  CHECK(offers({"collective", "all_reduce", "--hardware", "dgx"}, "dgx-h100"));
  CHECK(offers({"describe", "m", "--arch", "lla"}, "llama"));
  CHECK(offers({"describe", "m", "--format", "hf"}, "hf-config"));
  CHECK(offers({"validate", "s", "--schedules", "1f1b,gp"}, "1f1b,gpipe"));
  CHECK(offers({"validate", "s", "--schedules", "al"}, "all"));
  CHECK(offers({"plot", "--schedules", "1f1b,zb-"}, "1f1b,zb-h2"));
  CHECK(!offers({"plot", "--schedules", "al"}, "all"));
  CHECK(offers({"plot", "--bubble", "over"}, "over_ideal"));
  CHECK(offers({"run", "s.json", "--set=/schedule/m"}, "--set=/schedule/microbatches="));
  CHECK(offers({"run", "s.json", "--set=/schedule/name=zb"}, "--set=/schedule/name=zb-h1"));
  CHECK(offers({"run", "s.json", "--engine=re"}, "--engine=relax"));
  CHECK(offers({"run", "s.json", "--set", "/schedule/backward_order="},
               "/schedule/backward_order=descending"));
  CHECK(offers({"schedule", "gpipe", "--set", "backw"}, "backward_order="));
  CHECK(offers({"schedule", "gpipe", "--set", "backward_order="}, "backward_order=ascending"));
  CHECK(offers({"sweep", "a", "--vary", "/schedule/name=gpipe,1"}, "/schedule/name=gpipe,1f1b"));
  CHECK(offers({"check", "o.csv", "--torch", ""}, "2.14"));
  CHECK(offers({"schedule", "1f1b", "--torch", "2."}, "2.15"));
  CHECK(offers({"layout", "m", "--only", "/parallel/pip"}, "/parallel/pipeline="));
  CHECK(offers({"layout", "m", "--only", "/schedule/name=1f1b,zb-"}, "/schedule/name=1f1b,zb-h1"));
  CHECK(!offers({"layout", "m", "--only", "/hardware/na"}, "/hardware/name="));
  CHECK(offers({"layout", "m", "--change", "/hardware/na"}, "/hardware/name="));
  CHECK(!offers({"layout", "m", "--change", "/parallel/pip"}, "/parallel/pipeline="));
  CHECK(offers({"run", "fir"}, "first_run.json"));
  CHECK(offers({"describe", "llama-3.1-8"}, "llama-3.1-8b.json"));
  CHECK(candidates({"run", "s.json", "--trace=x"}).empty());  // files
  CHECK(offers({"profile", "ch"}, "check"));
  CHECK(offers({"profile", "check", "--bud"}, "--budget"));
  CHECK(!candidates({"run", ""}).empty());  // what comes with Penstock
  nowhere.file("mine.json", "{}");
  CHECK(candidates({"run", ""}).empty());  // files
}

}  // namespace penstock::testing
