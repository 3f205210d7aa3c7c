#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "sim/engines/stepwise.hpp"

namespace penstock {

/// Threads of ranks that start their steps when the simulator's engine says so, and tell it how
/// long these took. The engine runs in a thread of its own. It decides a moment once every running
/// step has said how long it takes, so the result is the same for any speed of the threads.
class StepWorkers : public Workers {
 public:
  explicit StepWorkers(const Plan& plan) : plan_(plan), rows_(plan.ranks) {}

  /// Before each run.
  void begin();
  /// In the thread of a rank: waits for the start of a step. Nothing when the run is halted.
  std::optional<Time> await_start(std::uint32_t rank, TaskId action);
  /// A rank has done its step, and has sent what that makes.
  void finish(std::uint32_t rank, Time took);
  /// Ends all waiting.
  void halt();

  void start(TaskId first, Time now) override;
  std::optional<Time> took(TaskId first) override;

 private:
  struct Row {
    TaskId granted = no_task;  // its running step
    Time begin{};
    std::optional<Time> took;
    std::condition_variable changed;
  };
  Row& row_of(TaskId action) { return rows_[plan_.class_of(action).resource]; }

  const Plan& plan_;
  std::mutex mutex_;  // guards all below
  std::vector<Row> rows_;
  bool halted_ = false;
};

}  // namespace penstock
