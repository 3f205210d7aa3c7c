#pragma once

#include "experiments/measured_runs/rank_ops.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The ops of a rank whose order is known, from a trace without annotations. Messages, and changes
/// of the thread that launches (PyTorch runs backwards on a thread of their own), cut the kernels
/// of the busiest stream into bursts; the k-th of a step is the k-th action of the order. Bursts
/// behind the last action, such as those of an optimizer, are left out where threads are known.
///
/// Throws InputError where two actions in a row cannot be told apart, and where no step has the
/// bursts that the order asks for.
RankOps ops_of_bursts(const KinetoTrace& trace, const Schedule& schedule,
                      const Placement& placement, Rank rank);

}  // namespace penstock
