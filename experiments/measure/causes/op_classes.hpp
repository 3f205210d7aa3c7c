#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "experiments/measure/causes/op_model.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// The ops of a measured step by work class. Both must outlive it.
class OpClasses {
 public:
  OpClasses(const MeasuredStep& step, const ExpectedOps* expected);

  std::uint32_t count() const { return static_cast<std::uint32_t>(tasks_.size()); }
  const Plan& plan() const { return plan_; }
  const WorkClass& work(std::uint32_t number) const { return plan_.classes[number]; }
  const OpKind& kind(std::uint32_t number) const { return kinds_[number]; }
  const std::vector<TaskId>& tasks(std::uint32_t number) const { return tasks_[number]; }
  double ops(std::uint32_t number) const { return static_cast<double>(tasks_[number].size()); }
  bool is_action(std::uint32_t number) const { return !plan_.is_link(work(number).resource); }
  bool varies(std::uint32_t number) const {
    return is_action(number) && OpModel::varies(work(number).pass) && !tasks_[number].empty();
  }
  std::uint32_t stage(std::uint32_t number) const {
    return plan_.model_stage.empty() ? 0 : plan_.model_stage[index(work(number).stage)];
  }
  /// What ranks are compared by: the model stage and the kind of op.
  std::pair<std::uint32_t, OpKind> key(std::uint32_t number) const {
    return {stage(number), kinds_[number]};
  }
  double expected(std::uint32_t number) const {
    return expected_ == nullptr ? 0 : expected_->of(stage(number), kinds_[number]);
  }
  double length(TaskId task) const { return static_cast<double>(step_.length(task).picoseconds); }
  /// Of the logarithms of ops from what is usual of their class and microbatch.
  std::vector<double> distances(std::uint32_t number, const OpModel& model) const;

 private:
  const MeasuredStep& step_;
  const Plan& plan_;
  const ExpectedOps* expected_;
  std::vector<OpKind> kinds_;               // by class
  std::vector<std::vector<TaskId>> tasks_;  // by class
};

/// The standard deviation that distances of logarithms show; each of the `fitted` numbers that they
/// are distances from takes some of it.
double scatter_of(std::vector<double> distances, std::size_t fitted = 0);

/// The standard error of the median of ops that scatter by `scatter`, over that of others with the
/// jitter of all.
double error_of(const OpModel& model, double ops, double others, double scatter);

/// A step of `op_model`: ranks and replicas, from medians of classes.
void compare_ranks(const OpClasses& classes, OpModel& model);

}  // namespace penstock
