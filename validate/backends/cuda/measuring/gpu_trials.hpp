#pragma once

#include <optional>
#include <string>

#include "validate/backends/cuda/running/gpu_executor.hpp"

namespace penstock {

/// What measuring and issuing cost, each as a share of a run: medians of runs in turn.
struct GpuOverheads {
  double stamps = 0;  // with stamps over without, minus 1
  // Issued by the host over one graph of the iteration, minus 1; none without such a graph, and
  // why.
  std::optional<double> host_effect = {};
  std::string why_no_effect;
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

/// By task: how long it took in each of these runs, in nanoseconds; another run before them warms
/// up.
std::vector<std::vector<double>> task_samples_ns(GpuExecutor& executor, std::uint32_t turns);

/// From the first begin to the last end.
std::uint64_t makespan_ns(const GpuRun& run);

/// SM ids that ran actions of several ranks.
std::uint32_t sms_in_several_ranks(const std::vector<std::vector<std::uint32_t>>& seen);
/// Whether ranks that ran on the same SM ids, or on some of those of another, may have different
/// SMs: ids are virtual on some devices, and begin anew in each context.
bool may_be_renumbered(const std::vector<std::vector<std::uint32_t>>& seen);
/// Whether actions that fill their SMs take longer when all ranks run theirs at once, as they do on
/// the same SMs.
bool ranks_share_sms(const GpuDevice& device, const GpuProgram& program);
/// Whether tasks on different lanes that only wait take longer together than one alone, as they do
/// where streams share a hardware queue.
bool lanes_share_queues(const GpuDevice& device, const GpuProgram& program);

/// The middle value, or the mean of the two; 0 of none.
double middle(std::vector<double> values);

/// The time of an action of a fixed amount, alone on the SMs of its rank: nanoseconds per unit of
/// `amount`. Throws GpuError.
double ns_per_amount(const GpuDevice& device, GpuWork work, std::uint32_t rank);

/// Gives the bodies of a program the amount of work that takes the time of their tasks, alone on
/// the SMs of their rank. Tasks of one body must be of one rank and one time. Stages get the number
/// of layers, up to 256, whose passes together take the time of theirs, and tasks the time that
/// their pass takes alone. Throws GpuError.
void give_amounts(const GpuDevice& device, GpuWork work, GpuProgram& program);

}  // namespace penstock
