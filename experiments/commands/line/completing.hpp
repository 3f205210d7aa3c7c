#pragma once

#include <string>
#include <vector>

#include "experiments/help/command_help.hpp"

namespace penstock {

/// What can stand for a word that is being typed.
struct Completion {
  std::string text;
  std::string help;  // one line; may be empty
};

/// The candidates for the last of the words typed behind "penstock", which may be empty or begun.
/// None where only the names of files fit.
std::vector<Completion> completions_for(const std::vector<std::string>& words,
                                        const std::vector<CommandHelp>& commands);

}  // namespace penstock
