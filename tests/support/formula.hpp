#pragma once

#include <map>
#include <string>
#include <string_view>

namespace penstock::testing {

/// The value of a closed form as schedules print it: "min(mv, (v-1)group + 2(p-1-r) + 1)". Adjacent
/// factors are multiplied. Names come from `values`; single letters need no space between them.
/// Throws std::invalid_argument for an invalid formula.
double formula(std::string_view text, const std::map<std::string, double>& values);

}  // namespace penstock::testing
