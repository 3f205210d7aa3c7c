#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "sim/costs/priced_plan.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/job/rank_program.hpp"
#include "validate/job/recorder.hpp"

namespace penstock {

/// Says when transfers arrive whose both ends must have come to them, or what is before them in a
/// stream: communication as an order has it. Ranks tell when their actions have ended; the rest is
/// what the plan says a transfer waits for. Each link belongs to one rank.
///
/// Ranks call from their own threads, all of one process.
class WrittenTransfers {
 public:
  enum class Waits : std::uint8_t { asleep, spinning };
  /// The plan must outlive it.
  WrittenTransfers(const PricedPlan& priced, Waits waits);

  /// Before each run: nothing has ended.
  void begin();
  /// A step of a rank has ended, and what it made is on its way.
  void ended(const Step& step, Time end);
  /// Waits until it is known when all these tasks have ended, and returns the latest end, or `now`.
  /// Nothing when the run is halted.
  std::optional<Time> await(std::uint32_t rank, std::span<const TaskId> tasks, Time now);
  /// A rank has finished.
  void finish(std::uint32_t rank);
  /// Ends all waiting.
  void halt();

  /// What each rank waits for; empty unless all wait forever.
  const std::vector<std::optional<TaskId>>& deadlock() const { return deadlock_; }
  /// When a transfer of a finished run was under way.
  Span span(TaskId transfer);

 private:
  static constexpr Time unknown{-1};
  struct Row {
    bool finished = false;
    std::span<const TaskId> awaited;
    std::atomic<bool> goes = true;  // also read by a rank that spins
    std::condition_variable wake;
  };

  bool know(TaskId task);
  bool know_all(std::span<const TaskId> tasks);
  void put(TaskId transfer);
  void wait(std::unique_lock<std::mutex>& lock, Row& row);
  void halt_if_stuck();
  void wake_all();

  const PricedPlan& priced_;
  const Waits waits_;
  std::vector<TaskId> before_;  // by task: the transfer before it on its link

  std::mutex mutex_;         // guards all below
  std::vector<Span> spans_;  // by task
  std::vector<Row> rows_;
  std::vector<TaskId> open_;  // tasks that are being looked at
  std::vector<std::optional<TaskId>> deadlock_;
  bool halted_ = false;
};

}  // namespace penstock
