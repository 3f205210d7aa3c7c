#pragma once

#include <optional>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// How many microseconds a microbatch takes in the steady state of a pipeline that is not flushed:
/// the mean time between two of them that leave it, that is, end their backward (B or W) on a first
/// stage.
///
/// Of those that leave, in order of time, as many as entered before the first left are passed over
/// at the beginning, while the pipeline fills, and as many at the end, while it drains. What is
/// left is cut at its beginning to whole periods, in which each replica of each stage has equally
/// many turns: a multiple of the least common multiple of their numbers. Nothing when no whole
/// period is left, or when nothing is ever sent back.
std::optional<double> steady_interval_us(const Plan& plan, const Timeline& timeline);

}  // namespace penstock
