#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace penstock {

/// A place where text known only at run time is missing.
struct ShellGap {
  std::size_t at = 0;  // before this character
  std::string why;
};

/// A word as a shell passes it to a command.
struct ShellWord {
  std::string text = {};
  std::size_t line = 1;
  std::vector<ShellGap> gaps = {};  // in order; none: the text is complete
  std::string assumed = {};         // assumed, such as a variable's default
};
using ShellWords = std::vector<ShellWord>;

/// A plain variable has one word, with any content; an array has any number.
struct ShellVariable {
  ShellWords words;
  bool is_array = false;
};
using ShellVariables = std::map<std::string, ShellVariable, std::less<>>;

}  // namespace penstock
