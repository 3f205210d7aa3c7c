#pragma once

#include <optional>

#include "validate/backends/cuda/running/gpu_executor.hpp"

namespace penstock {

/// What measuring and issuing cost, each as a share of a run: medians of runs in turn.
struct GpuOverheads {
  double stamps = 0;  // with stamps over without, minus 1
  // Issued by the host over one graph of the iteration, minus 1; none without such a graph.
  std::optional<double> host_effect = {};
};

/// The most that stamps may cost in a run that counts.
constexpr double most_stamp_overhead = 0.02;

/// Runs a program `turns` times each way. Throws GpuError.
GpuOverheads measure_overheads(const GpuDevice& device, const GpuProgram& program,
                               const GpuRunSetup& setup, std::uint32_t turns);

/// The transfers whose tensors arrived with other contents than were sent, in one run in which
/// actions write and check all contents. Throws GpuError.
std::vector<std::uint32_t> wrong_transfers(const GpuDevice& device, const GpuProgram& program,
                                           GpuRunSetup setup);

/// From the first begin to the last end.
std::uint64_t makespan_ns(const GpuRun& run);

/// SM ids that ran actions of several ranks.
std::uint32_t sms_in_several_ranks(const std::vector<std::vector<std::uint32_t>>& seen);

/// The middle value, or the mean of the two; 0 of none.
double middle(std::vector<double> values);

}  // namespace penstock
