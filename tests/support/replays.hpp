#pragma once

#include <cstddef>

#include "sim/timeline/timeline.hpp"
#include "validate/job/job.hpp"

namespace penstock::testing {

/// How many tasks begin or end at other times in one timeline than in another.
std::size_t differences(const Timeline& one, const Timeline& other);
/// The same of a run and its simulation with the lengths that its own actions had.
std::size_t differences(const Job& job, const Timeline& timeline);

/// Whether any action takes time.
bool takes_time(const PricedPlan& priced);

}  // namespace penstock::testing
