#pragma once

#include <string>
#include <vector>

#include "experiments/run/layout/layout.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// Notes on slow links without transfers, and on stragglers that start after the last microbatch
/// of their rank.
std::vector<std::string> chance_without_effect(const Plan& plan, const Layout& layout);

}  // namespace penstock
