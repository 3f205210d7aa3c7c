#pragma once

#include <functional>
#include <map>
#include <string>

namespace penstock {

/// Numbers that a formula may name.
using Names = std::map<std::string, double, std::less<>>;

/// The value of a formula: arithmetic, comparisons and `? :` over numbers and names, with sqrt,
/// exp, ln, min, max, sum, abs, rint, ceil and floor. A condition is 1 or 0. Throws InputError for
/// a formula that is invalid or has unknown names, or whose value is not finite.
double value_of(const std::string& formula, const Names& names);

}  // namespace penstock
