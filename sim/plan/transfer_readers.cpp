#include "sim/plan/transfer_readers.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace penstock {

std::vector<TaskId> makers_of_tensors(const Plan& plan) {
  std::map<std::tuple<Stage, Microbatch, bool>, TaskId> made;  // gradients, and activations
  std::vector<TaskId> makers(plan.tasks(), no_task);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const Pass pass = plan.class_of(task).pass;
    const Stage stage = plan.class_of(task).stage;
    const Microbatch microbatch = plan.microbatch[task];
    if (pass == Pass::forward) made[{stage, microbatch, false}] = task;
    if (gives_gradient(pass)) made[{stage, microbatch, true}] = task;
    if (!passes_on(pass)) continue;
    const auto maker = made.find({stage, microbatch, pass == Pass::send_gradient});
    if (maker != made.end()) makers[task] = maker->second;
  }
  return makers;
}

TransferReaders::TransferReaders(const Plan& plan) : reader_(plan.tasks(), no_task) {
  std::vector<std::pair<TaskId, TaskId>> more;  // tasks and their readers after the first
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (!plan.is_link(plan.class_of(task).resource)) continue;
    if (plan.input[task] == no_task) of_none_.push_back(task);
    plan.for_each_input(task, [&](TaskId input) {
      if (reader_[input] == no_task) {
        reader_[input] = task;
      } else {
        more.emplace_back(input, task);
      }
    });
  }
  std::ranges::sort(more);
  for (std::size_t i = 0; i < more.size();) {
    const TaskId input = more[i].first;
    const auto list = static_cast<std::uint32_t>(readers_.size());
    readers_.insert(readers_.end(), {0, std::exchange(reader_[input], list | Plan::several)});
    for (; i < more.size() && more[i].first == input; ++i) readers_.push_back(more[i].second);
    readers_[list] = static_cast<std::uint32_t>(readers_.size()) - list - 1;
  }
}

FarReaders::FarReaders(const Plan& plan) {
  const bool updates =
      std::ranges::any_of(plan.classes, [](const WorkClass& w) { return w.pass == Pass::update; });
  if (!updates) return;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (work.pass != Pass::update) continue;
    plan.for_each_input(task, [&](TaskId input) {
      const std::uint32_t resource = plan.class_of(input).resource;
      if (!plan.is_link(resource)) return;
      const Link& link = plan.link(resource);
      const Rank reader{work.resource};
      if (link.from != reader && link.to != reader) pairs_.emplace_back(input, work.resource);
    });
  }
  std::ranges::sort(pairs_);
}

std::vector<FarReaders::Pair>::const_iterator FarReaders::first_of(TaskId transfer) const {
  return std::lower_bound(pairs_.begin(), pairs_.end(), Pair{transfer, 0});
}

}  // namespace penstock
