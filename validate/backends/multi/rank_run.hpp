#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/timeline/timeline.hpp"
#include "validate/backends/cuda/running/gpu_executor.hpp"
#include "validate/backends/multi/multi_calls.hpp"
#include "validate/backends/multi/rank_program.hpp"
#include "validate/backends/nccl/comm_channels.hpp"
#include "validate/processes/control.hpp"

namespace penstock {

/// One question to another clock: own readings when it was asked and answered, and the other's
/// reading in between. In nanoseconds, like all clocks here.
struct ClockSample {
  std::int64_t asked_ns = 0;
  std::int64_t read_ns = 0;
  std::int64_t answered_ns = 0;
};

/// The other clock showed `read_ns` when the own one showed `own_ns`, at most `uncertainty_ns` off.
struct ClockAnchor {
  std::int64_t read_ns = 0;
  std::int64_t own_ns = 0;
  double uncertainty_ns = 0;
};

/// Compares two clocks by Cristian's method: of the tenth of the samples with the shortest round
/// trips, one at least, the means. A reading is somewhere in its round trip, so half the mean round
/// trip bounds the error, whatever the delays each way; a constant drift changes nothing. There
/// must be a sample.
ClockAnchor anchor_of(std::vector<ClockSample> samples);

/// Readings of another clock on one's own: a straight line through two anchors. Between them the
/// error is at most the larger of theirs. Without anchors both clocks are the same.
struct AlignedClock {
  ClockAnchor begin;
  ClockAnchor end;

  std::int64_t own_ns(std::int64_t read_ns) const;
  /// Of readings between the anchors.
  double uncertainty_ns() const;
  /// How much faster the own clock runs: 1e-6 is a microsecond per second.
  double drift() const;
};

/// Checks aligned clocks by what they time: no tensor arrives before it was sent.
struct Causality {
  std::uint32_t tensors = 0;
  std::uint32_t violations = 0;     // arrived before they were sent
  std::uint32_t unexplained = 0;    // by more than the clocks' uncertainty
  std::int64_t worst_ns = 0;        // how much before
  double worst_uncertainty_ns = 0;  // of the clocks of two ends together

  void add(std::int64_t sent_ns, std::int64_t arrived_ns, double uncertainty_ns);
};

/// The GPU of a rank: one that runs a single rank, with a stream for each of its channels. A wait
/// for it that lasts longer than the limit ends the process. Throws GpuError. `calls` must outlive
/// it.
GpuDevice rank_device(const MultiCalls& calls, const CommPlan& comms,
                      std::chrono::milliseconds longest_wait = usual_gpu_wait);

/// The clock of a rank's GPU.
class RankClock {
 public:
  /// `host_ns`: the clock that all processes of a host share. Throws GpuError. The device must
  /// outlive it.
  RankClock(const GpuDevice& device, std::int64_t (*host_ns)());

  /// Against the host's. The GPU must be idle. Throws GpuError.
  ClockAnchor anchor() const;
  /// The median step between readings.
  std::uint64_t step_ns() const { return step_ns_; }

 private:
  const GpuDevice& device_;
  std::int64_t (*host_ns_)();
  GpuOwner<void> reading_;
  std::uint64_t step_ns_;
};

/// When a task of a rank ran, by one of its clocks.
struct RankStamp {
  TaskId task;
  std::int64_t begin_ns;
  std::int64_t end_ns;
};

/// A run of one rank, by the clock of its host.
struct RankRun {
  std::vector<RankStamp> stamps;
  double uncertainty_ns = 0;           // of the GPU's clock against the host's
  std::optional<TaskId> wrong = {};    // a transfer that brought another tensor
  std::optional<TaskId> brought = {};  // whose; none: of no transfer of this run
};

/// Runs the program of a rank once; `items` are those of its tasks. Throws GpuError and NcclError.
RankRun run_rank(GpuExecutor& executor, const std::vector<RankItem>& items, const RankClock& clock);

// Bodies of messages between rank 0's process and the ranks. Readers throw std::runtime_error for
// invalid ones.

ByteWriter body_of(const RankRun& run);
RankRun rank_run_in(const ControlMessage& message);
ByteWriter body_of(const NcclId& id);
NcclId nccl_id_in(const ControlMessage& message);
ByteWriter body_of(std::int64_t ns);
std::int64_t ns_in(const ControlMessage& message);

/// Merges the runs of all ranks.
class RunMerger {
 public:
  RunMerger(const Plan& plan, ChannelRule rule);

  /// All tasks by one clock, from 0 on. `runs` by rank, already by that clock. What several ranks
  /// do together begins when the last of them has come to it; a tensor ends at its reader, a
  /// collective on each rank. Adds every tensor to `causality`. Throws std::runtime_error when a
  /// rank did not send all of its tasks.
  Timeline merge(const std::vector<RankRun>& runs, Causality& causality) const;

 private:
  const Plan& plan_;
  Meetings meetings_;
};

}  // namespace penstock
