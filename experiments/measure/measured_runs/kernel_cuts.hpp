#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "experiments/measure/measured_runs/partings.hpp"
#include "experiments/measure/measured_runs/rank_ops.hpp"

namespace penstock {

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
