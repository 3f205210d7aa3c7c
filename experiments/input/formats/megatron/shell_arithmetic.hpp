#pragma once

#include "experiments/input/formats/megatron/shell_word.hpp"

namespace penstock {

/// The value of $((…)): integers, known variables, + - * / % and parentheses. Throws InputError
/// without a place for anything else, for a variable that is no number, for division by zero and
/// for results beyond 64 bits.
ShellWord shell_number(const ShellWord& expression, const ShellVariables& variables);

}  // namespace penstock
