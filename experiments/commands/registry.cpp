#include "experiments/commands/registry.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <set>
#include <system_error>

#include "experiments/version.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

int report_error(const std::string& text, int code) {
  std::fflush(stdout);
  say("error: " + text);
  return code;
}

/// As other outputs that cannot be written.
std::string output_error(const std::system_error& error) {
  return fmt::format("standard output: cannot write: {}", error.code().message());
}

/// CLI11 ends its texts with advice of its own; the first line says it.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

int parse_and_run(CLI::App& app, int argc, const char* const* argv,
                  std::vector<std::pair<CLI::App*, Runner>>& commands) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    return report_error(first_line(error.what()) + "; see penstock --help", ExitCode::wrong_usage);
  }
  for (auto& [command, runner] : commands) {
    if (command->parsed()) return runner();
  }
  return report_error("no subcommand is given; see penstock --help", ExitCode::wrong_usage);
}

}  // namespace

void say(const std::string& line) {
  // Not fmt::print, which throws when stderr is closed or full.
  std::fputs(fmt::format("penstock: {}\n", line).c_str(), stderr);
}

std::uint32_t within(const char* option, std::optional<std::uint32_t> value, std::uint32_t limit) {
  if (!value) throw UsageError(fmt::format("{} is missing", option));
  if (*value == 0 || *value > limit) {
    throw UsageError(fmt::format("{} is {}; it must be from 1 to {}", option, *value, limit));
  }
  return *value;
}

namespace {

void add_arguments(const CLI::App& app, std::vector<ArgumentInfo>& arguments) {
  for (const CLI::Option* option : app.get_options()) {
    ArgumentInfo info;
    info.help = option->get_description();
    info.takes_value = option->get_items_expected_min() > 0;
    const std::string type = option->get_type_name();
    if (type.find('|') != std::string::npos) info.words = CLI::detail::split(type, '|');
    for (const std::string& name : option->get_lnames()) {
      info.name = "--" + name;
      arguments.push_back(info);
    }
    for (const std::string& name : option->get_snames()) {
      info.name = "-" + name;
      arguments.push_back(info);
    }
    if (option->get_positional()) {
      info.name.clear();
      arguments.push_back(info);
    }
  }
}

/// The names of an app's subcommands stand where it takes a positional.
void add_subcommands(const CLI::App& app, std::vector<ArgumentInfo>& arguments) {
  ArgumentInfo names{.name = "", .help = "what to do", .takes_value = true, .words = {}};
  for (const CLI::App* command : app.get_subcommands({})) {
    names.words.push_back(command->get_name());
    add_arguments(*command, arguments);
  }
  if (!names.words.empty()) arguments.insert(arguments.begin(), std::move(names));
}

/// Options of several subcommands, each once.
void remove_repeated(std::vector<ArgumentInfo>& arguments) {
  std::set<std::string> seen;
  std::erase_if(arguments, [&](const ArgumentInfo& argument) {
    return !argument.name.empty() && !seen.insert(argument.name).second;
  });
}

}  // namespace

std::vector<ArgumentInfo> arguments_of(const CommandEntry& entry) {
  CLI::App app;
  CommandLine line(app);
  const Runner keeps_variables_alive = entry.declare(line);
  std::vector<ArgumentInfo> arguments;
  add_arguments(app, arguments);
  add_subcommands(app, arguments);
  remove_repeated(arguments);
  return arguments;
}

int run_program(int argc, const char* const* argv) {
  try {
    CLI::App app("Simulates pipeline-parallel training and shows where the time goes.", "penstock");
    app.set_version_flag("--version", fmt::format("penstock {}", version));
    app.footer(
        "Exit codes: 0 done; 1 done, and the answer is a finding; 2 wrong usage; 3 wrong "
        "input; 4 the machine cannot.\nEach subcommand has a --help with an example.");
    std::vector<std::pair<CLI::App*, Runner>> commands;
    for (const CommandEntry* entry : command_entries()) {
      CLI::App* command = app.add_subcommand(std::string(entry->name), std::string(entry->summary));
      command->footer(std::string(entry->details));
      CommandLine line(*command);
      commands.emplace_back(command, entry->declare(line));
    }
    const int code = parse_and_run(app, argc, argv, commands);
    if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category());
    return code;
  } catch (const UsageError& error) {
    return report_error(error.what(), ExitCode::wrong_usage);
  } catch (const InputError& error) {
    return report_error(error.what(), ExitCode::wrong_input);
  } catch (const std::bad_alloc&) {
    return report_error("there is not enough memory for this", ExitCode::machine_cannot);
  } catch (const std::system_error& error) {
    return report_error(std::ferror(stdout) == 0 ? error.what() : output_error(error),
                        ExitCode::machine_cannot);
  } catch (const std::exception& error) {
    return report_error(error.what(), ExitCode::machine_cannot);
  }
}

}  // namespace penstock
