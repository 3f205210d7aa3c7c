#pragma once

#include "experiments/measure/measured_runs/rank_ops.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The ops of a rank with a known order, from a trace without annotations. Messages and changes of
/// the launching thread (PyTorch runs backwards on a separate thread) split the kernels of the
/// busiest stream into bursts. The k-th burst of a step is the k-th action of the order. Bursts
/// after the last action, such as those of an optimizer, are left out if threads are known.
///
/// Throws InputError if two consecutive actions cannot be told apart, and if no step has the bursts
/// that the order requires.
RankOps ops_of_bursts(const KinetoTrace& trace, const Schedule& schedule,
                      const Placement& placement, Rank rank);

}  // namespace penstock
