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
         const Conditions& conditions)
      : plan_(plan),
        costs_(costs),
        timeline_(timeline),
        blocking_(conditions.blocking_sends),
        before_(plan, costs, timeline) {
    if (conditions.rendezvous) find_readers();
  }

  /// When a task had all that it waited for but memory, launch and the links of others. Tasks that
  /// take no time may let each other go at one moment: those that were met let nobody go again.
  Release release_of(TaskId task, const std::vector<bool>& met) {
    const auto unmet = [&](const Release& release) {
      return release.by != no_task && met[first_part(plan_, release.by)] ? Release{} : release;
    };
    const Release previous = unmet(by_previous(task)), input = unmet(by_input(task));
    Release last = is_transfer_task(task) ? later(later(input, previous), unmet(by_reader(task)))
                                          : later(previous, input);
    last.time = std::min(last.time, timeline_.begin[task] - time_in(timeline_.memory_wait, task));
    return last;
  }

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

  void find_readers() {
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

  Release by_previous(TaskId task) {
    const TaskId before = before_.of(task);
    if (before == no_task) return {};
    return {before, is_transfer_task(before) ? left(before) : timeline_.end[before]};
  }

  Release by_input(TaskId task) const {
    const TaskId input = timeline_.last_input[task];
    if (input == no_task) return {};
    // With blocking sends a rank continues when its own send has left.
    const bool holds_sender =
        blocking_ && !is_transfer_task(task) && blocks(input) &&
        plan_.link(plan_.class_of(input).resource).from == Rank{plan_.class_of(task).resource};
    return {input, holds_sender ? left(input) : timeline_.end[input]};
  }

  /// With rendezvous, when the reader stood before the action that reads a transfer: after the
  /// action in front and, with blocking sends, all that this has sent.
  Release by_reader(TaskId transfer) {
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

  const Plan& plan_;
  const Costs& costs_;
  const Timeline& timeline_;
  bool blocking_;
  TasksBefore before_;
  std::vector<TaskId> reader_;              // with rendezvous, by transfer: who reads it first
  std::optional<TransferReaders> sent_by_;  // with rendezvous
};

/// The task that ends last; of equals, that of the lowest rank, and no transfer if there is an
/// action. From the back, since what is late in the plan mostly ends late.
TaskId last_to_end(const Plan& plan, const Timeline& timeline) {
  if (plan.tasks() == 0) return no_task;
  TaskId latest = plan.tasks() - 1;
  Time end = timeline.end[latest];
  for (TaskId task = latest; task-- > 0;) {
    if (timeline.end[task] < end) continue;
    const bool later = timeline.end[task] > end;
    if (!later && plan.class_of(task).resource > plan.class_of(latest).resource) continue;
    latest = task;
    end = timeline.end[task];
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

/// Transfers of one link were served in the order of when they began and when they left.
struct Served {
  Time began;
  Time left;
  friend auto operator<=>(const Served&, const Served&) = default;
};

Served served(const Plan& plan, const Costs& costs, const Timeline& timeline, TaskId transfer) {
  return {timeline.begin[transfer], timeline.end[transfer] - costs.latency_of(plan, transfer)};
}

/// What is kept for each block takes little beside its tasks.
std::uint32_t block_size_for(const Plan& plan) {
  constexpr std::uint32_t least = 16'384, tasks_a_resource = 8;
  return std::max(least, plan.resources() * tasks_a_resource);
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
  Causes causes(plan, costs, timeline, conditions);
  std::vector<PathStep> path;
  std::vector<bool> met(plan.tasks());
  const TaskId last = last_to_end(plan, timeline);
  Release next{last, last == no_task ? Time{} : timeline.end[last]};
  while (next.by != no_task) {
    const TaskId task = first_part(plan, next.by);
    met[task] = true;
    const Release before = causes.release_of(task, met);
    path.push_back({.task = task, .begin = before.time, .end = next.time});
    path.back().waits = waits_of(plan, timeline, path.back());
    next = before;
  }
  std::ranges::reverse(path);
  return path;
}

std::vector<TaskId> tasks_of(const std::vector<PathStep>& path) {
  std::vector<TaskId> tasks;
  for (const PathStep& step : path) tasks.push_back(step.task);
  return tasks;
}

TasksBefore::TasksBefore(const Plan& plan, const Costs& costs, const Timeline& timeline)
    : plan_(plan), in_plan_order_(plan.resources(), 1), block_size_(block_size_for(plan)) {
  for (const WorkClass& work : plan.classes) resource_of_class_.push_back(work.resource);
  follow_plan(costs, timeline);
  std::fill_n(in_plan_order_.begin(), plan.ranks, std::uint8_t{1});
  const bool all = std::ranges::find(in_plan_order_, 0) == in_plan_order_.end();
  if (!all) follow_service(costs, timeline);
}

/// One pass for what each block needs and for the order of service, which means nothing for ranks.
void TasksBefore::follow_plan(const Costs& costs, const Timeline& timeline) {
  std::vector<TaskId> last(plan_.resources(), no_task);
  std::vector<Time> last_begin(plan_.resources(), Time{-1});
  for (TaskId first = 0; first < plan_.tasks(); first += block_size_) {
    last_in_front_.insert(last_in_front_.end(), last.begin(), last.end());
    const TaskId end = first + std::min(block_size_, plan_.tasks() - first);
    for (TaskId task = first; task < end; ++task) {
      const std::uint32_t resource = resource_of(task);
      const Time begin = timeline.begin[task];
      const TaskId before = std::exchange(last[resource], task);
      // When they left only decides between those that began at one moment.
      if (begin <= last_begin[resource] && before != no_task &&
          served(plan_, costs, timeline, task) < served(plan_, costs, timeline, before)) {
        in_plan_order_[resource] = 0;
      }
      last_begin[resource] = begin;
    }
  }
}

/// For links whose transfers were served in another order.
void TasksBefore::follow_service(const Costs& costs, const Timeline& timeline) {
  served_before_.resize(plan_.tasks());
  ResourceOrders orders = resource_orders(plan_);
  for (std::uint32_t link = plan_.ranks; link < plan_.resources(); ++link) {
    if (in_plan_order_[link] != 0) continue;
    const auto first = orders.tasks.begin() + orders.first[link];
    const auto end = orders.tasks.begin() + orders.first[link + 1];
    std::stable_sort(first, end, [&](TaskId a, TaskId b) {
      return served(plan_, costs, timeline, a) < served(plan_, costs, timeline, b);
    });
    TaskId before = no_task;
    for (auto task = first; task != end; ++task) {
      served_before_[*task] = std::exchange(before, *task);
    }
  }
}

void TasksBefore::enter(std::uint32_t block) {
  block_ = block;
  const auto in_front =
      last_in_front_.begin() + static_cast<std::ptrdiff_t>(std::size_t{block} * plan_.resources());
  std::vector<TaskId> last(in_front, in_front + plan_.resources());
  const TaskId first = block * block_size_;
  before_.resize(std::min(block_size_, plan_.tasks() - first));
  for (std::uint32_t i = 0; i < before_.size(); ++i) {
    before_[i] = std::exchange(last[resource_of(first + i)], first + i);
  }
}

}  // namespace penstock
