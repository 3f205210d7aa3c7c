#pragma once

#include <map>
#include <string>
#include <string_view>

namespace penstock::testing {

/// The value of a closed form as the schedules print it: "min(mv, (v-1)group + 2(p-1-r) + 1)".
/// Factors side by side are multiplied; the names are those of `values`, of which single letters
/// need no space between them. Throws std::invalid_argument for what is no formula.
double formula(std::string_view text, const std::map<std::string, double>& values);

}  // namespace penstock::testing
