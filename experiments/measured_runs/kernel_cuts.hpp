#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "experiments/measured_runs/partings.hpp"
#include "experiments/measured_runs/rank_ops.hpp"

namespace penstock {

/// Kernels that surely are of one op, or of several between which only uncertain moments lie: each
/// part of it goes from one such moment to the next.
struct Burst {
  std::vector<KinetoSpan> parts;
  std::optional<std::uint32_t> thread;  // that launched them
};

/// The kernels of the stream with the most time in them, by step, cut into bursts.
struct KernelBursts {
  PartingFacts facts;
  std::map<std::optional<std::uint32_t>, std::vector<Burst>> steps;
};

/// Cuts surely where a message to another rank begins, since its op has ended by then, and where
/// another thread goes on; maybe where one from another rank ends, since its op cannot have begun
/// before, and at both ends of one whose direction the trace does not say. The latter two tell
/// nothing while a kernel runs. Kernels outside of all steps are left out. Throws InputError for a
/// trace without kernels.
KernelBursts kernel_bursts(const KinetoTrace& trace);

}  // namespace penstock
