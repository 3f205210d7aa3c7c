#pragma once

#include <string>
#include <vector>

#include "experiments/explanation/explanation.hpp"
#include "experiments/run/run.hpp"

namespace penstock {

/// What to change first, by how much of the run it is about: what is worth saying, in a sentence
/// each. Of the explanation, only the critical path and the idle time are read.
std::vector<std::string> advice_for(const RunResult& result, const Explanation& explanation);

}  // namespace penstock
