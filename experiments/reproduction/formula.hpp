#pragma once

#include <functional>
#include <map>
#include <string>

namespace penstock {

/// Numbers that a formula may name.
using Names = std::map<std::string, double, std::less<>>;

/// What a formula comes to: arithmetic, comparisons and `? :` over numbers and names, with sqrt,
/// exp, ln, min, max, sum, abs, rint, ceil and floor. A condition is 1 or 0. Throws InputError for
/// a formula that cannot be read, that names what is not there, or that comes to no finite number.
double value_of(const std::string& formula, const Names& names);

}  // namespace penstock
