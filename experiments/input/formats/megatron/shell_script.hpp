#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/formats/megatron/shell_words.hpp"

namespace penstock {

/// The commands that a shell script would run, as far as known without running it.
struct ShellScript {
  std::vector<ShellWords> commands;  // each with its arguments, variables expanded
  std::vector<ShellWords> arrays;    // final values, sorted by name
  std::vector<std::string> notes;    // conditional text that was left out
};

/// Follows assignments and arrays from top to bottom and runs nothing. Conditions and loops are not
/// evaluated: a variable assigned there becomes a gap, and a conditional addition to a variable is
/// left out with a note. Throws InputError with a line as its place.
ShellScript read_shell_script(std::string_view text);

}  // namespace penstock
