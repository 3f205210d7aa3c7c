#pragma once

#include <string>
#include <vector>

#include "experiments/program/help/command_help.hpp"

namespace penstock {

/// A candidate for the word being typed.
struct Completion {
  std::string text;
  std::string help;  // one line; may be empty
};

/// The candidates for the last of the words typed after "penstock"; it may be empty or incomplete.
/// None if only file names fit.
std::vector<Completion> completions_for(const std::vector<std::string>& words,
                                        const std::vector<CommandHelp>& commands);

}  // namespace penstock
