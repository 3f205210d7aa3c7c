#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/formats/megatron/shell_words.hpp"

namespace penstock {

/// What a shell script would run, as far as that is known without running it.
struct ShellScript {
  std::vector<ShellWords> commands;  // each with its arguments, variables filled in
  std::vector<ShellWords> arrays;    // as they are at the end, in order of their names
  std::vector<std::string> notes;    // what was left out since it depends on a condition
};

/// Follows assignments and arrays from top to bottom; nothing is run. Conditions and loops are not
/// worked out: what they assign is a gap, and what they add to a variable is left out with a note.
/// Throws InputError, its place a line.
ShellScript read_shell_script(std::string_view text);

}  // namespace penstock
