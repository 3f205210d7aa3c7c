#include "sim/report/critical_path.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/plan/transfer_readers.hpp"

namespace penstock {
namespace {

/// Which task released another one, and when.
struct Release {
  TaskId by = no_task;
  Time time{};
};

/// The later of two; ties go to the first.
Release later(Release a, Release b) {
  if (a.by == no_task || b.by == no_task) return a.by == no_task ? b : a;
  return b.time > a.time ? b : a;
}

/// The parts of a fused cell run as one; the first represents both.
TaskId first_part(const Plan& plan, TaskId task) {
  return plan.class_of(task).follows_partner ? task - 1 : task;
}

/// Finds what delayed each task.
class Causes {
 public:
  Causes(const Plan& plan, const Costs& costs, const Timeline& timeline,
         const Conditions& conditions);
  /// When everything but memory, launch and the links of others was ready for a task. Tasks without
  /// duration may release each other at one moment: visited ones are excluded.
  Release release_of(TaskId task, const std::vector<bool>& met) const;

 private:
  /// When the transfer has left its link.
  Time left(TaskId transfer) const {
    return timeline_.end[transfer] - costs_.latency_of(plan_, transfer);
  }
  bool is_transfer_task(TaskId task) const { return plan_.is_link(plan_.class_of(task).resource); }
  /// Whether its sender waits for it, under blocking sends.
  bool blocks(TaskId task) const {
    const Pass pass = plan_.class_of(task).pass;
    return passes_on(pass);
  }
  /// The service order of the transfers of one link.
  std::pair<Time, Time> served(TaskId transfer) const {
    return {timeline_.begin[transfer], left(transfer)};
  }
  std::vector<bool> follow_plan();
  void follow_service(std::vector<TaskId> tasks);
  void find_readers();
  Release by_previous(TaskId task) const;
  Release by_input(TaskId task) const;
  Release by_reader(TaskId transfer) const;

  const Plan& plan_;
  const Costs& costs_;
  const Timeline& timeline_;
  bool blocking_;
  std::vector<TaskId> previous_;            // by task: the previous one on its resource
  std::vector<TaskId> reader_;              // with rendezvous, by transfer: its first reader
  std::optional<TransferReaders> sent_by_;  // with rendezvous
};

Causes::Causes(const Plan& plan, const Costs& costs, const Timeline& timeline,
               const Conditions& conditions)
    : plan_(plan),
      costs_(costs),
      timeline_(timeline),
      blocking_(conditions.blocking_sends),
      previous_(plan.tasks()) {
  const std::vector<bool> in_order = follow_plan();
  if (std::find(in_order.begin(), in_order.end(), false) != in_order.end()) {
    const ResourceOrders orders = resource_orders(plan);
    for (std::uint32_t resource = 0; resource < plan.resources(); ++resource) {
      if (in_order[resource]) continue;
      follow_service({orders.tasks.begin() + orders.first[resource],
                      orders.tasks.begin() + orders.first[resource + 1]});
    }
  }
  if (conditions.rendezvous) find_readers();
}

/// Sets the previous task by plan order. Returns the resources that kept this order.
std::vector<bool> Causes::follow_plan() {
  struct Last {
    TaskId task = no_task;
    std::pair<Time, Time> served;
  };
  std::vector<Last> last(plan_.resources());
  std::vector<bool> in_order(plan_.resources(), true);
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    const std::uint32_t resource = plan_.class_of(task).resource;
    Last& before = last[resource];
    previous_[task] = before.task;
    if (plan_.is_link(resource)) {
      const std::pair<Time, Time> now = served(task);
      if (before.task != no_task && now < before.served) in_order[resource] = false;
      before.served = now;
    }
    before.task = task;
  }
  return in_order;
}

/// The same for a link served in another order: first come, first served.
void Causes::follow_service(std::vector<TaskId> tasks) {
  std::stable_sort(tasks.begin(), tasks.end(),
                   [&](TaskId a, TaskId b) { return served(a) < served(b); });
  TaskId before = no_task;
  for (const TaskId task : tasks) previous_[task] = std::exchange(before, task);
}

void Causes::find_readers() {
  sent_by_.emplace(plan_);
  reader_.assign(plan_.tasks(), no_task);
  for (TaskId task = plan_.tasks(); task-- > 0;) {
    const WorkClass& work = plan_.class_of(task);
    if (plan_.is_link(work.resource)) continue;
    plan_.for_each_input(task, [&](TaskId input) {
      // Transfers to data replicas or hosts have no reader to wait for.
      const bool receives = is_transfer_task(input) &&
                            plan_.link(plan_.class_of(input).resource).to == Rank{work.resource};
      if (receives) reader_[input] = task;
    });
  }
}

Release Causes::by_previous(TaskId task) const {
  const TaskId before = previous_[task];
  if (before == no_task) return {};
  return {before, is_transfer_task(before) ? left(before) : timeline_.end[before]};
}

Release Causes::by_input(TaskId task) const {
  const TaskId input = timeline_.last_input[task];
  if (input == no_task) return {};
  // With blocking sends a rank continues when its own send has left.
  const bool holds_sender =
      !is_transfer_task(task) && blocks(input) &&
      plan_.link(plan_.class_of(input).resource).from == Rank{plan_.class_of(task).resource};
  return {input, holds_sender ? left(input) : timeline_.end[input]};
}

/// With rendezvous: when the reader was ready to receive a transfer, that is, after the previous
/// action and, with blocking sends, all its sends.
Release Causes::by_reader(TaskId transfer) const {
  if (reader_.empty() || reader_[transfer] == no_task) return {};
  Release ready = by_previous(reader_[transfer]);
  if (ready.by == no_task || !blocking_) return ready;
  const TaskId last = ready.by;
  const bool fused = plan_.class_of(last).follows_partner;
  for (const TaskId maker : {fused ? last - 1 : last, last}) {
    for (const TaskId sent : sent_by_->of(maker)) {
      if (blocks(sent) && left(sent) > ready.time) ready = {sent, left(sent)};
    }
  }
  return ready;
}

Release Causes::release_of(TaskId task, const std::vector<bool>& met) const {
  const auto unmet = [&](const Release& release) {
    return release.by != no_task && met[first_part(plan_, release.by)] ? Release{} : release;
  };
  const Release previous = unmet(by_previous(task)), input = unmet(by_input(task));
  Release last = is_transfer_task(task) ? later(later(input, previous), unmet(by_reader(task)))
                                        : later(previous, input);
  last.time = std::min(last.time, timeline_.begin[task] - time_in(timeline_.memory_wait, task));
  return last;
}

/// The task that ends last, at `end`; ties go to the lowest rank, and to actions over transfers.
TaskId last_to_end(const Plan& plan, const Timeline& timeline, Time end) {
  TaskId latest = no_task;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (timeline.end[task] != end) continue;
    const std::uint32_t resource = plan.class_of(task).resource;
    if (latest == no_task || resource < plan.class_of(latest).resource) latest = task;
  }
  return latest;
}

PathWaits waits_of(const Plan& plan, const Timeline& timeline, const PathStep& step) {
  const Time begin = timeline.begin[step.task];
  const Time waited = begin - step.begin;
  const Time longer = std::min(step.end - begin, time_in(timeline.slowed, step.task));
  PathWaits waits{.memory = std::min(waited, time_in(timeline.memory_wait, step.task))};
  if (plan.is_link(plan.class_of(step.task).resource)) {
    waits.contention = waited - waits.memory + longer;
  } else {
    waits.launch = waited - waits.memory;
    waits.slowdown = longer;
  }
  return waits;
}

}  // namespace

PathWaits& PathWaits::operator+=(const PathWaits& other) {
  memory += other.memory;
  launch += other.launch;
  contention += other.contention;
  slowdown += other.slowdown;
  return *this;
}

std::vector<PathStep> critical_path(const Plan& plan, const Costs& costs, const Timeline& timeline,
                                    const Conditions& conditions) {
  const Causes causes(plan, costs, timeline, conditions);
  std::vector<PathStep> path;
  std::vector<bool> met(plan.tasks());
  const Time end = makespan(plan, timeline);
  Release next{last_to_end(plan, timeline, end), end};
  while (next.by != no_task) {
    const TaskId task = first_part(plan, next.by);
    met[task] = true;
    const Release before = causes.release_of(task, met);
    path.push_back({.task = task, .begin = before.time, .end = next.time});
    path.back().waits = waits_of(plan, timeline, path.back());
    next = before;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<TaskId> tasks_of(const std::vector<PathStep>& path) {
  std::vector<TaskId> tasks;
  for (const PathStep& step : path) tasks.push_back(step.task);
  return tasks;
}

}  // namespace penstock
