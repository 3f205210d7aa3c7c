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

/// Keeps for each rank the actions that have all they need, whatever order the plan has them in,
/// and lets a policy choose among them.
class Dispatcher {
 public:
  Dispatcher(const Plan& plan, const Placement& placement, const Policy& policy);

  /// A task has ended, or a transfer has arrived.
  void ended(TaskId task, Time now);
  /// What a free rank starts, of the candidates that `may_start` lets pass; it is a candidate no
  /// more.
  std::optional<TaskId> choose(Rank rank, const std::function<bool(TaskId)>& may_start);

 private:
  struct Ready {
    TaskId task;
    Time since;
  };
  /// The actions of one class that are ready, ascending by `since`, then task.
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
  std::vector<std::uint32_t> missing_;       // by task: how much of what it needs is not there
  std::vector<std::uint32_t> first_reader_;  // by task: where its readers begin
  std::vector<TaskId> readers_;
  std::vector<std::vector<Line>> lines_;    // by rank
  std::vector<std::uint32_t> activations_;  // by rank
  std::vector<std::uint32_t> chosen_;       // by rank: how many actions the policy chose
  std::vector<TaskId> next_;  // by rank: the backward behind the R that it chose last, or no_task
};

}  // namespace penstock
