#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "experiments/commands/line/command_line.hpp"
#include "experiments/help/command_help.hpp"

namespace penstock {

/// Runs a parsed subcommand and returns the exit code.
using Runner = std::function<int()>;

/// What a subcommand is for: the headings of the list of commands, in this order.
enum class CommandGroup { simulate, explain, plan, validate, files, help };

/// One subcommand. A subcommand is one .cpp of this folder; experiments/guides/commands has a page
/// for each, which `penstock help NAME` and its man page show.
struct CommandEntry {
  std::string_view name;
  std::string_view summary;
  CommandGroup group;
  bool on_first_screen = false;  // among those that most people need
  std::string_view example;      // for --help
  /// Declares the arguments and returns what to do once they are parsed.
  Runner (*declare)(CommandLine& line);
};

/// All subcommands, by name.
std::span<const CommandEntry* const> command_entries();

/// Writes "penstock: " and a line on stderr, if that is open.
void say(const std::string& line);

/// The value of an option that must be from 1 to `limit`; throws UsageError.
std::uint32_t within(const char* option, std::optional<std::uint32_t> value, std::uint32_t limit);

/// The exit codes of the program.
struct ExitCode {
  static constexpr int done = 0;
  static constexpr int finding = 1;
  static constexpr int wrong_usage = 2;
  static constexpr int wrong_input = 3;
  static constexpr int machine_cannot = 4;
};

/// What help and completion know of a subcommand.
CommandHelp help_of(const CommandEntry& entry);

/// What `penstock` alone prints: what it is, and the commands that most people need.
std::string first_screen();

/// Every subcommand with its summary, by group.
std::string command_list();

/// Parses the program's arguments, runs the subcommand, reports errors on stderr, returns the exit
/// code.
int run_program(int argc, const char* const* argv);

}  // namespace penstock
