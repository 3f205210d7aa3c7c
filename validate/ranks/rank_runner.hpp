#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validate/job/backend.hpp"
#include "validate/job/job.hpp"
#include "validate/job/rank_program.hpp"
#include "validate/job/recorder.hpp"
#include "validate/job/replica_ranks.hpp"
#include "validate/machine/quiet.hpp"
#include "validate/ranks/link_clerk.hpp"
#include "validate/ranks/rank_body.hpp"
#include "validate/ranks/step_workers.hpp"
#include "validate/ranks/written_transfers.hpp"
#include "validate/transports/transport.hpp"

namespace penstock {

/// Whether the simulator's engine starts the steps of ranks, so that rules are shared: where they
/// wait for memory or for each other, slow each other down, or share links beside communication as
/// written.
bool goes_by_engine(const PricedPlan& priced);
/// Why a plan cannot run with one thread per rank; nothing when it can.
std::optional<Obstacle> thread_obstacle(const PricedPlan& priced);
/// How ranks of a plan act on each other besides their tensors, with the setting that asks for it:
/// what they cannot do in real time or in several processes. Nothing when they do not.
std::optional<std::string> why_not_apart(const PricedPlan& priced);
/// The same as `thread_obstacle`, and in real time.
std::optional<Obstacle> apart_obstacle(const PricedPlan& priced);

/// The boxes of a job: one per transfer and reader, the first at its task.
std::vector<BoxSpec> boxes_of(const Job& job);

/// Merges the deadlocks of several processes, whose ranks all wait.
Standstill joined(const std::vector<Standstill>& deadlocks);

/// Runs a job, or some of its ranks, with one thread per rank: each receives, computes and sends as
/// its program says. The transport moves tensors; the clocks (see rank_clocks.hpp) define time. The
/// runner has exclusive use of both. Their senders know when tensors arrive, unless ranks share
/// links, both ends must come to a transfer, or the simulator's engine starts every step.
template <class Clock>
class RankRunner : public Backend {
 public:
  /// A clock for each rank of the plan, and the ranks to run. Job and transport must outlive it.
  RankRunner(const Job& job, Transport& transport, std::vector<Clock> clocks,
             const RankGroup& group);
  /// All ranks, over a transport of its own.
  RankRunner(const Job& job, std::unique_ptr<Transport> transport, std::vector<Clock> clocks)
      : RankRunner(job, *transport, std::move(clocks), {0, job.priced.plan.ranks}) {
    own_ = std::move(transport);
  }

  /// All ranks at once, as in a run: shared cores slow both equally.
  std::vector<Time> profile() override;
  /// Nothing for tasks of ranks outside the group.
  RunOutcome run() override;
  std::optional<TrainedNumbers> numbers() const override;
  TimesOfLayers layer_times() const override;
  std::optional<CodingNumbers> coding() const override;

 protected:
  const RankGroup& group() const { return group_; }
  /// What the threads of these ranks observed in the last run, for clocks with readings: a
  /// template, since a class that is instantiated whole has all its other members.
  template <class ReadClock = Clock>
  std::vector<ThreadReadings> readings() const {
    std::vector<ThreadReadings> readings;
    for (std::uint32_t rank = group_.first; rank < group_.end; ++rank) {
      const ReadClock& clock = ranks_[rank].clock;
      readings.push_back(clock.readings());
    }
    return readings;
  }

 private:
  struct alignas(64) RankState {  // own cache line
    explicit RankState(Clock its_clock) : clock(std::move(its_clock)) {}
    Clock clock;
    TaskId at = 0;                    // current action
    std::vector<std::uint64_t> kept;  // evicted tensors, until they return
    std::string fault;                // of a received tensor
    Time launched{};                  // its last action, by its host
  };

  void on_all_ranks(const std::function<void(std::uint32_t)>& work);
  void run_rank(std::uint32_t rank);
  RunOutcome run_by_engine();
  bool run_step(std::uint32_t rank, const Step& step);
  bool await_start(std::uint32_t rank, const Step& step);
  bool receive(std::uint32_t rank, const Step& step);
  bool await(std::uint32_t rank, const Step& step);
  Time compute(std::uint32_t rank, const Step& step);
  bool send(std::uint32_t rank, const Step& step, const std::vector<TensorSend>& sends);
  bool send_back(std::uint32_t rank, const TensorSend& sending);
  void transmit(std::uint32_t rank, const TensorSend& sending, Message message,
                std::span<const std::uint64_t> words);
  void await_launch(std::uint32_t rank);
  template <class Arrivals>
  void record_transfers(Arrivals& arrivals);
  void halt();
  template <class Awaited>
  Standstill deadlock(const std::vector<std::optional<Awaited>>& stuck) const;
  std::optional<Standstill> standstill() const;

  const Job& job_;
  std::unique_ptr<Transport> own_;  // none when given from outside
  Transport& transport_;
  RankGroup group_;
  std::vector<RankProgram> programs_;
  std::vector<TaskId> transfer_of_;  // by box
  BusySteps steps_;
  std::vector<std::size_t> words_;  // by task: of a transfer's tensor
  Recorder recorder_;
  std::vector<RankState> ranks_;
  std::vector<RankBody> bodies_;  // by rank
  std::vector<Time> link_free_;   // by link; the sender's own
  // One of them, or none when nothing is shared.
  std::unique_ptr<LinkClerk> clerk_;
  std::unique_ptr<WrittenTransfers> written_;
  std::unique_ptr<StepWorkers> workers_;
  bool stamps_tensors_ = false;  // none: a sender says when its tensors arrive
  std::uint32_t iteration_ = 0;
};

}  // namespace penstock
