#pragma once

#include "experiments/formats/megatron/shell_word.hpp"

namespace penstock {

/// What $((…)) puts in the place of an expression of whole numbers, known variables, + - * / % and
/// parentheses. Throws InputError without a place for anything else, for a variable without a
/// number, for a division by zero and for numbers beyond 64 bits.
ShellWord shell_number(const ShellWord& expression, const ShellVariables& variables);

}  // namespace penstock
