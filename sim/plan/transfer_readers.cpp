#include "sim/plan/transfer_readers.hpp"

namespace penstock {
namespace {

template <class Visitor>
void for_each_pair(const Plan& plan, Visitor visit) {
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (!is_transfer(plan.class_of(task).pass)) continue;
    plan.for_each_input(task, [&](TaskId input) { visit(input, task); });
  }
}

}  // namespace

TransferReaders::TransferReaders(const Plan& plan) : first_(std::size_t{plan.tasks()} + 2) {
  // Counted two places further on, so that filling them in leaves each start in its own place.
  for_each_pair(plan, [&](TaskId input, TaskId) { ++first_[input + 2]; });
  for (std::size_t i = 2; i < first_.size(); ++i) first_[i] += first_[i - 1];
  transfers_.resize(first_.back());
  for_each_pair(plan, [&](TaskId input, TaskId task) { transfers_[first_[input + 1]++] = task; });
}

}  // namespace penstock
