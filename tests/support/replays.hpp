#pragma once

#include <cstddef>

#include "sim/timeline/timeline.hpp"
#include "validate/job/job.hpp"

namespace penstock::testing {

/// A job's plan with the lengths that its actions had in a run.
PricedPlan with_lengths(const Job& job, const Timeline& timeline);

/// How many tasks begin or end at other times in one timeline than in another.
std::size_t differences(const Timeline& one, const Timeline& other);
/// The same of a run and its simulation with the lengths that its own actions had.
std::size_t differences(const Job& job, const Timeline& timeline);

/// Whether any action takes time.
bool takes_time(const PricedPlan& priced);

}  // namespace penstock::testing
