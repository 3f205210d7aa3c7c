#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace penstock {

/// A place in a text where something is missing that only a run would put there.
struct ShellGap {
  std::size_t at = 0;  // in front of this character
  std::string why;
};

/// A word as a shell would pass it to a command.
struct ShellWord {
  std::string text = {};
  std::size_t line = 1;
  std::vector<ShellGap> gaps = {};  // from front to back; none: the text is all there
  std::string assumed = {};         // what was taken for granted, such as a variable's default
};
using ShellWords = std::vector<ShellWord>;

/// A plain variable has one word, whatever is in it; an array has any number.
struct ShellVariable {
  ShellWords words;
  bool is_array = false;
};
using ShellVariables = std::map<std::string, ShellVariable, std::less<>>;

}  // namespace penstock
