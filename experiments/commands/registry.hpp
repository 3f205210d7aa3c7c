#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "experiments/commands/line/command_line.hpp"

namespace penstock {

/// Runs a parsed subcommand and returns the exit code.
using Runner = std::function<int()>;

/// One subcommand. A subcommand is one .cpp of this folder.
struct CommandEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view details;  // for --help: what to know, and a worked example
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

/// An argument of a subcommand, as shell completion needs it.
struct ArgumentInfo {
  std::string name;  // "--json", "-o"; empty for a positional
  std::string help;
  bool takes_value = false;
  std::vector<std::string> words;  // the values it can have, if they are few
};
std::vector<ArgumentInfo> arguments_of(const CommandEntry& entry);

/// Parses the program's arguments, runs the subcommand, reports errors on stderr, returns the exit
/// code.
int run_program(int argc, const char* const* argv);

}  // namespace penstock
