#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

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

/// The evidence in a trace about boundaries between ops.
struct PartingFacts {
  bool threads_known = false;  // every kernel has a known launching thread
  bool sends_named = false;    // sends can be identified
};

/// Kernels of one op, or of several ops with only uncertain cuts between them. Each part extends
/// from one uncertain cut to the next.
struct Burst {
  std::vector<KinetoSpan> parts;
  std::optional<std::uint32_t> thread;  // launched by this thread
};

/// The kernels of the busiest stream, by step, split into bursts.
struct KernelBursts {
  PartingFacts facts;
  std::map<std::optional<std::uint32_t>, std::vector<Burst>> steps;
};

/// Splits the kernels of the busiest stream into bursts. A cut is certain where a message to
/// another rank begins, because its op has ended by then, and where the launching thread changes. A
/// cut is uncertain where a message from another rank ends, because its op cannot have begun
/// before, and at both ends of a message of unknown direction. Uncertain cuts are ignored while a
/// kernel runs. Kernels outside of all steps are left out. Throws InputError for a trace without
/// kernels.
KernelBursts kernel_bursts(const KinetoTrace& trace);

}  // namespace penstock
