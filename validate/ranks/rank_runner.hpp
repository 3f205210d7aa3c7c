#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validate/job/backend.hpp"
#include "validate/job/job.hpp"
#include "validate/job/rank_group.hpp"
#include "validate/job/rank_program.hpp"
#include "validate/job/recorder.hpp"
#include "validate/machine/quiet.hpp"
#include "validate/ranks/rank_body.hpp"
#include "validate/transports/transport.hpp"

namespace penstock {

/// What is in the way of running a plan with a thread a rank; nothing when it can be run.
std::optional<Obstacle> thread_obstacle(const Plan& plan);

/// The boxes that a transport needs for a job: one a transfer, at its task.
std::vector<BoxSpec> boxes_of(const Job& job);

/// One deadlock of what several processes say of their ranks, who all wait.
Standstill joined(const std::vector<Standstill>& deadlocks);

/// Runs a job, or what some of its ranks do of it, with a thread a rank: each receives, computes
/// and sends as its program says. What tensors go by is the transport's matter, what time is that
/// of the clocks; both belong to it while it runs. Clocks are those of rank_clocks.hpp.
template <class Clock>
class RankRunner {
 public:
  /// A clock for each rank of the plan, and which of them to run. The job and the transport must
  /// outlive it.
  RankRunner(const Job& job, Transport& transport, std::vector<Clock> clocks,
             const RankGroup& group);
  /// All ranks.
  RankRunner(const Job& job, Transport& transport, std::vector<Clock> clocks)
      : RankRunner(job, transport, std::move(clocks), {0, job.priced.plan.ranks}) {}

  /// As `Backend::profile`. All ranks at once, as in a run: what cores share slows both alike.
  std::vector<Time> profile();
  /// As `Backend::run`; nothing for tasks of ranks that are not run here.
  RunOutcome run();
  const Clock& clock(std::uint32_t rank) const { return ranks_[rank].clock; }
  /// As `Backend::numbers`.
  std::optional<TrainedNumbers> numbers() const;

 private:
  struct alignas(64) RankState {  // a cache line of its own
    explicit RankState(Clock its_clock) : clock(std::move(its_clock)) {}
    Clock clock;
    TaskId at = 0;                    // its action
    std::vector<std::uint64_t> kept;  // what comes back from where it was put out
    std::string fault;                // of a tensor that came
  };

  void on_all_ranks(const std::function<void(std::uint32_t)>& work);
  void run_rank(std::uint32_t rank);
  bool run_step(std::uint32_t rank, const Step& step);
  bool receive(std::uint32_t rank, const Step& step);
  void compute(std::uint32_t rank, const Step& step);
  bool send(std::uint32_t rank, const Step& step);
  bool send_back(std::uint32_t rank, const TensorSending& sending);
  void transmit(std::uint32_t rank, const TensorSending& sending, Message message,
                std::span<const std::uint64_t> words);
  Standstill deadlock(const std::vector<std::optional<std::size_t>>& stuck) const;
  std::optional<Standstill> standstill() const;

  const Job& job_;
  Transport& transport_;
  RankGroup group_;
  std::vector<RankProgram> programs_;
  std::vector<std::uint64_t> steps_;  // by work class
  std::vector<std::size_t> words_;    // by task: of a transfer's tensor
  Recorder recorder_;
  std::vector<RankState> ranks_;
  std::vector<RankBody> bodies_;            // by rank
  std::vector<std::int64_t> link_free_ns_;  // by link; the sender's own
  std::uint32_t iteration_ = 0;
};

/// What the threads of these ranks saw of the last run, with clocks that look around.
template <class Clock>
std::vector<ThreadReadings> readings_of(const RankRunner<Clock>& runner, const RankGroup& ranks) {
  std::vector<ThreadReadings> readings;
  for (std::uint32_t rank = ranks.first; rank < ranks.end; ++rank) {
    readings.push_back(runner.clock(rank).readings());
  }
  return readings;
}

}  // namespace penstock
