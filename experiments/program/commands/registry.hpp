#pragma once

#include <fmt/format.h>

#include <span>
#include <string_view>

// What most commands need; they do not include it again.
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "experiments/program/commands/line/command_line.hpp"
#include "experiments/program/commands/line/suggestions.hpp"
#include "experiments/program/help/command_help.hpp"
#include "sim/base/error.hpp"

namespace penstock {

/// Groups of subcommands: the headings in the list of commands, in this order.
enum class CommandGroup { simulate, explain, plan, validate, files, help };

/// One subcommand, that is, one .cpp in this folder. experiments/guides/commands has a page for
/// each, shown by `penstock help NAME` and its man page.
struct CommandEntry {
  std::string_view name;
  std::string_view summary;
  CommandGroup group;
  bool on_first_screen = false;  // one of the commands that most people need
  std::string_view example;      // for --help
  /// Declares the arguments and returns the function to run after parsing.
  Runner (*declare)(CommandLine& line);
};

/// All subcommands, by name.
std::span<const CommandEntry* const> command_entries();

/// The subcommand for help and completion.
CommandHelp help_of(const CommandEntry& entry);

/// The output of `penstock` alone: one sentence, and the commands that most people need.
std::string first_screen();

/// Parses the program's arguments, runs the subcommand, reports errors on stderr and returns the
/// exit code.
int run_program(int argc, const char* const* argv);

}  // namespace penstock
