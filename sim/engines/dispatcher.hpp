#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/policy.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// Tracks the ready actions of each rank, independent of plan order, and lets a policy choose among
/// them.
class Dispatcher {
 public:
  Dispatcher(const Plan& plan, const Placement& placement, const Policy& policy);

  /// A task has ended, or a transfer has arrived.
  void ended(TaskId task, Time now);
  /// The action that a free rank starts, among the candidates that `may_start` accepts; removes it
  /// from the candidates.
  std::optional<TaskId> choose(Rank rank, const std::function<bool(TaskId)>& may_start);

 private:
  struct Ready {
    TaskId task;
    Time since;
  };
  /// The ready actions of one class, ascending by `since`, then task.
  struct Line {
    std::uint32_t work;
    std::deque<Ready> ready;
  };
  /// Calls `visit(needed, task)` for everything that an action of a rank needs.
  template <class Visitor>
  void for_each_need(const Placement& placement, Visitor visit) const;
  void count_activation(TaskId task, bool at_end);
  void add(TaskId task, Time now);
  Line& line_of(TaskId task);
  TaskId take(Rank rank, TaskId task);

  const Plan& plan_;
  const Policy& policy_;
  std::vector<std::uint32_t> missing_;       // by task: inputs that are missing
  std::vector<std::uint32_t> first_reader_;  // by task: start of its readers
  std::vector<TaskId> readers_;
  std::vector<std::vector<Line>> lines_;    // by rank
  std::vector<std::uint32_t> activations_;  // by rank
  std::vector<std::uint32_t> chosen_;       // by rank: actions chosen by the policy
  std::vector<TaskId> next_;  // by rank: the backward of the R chosen last, or no_task
};

}  // namespace penstock
