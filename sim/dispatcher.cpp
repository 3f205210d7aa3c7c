#include "sim/dispatcher.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/needs_on_rank.hpp"

namespace penstock {
namespace {

/// Finds the task of a rank that does a pass of a stage for a microbatch.
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
      ready_(plan.ranks),
      activations_(plan.ranks),
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
    if (!is_transfer(work.pass) && missing_[task] == 0) ready_[work.resource].push_back({task, {}});
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
    // R waits for what its backward waits for.
    const bool again = work.pass == Pass::recompute;
    for_each_handed_over(placement, work.stage, again ? Pass::backward : work.pass, need);
  }
}

void Dispatcher::ended(TaskId task, Time now) {
  count_activation(task, /*at_end=*/true);
  for (std::uint32_t at = first_reader_[task]; at < first_reader_[task + 1]; ++at) {
    const TaskId reader = readers_[at];
    if (--missing_[reader] > 0) continue;
    auto& ready = ready_[plan_.class_of(reader).resource];
    // What becomes ready at one moment is shown in the order of the plan.
    const auto place = std::upper_bound(
        ready.begin(), ready.end(), Ready{reader, now}, [](const Ready& a, const Ready& b) {
          return std::tie(a.since, a.task) < std::tie(b.since, b.task);
        });
    ready.insert(place, {reader, now});
  }
}

std::optional<TaskId> Dispatcher::choose(Rank rank, const std::function<bool(TaskId)>& may_start) {
  auto& ready = ready_[index(rank)];
  std::vector<Candidate> candidates;
  std::vector<std::size_t> places;
  const TaskId next = next_[index(rank)];
  for (std::size_t at = 0; at < ready.size(); ++at) {
    const TaskId task = ready[at].task;
    if (next != no_task && task != next) continue;
    if (!may_start(task)) continue;
    const WorkClass& work = plan_.class_of(task);
    candidates.push_back({{work.pass, work.stage, plan_.microbatch[task]}, ready[at].since});
    places.push_back(at);
  }
  if (candidates.empty()) return std::nullopt;
  const auto chosen = policy_.choose({rank, activations_[index(rank)]}, candidates);
  if (!chosen) return std::nullopt;
  return take(rank, places[*chosen]);
}

/// The candidate at some place, which is one no more.
TaskId Dispatcher::take(Rank rank, std::size_t place) {
  auto& ready = ready_[index(rank)];
  const TaskId task = ready[place].task;
  ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(place));
  count_activation(task, /*at_end=*/false);
  // A plan has the backward for which an activation is made again directly behind.
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
