#pragma once

#include <functional>
#include <map>
#include <string>

namespace penstock {

/// Names and their values in a formula.
using Names = std::map<std::string, double, std::less<>>;

/// The value of a formula: arithmetic, comparisons and `? :` over numbers and names, with sqrt,
/// exp, ln, min, max, sum, abs, rint, ceil and floor. A condition is 1 or 0. Throws InputError for
/// an invalid formula, unknown names or a value that is not finite.
double value_of(const std::string& formula, const Names& names);

}  // namespace penstock
