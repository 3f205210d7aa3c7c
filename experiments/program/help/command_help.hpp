#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// An argument of a command.
struct ArgumentInfo {
  std::vector<std::string> names;  // "-o", "--output"; empty for a positional
  std::string placeholder;         // what stands for its value: "FILE"; the name of a positional
  std::string help;
  std::string group;  // the heading that --help lists it under
  bool takes_value = false;
  bool required = false;
  bool repeats = false;            // a positional that takes several
  std::vector<std::string> words;  // the values it can have, if they are few
  /// Values that completion offers for the beginning typed so far; empty where nothing is known.
  std::function<std::vector<std::string>(std::string_view typed)> suggest;
};

/// What --help, man pages and shell completion know of a command.
struct CommandHelp {
  std::string name;  // with those in front of it: "penstock profile list"
  std::string summary;
  std::string example;  // command lines and what they do
  std::vector<ArgumentInfo> arguments;
  std::vector<CommandHelp> subcommands;
};

/// The text of --help: at most 45 lines, 80 columns.
std::string help_text(const CommandHelp& help);

/// "penstock run [OPTIONS] SCENARIO".
std::string usage_of(const CommandHelp& help);

/// "-o, --output FILE".
std::string head_of(const ArgumentInfo& argument);

}  // namespace penstock
