#pragma once

#include <string>
#include <vector>

#include "experiments/run/run.hpp"
#include "experiments/show/explanation/explanation.hpp"

namespace penstock {

/// What to change first, one sentence each, largest share of the run first; nothing below 1 %. Uses
/// only the critical path and idle time of the explanation.
std::vector<std::string> advice_for(const RunResult& result, const Explanation& explanation);

}  // namespace penstock
