#include "experiments/program/commands/registry.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <regex>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/long_work/budget.hpp"
#include "experiments/program/commands/line/budget_options.hpp"
#include "experiments/run/recordings.hpp"
#include "experiments/version.hpp"

namespace penstock {
namespace {

constexpr std::string_view what_it_is =
    "Penstock simulates pipeline-parallel training and shows where the time goes.";

int report_error(const std::string& text, int code) {
  std::fflush(stdout);
  say("error: " + text);
  return code;
}

/// The same error as for other outputs that cannot be written.
std::string output_error(const std::system_error& error) {
  return fmt::format("standard output: cannot write: {}", error.code().message());
}

void add_option_names(const CLI::App& command, std::vector<std::string>& names) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
}

std::string question(const std::optional<std::string>& near) {
  return near ? fmt::format("did you mean \"{}\"? ", *near) : "";
}

/// Names arguments that no command takes, and suggests what was probably meant.
std::string unexpected_text(const CLI::App& app) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  if (given.empty()) {
    const std::string word = app.remaining().front();
    const auto near = nearest(word, words_of(command_entries()));
    return fmt::format("unknown command \"{}\"; {}see penstock help", word, question(near));
  }
  const CLI::App& command = *given.front();
  std::vector<std::string> words = command.remaining(true);
  std::erase(words, "--");
  if (words.empty() && !app.remaining().empty()) {
    return fmt::format("\"{0}\" goes behind the command: penstock {1} {0}", app.remaining().front(),
                       command.get_name());
  }
  const std::string word = words.empty() ? "--" : words.front();
  std::vector<std::string> names;
  const bool is_option = word.starts_with('-');
  if (is_option) add_option_names(command, names);
  for (const CLI::App* sub : command.get_subcommands({})) {
    if (is_option && sub->parsed()) add_option_names(*sub, names);
    if (!is_option) names.push_back(sub->get_name());
  }
  const auto near = nearest(word.substr(0, word.find('=')), names);
  return fmt::format("{} does not take \"{}\"; {}see penstock {} --help", command.get_name(), word,
                     question(near), command.get_name());
}

/// To a command and those below it.
void add_budget_to_all(CLI::App& command, BudgetOptions& options) {
  add_budget_options(command, options);
  for (CLI::App* sub : command.get_subcommands({})) add_budget_to_all(*sub, options);
}

/// What CLI11 says, in other words.
std::string said(const CLI::ParseError& error) {
  static const std::array<std::pair<std::regex, const char*>, 3> phrases{
      {{std::regex("At Most 1 required but received (.*)"), "given $1 times; it takes one value"},
       {std::regex("^(.*): 1 required (.*) missing"), "$1 needs a value: $2"},
       {std::regex("^Could not convert: (.*?) = (.*)"), "$1 does not take \"$2\""}}};
  std::string text = error.what();
  text.resize(std::min(text.find('\n'), text.size()));  // advice follows
  for (const auto& [theirs, ours] : phrases) text = std::regex_replace(text, theirs, ours);
  return text;
}

[[noreturn]] void refuse_empty(const std::string& option) {
  throw UsageError(fmt::format("{} is empty; give it a value, or leave it out", option));
}

/// "--confine=": CLI11 would take the next word as its value.
void check_words(std::span<const char* const> words) {
  for (const std::string word : words) {
    if (word == "--") return;
    if (word.starts_with("--") && word.find('=') + 1 == word.size()) {
      refuse_empty(word.substr(0, word.size() - 1));
    }
  }
}

/// An empty value, such as that of an unset variable of a shell, is none that was left out.
void check_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const bool is_empty = std::ranges::find(option->results(), "") != option->results().end();
    if (is_empty && !option->get_positional()) refuse_empty(option->get_name());
  }
  for (const CLI::App* sub : command.get_subcommands()) check_values(*sub);
}

int parse_and_run(CLI::App& app, int argc, const char* const* argv,
                  std::vector<std::pair<CLI::App*, Runner>>& commands) {
  BudgetOptions bounds;
  for (const auto& [command, runner] : commands) add_budget_to_all(*command, bounds);
  check_words({argv + 1, argv + argc});
  try {
    app.parse(argc, argv);
    check_values(app);
  } catch (const CLI::Success& request) {  // --help, --version
    std::ostringstream answer;
    const int code = app.exit(request, answer, answer);
    show(answer.str());
    return code;
  } catch (const CLI::ParseError& error) {
    if (app.remaining_size(true) > 0) {  // it may be behind the error
      return report_error(unexpected_text(app), ExitCode::wrong_usage);
    }
    const std::vector<CLI::App*> given = app.get_subcommands();
    const std::string where = given.empty() ? "" : given.front()->get_name() + " ";
    return report_error(fmt::format("{}; see penstock {}--help", said(error), where),
                        ExitCode::wrong_usage);
  }
  keep_to(bounds, {argv + 1, argv + argc});
  for (auto& [command, runner] : commands) {
    if (command->parsed()) return runner();
  }
  show(first_screen());
  return ExitCode::done;
}

/// An error that does not say where, with the file that the command was given.
std::string with_file(int argc, const char* const* argv, const std::string& what) {
  std::error_code ignored;
  for (const std::string file : std::span(argv, argv + argc).subspan(1)) {
    if (!std::filesystem::is_regular_file(file, ignored) || what.starts_with(file)) continue;
    return fmt::format("{}: {}", file, what);
  }
  return what;
}

struct GroupTitle {
  CommandGroup group;
  const char* title;
};
constexpr std::array group_titles{
    GroupTitle{CommandGroup::simulate, "Simulate"}, GroupTitle{CommandGroup::explain, "Explain"},
    GroupTitle{CommandGroup::plan, "Plan"},         GroupTitle{CommandGroup::validate, "Validate"},
    GroupTitle{CommandGroup::files, "Files"},       GroupTitle{CommandGroup::help, "Help"}};

/// The commands selected by `wanted`, under the titles of their groups.
template <class Wanted>
std::string commands_text(Wanted wanted) {
  std::string text;
  for (const auto& [group, title] : group_titles) {
    std::string lines;
    for (const CommandEntry* entry : command_entries()) {
      if (entry->group != group || !wanted(*entry)) continue;
      lines += fmt::format("  {:<11} {}\n", entry->name, entry->summary);
    }
    if (!lines.empty()) text += fmt::format("{}\n{}", title, lines);
  }
  return text;
}

}  // namespace

CommandHelp help_of(const CommandEntry& entry) {
  CLI::App app(std::string(entry.summary), std::string(entry.name));
  app.footer(std::string(entry.example));
  CommandLine line(app);
  const Runner keeps_variables_alive = entry.declare(line);
  BudgetOptions unused;
  add_budget_to_all(app, unused);
  line.answer_help("penstock");
  return line.help("penstock");
}

std::string first_screen() {
  return fmt::format(
      "{}\n\n{}\n"
      "penstock --help          all commands\n"
      "penstock COMMAND --help  options and an example\n"
      "penstock help            guides: one page a question\n",
      what_it_is, commands_text([](const CommandEntry& entry) { return entry.on_first_screen; }));
}

int run_program(int argc, const char* const* argv) {
  try {
    CLI::App app(std::string(what_it_is), "penstock");
    app.set_version_flag("--version", fmt::format("penstock {}", version));
    app.formatter_fn([](const CLI::App*, const std::string&, CLI::AppFormatMode) {
      return fmt::format(
          "{}\n\nUsage: penstock COMMAND [ARGUMENTS]\n\n{}\n"
          "penstock COMMAND --help  options and an example\n"
          "penstock help TOPIC      the page of a command, or a guide\n"
          "penstock help bounds     --max-memory, --timeout and --confine, of every command\n\n"
          "Exit codes: 0 done; 1 found a problem; 2 wrong usage; 3 wrong input;\n"
          "4 not possible on this machine; 130 interrupted\n",
          what_it_is, commands_text([](const CommandEntry&) { return true; }));
    });
    // One command: all words after it are its arguments, even names of commands.
    app.require_subcommand(0, 1);
    std::vector<std::pair<CLI::App*, Runner>> commands;
    for (const CommandEntry* entry : command_entries()) {
      CLI::App* command = app.add_subcommand(std::string(entry->name), std::string(entry->summary));
      command->footer(std::string(entry->example));
      CommandLine line(*command);
      commands.emplace_back(command, entry->declare(line));
      line.answer_help("penstock");
    }
    const int code = parse_and_run(app, argc, argv, commands);
    if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category());
    return code;
  } catch (const UsageError& error) {
    return report_error(error.what(), ExitCode::wrong_usage);
  } catch (const UnfinishedRun& unfinished) {
    say(unfinished.what());
    return ExitCode::finding;
  } catch (const InputError& error) {
    return report_error(error.what(), ExitCode::wrong_input);
  } catch (const OverBudget& error) {
    return report_error(error.what(), ExitCode::wrong_input);
  } catch (const std::bad_alloc&) {
    return report_error(with_file(argc, argv, "there is not enough memory for this"),
                        ExitCode::machine_cannot);
  } catch (const std::system_error& error) {
    return report_error(std::ferror(stdout) == 0 ? error.what() : output_error(error),
                        ExitCode::machine_cannot);
  } catch (const std::runtime_error& error) {
    return report_error(error.what(), ExitCode::machine_cannot);
  } catch (const std::exception& error) {
    return report_error(with_file(argc, argv, error.what()), ExitCode::machine_cannot);
  }
}

}  // namespace penstock
