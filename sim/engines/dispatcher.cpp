#include "sim/engines/dispatcher.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/work_classes.hpp"

namespace penstock {
namespace {

/// The passes of the same stage and microbatch that must precede a pass on its rank.
std::vector<Pass> own_needs(Pass pass) {
  switch (pass) {
    case Pass::backward:
    case Pass::backward_input:
      return {Pass::forward, Pass::load, Pass::recompute};
    case Pass::recompute:
      return {Pass::forward, Pass::load};
    case Pass::backward_weight:
      return {Pass::backward_input};
    case Pass::evict:
      return {Pass::forward};
    case Pass::load:
      return {Pass::evict};
    default:
      return {};
  }
}

/// Finds the task of a rank for a pass of a stage and microbatch.
class TaskFinder {
 public:
  explicit TaskFinder(const Plan& plan) {
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      const WorkClass& work = plan.class_of(task);
      if (is_transfer(work.pass)) continue;
      tasks_[{work.resource, index(work.stage), index(plan.microbatch[task]), work.pass}] = task;
    }
  }
  /// no_task when the rank has none.
  TaskId find(std::uint32_t rank, Stage stage, Microbatch microbatch, Pass pass) const {
    const auto found = tasks_.find({rank, index(stage), index(microbatch), pass});
    return found == tasks_.end() ? no_task : found->second;
  }

 private:
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, Pass>, TaskId> tasks_;
};

}  // namespace

Dispatcher::Dispatcher(const Plan& plan, const Placement& placement, const Policy& policy)
    : plan_(plan),
      policy_(policy),
      missing_(plan.tasks()),
      first_reader_(std::size_t{plan.tasks()} + 2),
      lines_(plan.ranks),
      activations_(plan.ranks),
      chosen_(plan.ranks),
      next_(plan.ranks, no_task) {
  std::vector<std::pair<TaskId, TaskId>> needs;
  for_each_need(placement, [&](TaskId needed, TaskId task) { needs.emplace_back(needed, task); });
  for (const auto& [needed, task] : needs) {
    ++missing_[task];
    ++first_reader_[needed + 2];
  }
  for (std::size_t i = 2; i < first_reader_.size(); ++i) first_reader_[i] += first_reader_[i - 1];
  readers_.resize(needs.size());
  for (const auto& [needed, task] : needs) readers_[first_reader_[needed + 1]++] = task;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (!is_transfer(work.pass) && missing_[task] == 0) add(task, {});
  }
}

template <class Visitor>
void Dispatcher::for_each_need(const Placement& placement, Visitor visit) const {
  const TaskFinder finder(plan_);
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    const WorkClass& work = plan_.class_of(task);
    if (is_transfer(work.pass)) continue;
    plan_.for_each_input(task, [&](TaskId input) { visit(input, task); });
    const auto need = [&](Stage stage, Pass pass) {
      const TaskId found = finder.find(work.resource, stage, plan_.microbatch[task], pass);
      if (found != no_task) visit(found, task);
    };
    for (const Pass pass : own_needs(work.pass)) need(work.stage, pass);
    // R waits for the inputs of its backward. When one rank runs the stage they are from too, no
    // transfer brings them.
    const Pass pass = work.pass == Pass::recompute ? Pass::backward : work.pass;
    const auto from = source_of(placement, {pass, work.stage, Microbatch{0}});
    if (!from) continue;
    if (pass == Pass::forward) {
      need(*from, Pass::forward);
    } else {
      need(*from, Pass::backward);
      need(*from, Pass::backward_input);
    }
  }
}

void Dispatcher::ended(TaskId task, Time now) {
  count_activation(task, /*at_end=*/true);
  for (std::uint32_t at = first_reader_[task]; at < first_reader_[task + 1]; ++at) {
    if (--missing_[readers_[at]] == 0) add(readers_[at], now);
  }
}

/// The line of a task's class.
Dispatcher::Line& Dispatcher::line_of(TaskId task) {
  auto& lines = lines_[plan_.class_of(task).resource];
  auto line = std::ranges::find(lines, plan_.work[task], &Line::work);
  if (line == lines.end()) line = lines.insert(line, {plan_.work[task], {}});
  return *line;
}

/// Adds a task to the line of its class; ties in plan order.
void Dispatcher::add(TaskId task, Time now) {
  std::deque<Ready>& ready = line_of(task).ready;
  auto place = ready.end();
  while (place != ready.begin() && std::prev(place)->since == now &&
         std::prev(place)->task > task) {
    --place;
  }
  ready.insert(place, {task, now});
}

std::optional<TaskId> Dispatcher::choose(Rank rank, const std::function<bool(TaskId)>& may_start) {
  const TaskId next = next_[index(rank)];
  if (next != no_task) {
    const bool is_ready = missing_[next] == 0 && may_start(next);
    return is_ready ? std::optional(take(rank, next)) : std::nullopt;
  }
  // The first of each class: they are equal, and it has waited longest.
  std::vector<Ready> firsts;
  for (const Line& line : lines_[index(rank)]) {
    if (!line.ready.empty() && may_start(line.ready.front().task)) {
      firsts.push_back(line.ready.front());
    }
  }
  if (firsts.empty()) return std::nullopt;
  std::ranges::sort(firsts, [](const Ready& a, const Ready& b) {
    return std::tie(a.since, a.task) < std::tie(b.since, b.task);
  });
  std::vector<Candidate> candidates;
  for (const Ready& first : firsts) {
    const WorkClass& work = plan_.class_of(first.task);
    candidates.push_back({{work.pass, work.stage, plan_.microbatch[first.task]}, first.since});
  }
  const FreeRank free{rank, activations_[index(rank)], chosen_[index(rank)]};
  const auto chosen = policy_.choose(free, candidates);
  if (!chosen) return std::nullopt;
  ++chosen_[index(rank)];
  return take(rank, firsts[*chosen].task);
}

/// Removes a chosen task from the candidates.
TaskId Dispatcher::take(Rank rank, TaskId task) {
  std::deque<Ready>& ready = line_of(task).ready;
  ready.erase(std::ranges::find(ready, task, &Ready::task));
  count_activation(task, /*at_end=*/false);
  // In a plan the backward directly follows its R.
  const bool again = plan_.class_of(task).pass == Pass::recompute;
  next_[index(rank)] = again ? task + 1 : no_task;
  return task;
}

void Dispatcher::count_activation(TaskId task, bool at_end) {
  const WorkClass& work = plan_.class_of(task);
  if (is_transfer(work.pass)) return;
  for (const MemoryEffect& effect : work.effects) {
    if (effect.at_end != at_end || plan_.buffers[effect.buffer].kind != BufferKind::stash) continue;
    activations_[work.resource] += effect.takes ? 1 : -1;
  }
}

}  // namespace penstock
