#pragma once

#include <optional>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Microseconds per microbatch in the steady state of a pipeline without flush: the mean time
/// between two microbatches leaving it, that is, ending their backward (B or W) on a first stage.
///
/// Skips as many at the beginning as entered before the first left (warm-up), and as many at the
/// end (drain). The rest is cut to whole periods, in which each replica of each stage has equally
/// many turns: multiples of the least common multiple of their numbers. Nothing when no whole
/// period remains, or without backwards.
std::optional<double> steady_interval_us(const Plan& plan, const Timeline& timeline);

}  // namespace penstock
