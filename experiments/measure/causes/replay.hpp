#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "experiments/measure/causes/op_model.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// What is taken out of a measured step. Everything else stays as it was measured.
struct Removal {
  std::vector<bool> ranks;    // by rank: it is as fast as its peers
  std::vector<bool> links;    // by link of the plan: the same
  std::vector<bool> gaps;     // by rank: what it runs and sends starts once it can
  std::vector<bool> stages;   // by model stage: each of its ranks has the mean work of all
  bool replicas = false;      // all replicas have equal work
  bool microbatches = false;  // all microbatches of a replica have equal work
  bool jitter = false;        // each op takes as long as is usual for its kind
  bool collectives = false;   // reductions, gatherings and exchanges of weights take no time
};
Removal nothing_removed(const Plan& plan);
Removal all_removed(const Plan& plan);
Removal operator|(const Removal& a, const Removal& b);
/// Takes out all of a kind, by the name of its member: "ranks", "jitter". False for other words.
bool remove_all(std::string_view kind, Removal& removal);

/// A measured step, simulated once more without some of what delayed it.
class Replay {
 public:
  /// Both must outlive it.
  Replay(const MeasuredStep& step, const OpModel& model);

  /// The step as measured gives its makespan, but for what no cause explains.
  Time step(const Removal& removed);
  /// The step with `removed` taken out of the tasks that `touches` names, and out of no other.
  Time step(const Removal& removed, const std::function<bool(TaskId)>& touches);
  /// The latest step with the costs of some tasks from elsewhere; it stays the latest.
  Time step_with(std::span<const TaskId> tasks, const Costs& costs);
  /// When its tasks ran in the latest one.
  const Timeline& timeline() const { return timeline_; }
  /// The costs of the latest one.
  const PricedPlan& priced() const { return priced_; }
  /// How long a task then takes, and how late it starts.
  Time length(TaskId task, const Removal& removed) const;

 private:
  struct Times {
    Time duration{};
    Time latency{};
  };
  Times times(TaskId task, const Removal& removed) const;
  double of_action(TaskId task, const Removal& removed) const;
  double of_transfer(TaskId task, const Removal& removed) const;
  void set(TaskId task, const Removal& removed);
  Time simulated();

  const MeasuredStep& step_;
  const OpModel& model_;
  const Plan& plan_;
  std::vector<std::uint32_t> rank_;   // by class: that runs or sends it
  std::vector<std::uint32_t> stage_;  // by class: its model stage
  PricedPlan priced_;
  Timeline timeline_;
};

}  // namespace penstock
