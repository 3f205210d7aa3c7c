#include "experiments/measure/causes/replay.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>
#include <variant>

#include "sim/engines/events.hpp"

namespace penstock {
namespace {

// The members of a Removal, by name.
constexpr std::array<std::pair<std::string_view, std::vector<bool> Removal::*>, 4> lists{
    {{"ranks", &Removal::ranks},
     {"links", &Removal::links},
     {"gaps", &Removal::gaps},
     {"stages", &Removal::stages}}};
constexpr std::array<std::pair<std::string_view, bool Removal::*>, 4> flags{
    {{"replicas", &Removal::replicas},
     {"microbatches", &Removal::microbatches},
     {"jitter", &Removal::jitter},
     {"collectives", &Removal::collectives}}};

std::uint32_t model_stages(const Plan& plan) {
  std::uint32_t most = 0;
  for (const std::uint32_t stage : plan.model_stage) most = std::max(most, stage);
  return most + 1;
}

Removal filled(const Plan& plan, bool value) {
  return {.ranks = std::vector<bool>(plan.ranks, value),
          .links = std::vector<bool>(plan.links.size(), value),
          .gaps = std::vector<bool>(plan.ranks, value),
          .stages = std::vector<bool>(model_stages(plan), value),
          .replicas = value,
          .microbatches = value,
          .jitter = value,
          .collectives = value};
}

Time scaled(Time time, double factor) {
  if (factor == 1) return time;
  return {std::llrint(static_cast<double>(time.picoseconds) * factor)};
}

}  // namespace

Removal nothing_removed(const Plan& plan) { return filled(plan, false); }
Removal all_removed(const Plan& plan) { return filled(plan, true); }

Removal operator|(const Removal& a, const Removal& b) {
  Removal both = a;
  for (const auto& [kind, list] : lists) {
    std::transform((a.*list).begin(), (a.*list).end(), (b.*list).begin(), (both.*list).begin(),
                   std::logical_or{});
  }
  for (const auto& [kind, flag] : flags) both.*flag = a.*flag || b.*flag;
  return both;
}

bool remove_all(std::string_view kind, Removal& removal) {
  for (const auto& [word, list] : lists) {
    if (word != kind) continue;
    (removal.*list).assign((removal.*list).size(), true);
    return true;
  }
  for (const auto& [word, flag] : flags) {
    if (word != kind) continue;
    removal.*flag = true;
    return true;
  }
  return false;
}

Replay::Replay(const MeasuredStep& step, const OpModel& model)
    : step_(step), model_(model), plan_(*step.plan), priced_{plan_, {}} {
  for (const WorkClass& work : plan_.classes) {
    std::uint32_t rank = work.resource;
    if (plan_.is_link(rank)) {
      const Link& link = plan_.link(rank);
      rank = index(is_rank(link.from) ? link.from : link.to);
    }
    rank_.push_back(rank);
    stage_.push_back(plan_.model_stage.empty() ? 0 : plan_.model_stage[index(work.stage)]);
  }
  Costs& costs = priced_.costs;
  costs.duration.resize(plan_.classes.size());
  costs.latency.resize(plan_.classes.size());
  costs.bytes.resize(plan_.buffers.size());
  costs.task_duration.resize(plan_.tasks());
  costs.task_latency.resize(plan_.tasks());
}

/// The length of an action as a share of what was measured; below 0: it takes that many
/// picoseconds instead.
double Replay::of_action(TaskId task, const Removal& removed) const {
  const std::uint32_t number = plan_.work[task];
  const double measured = model_.usual[number];
  if (measured <= 0) return 1;
  const double usual = removed.stages[stage_[number]] ? model_.even[number] : measured;
  double kept = 1, all = 1;
  if (OpModel::varies(plan_.classes[number].pass)) {
    const std::uint32_t rank = rank_[number];
    const double slower = model_.rank[rank];
    const double replica = model_.replica[model_.groups.ranks[rank].pipeline];
    const double share = model_.microbatch[model_.share_of[task]];
    kept = (removed.ranks[rank] ? 1 : slower) * (removed.replicas ? 1 : replica) *
           (removed.microbatches ? 1 : share);
    all = slower * replica * share;
  }
  return removed.jitter ? -usual * kept : usual * kept / (measured * all);
}

double Replay::of_transfer(TaskId task, const Removal& removed) const {
  const std::uint32_t number = plan_.work[task];
  if (removed.collectives && is_tail(plan_.classes[number].pass)) return 0;
  const std::uint32_t link = plan_.classes[number].resource - plan_.ranks;
  const double slower = removed.links[link] ? 1 : model_.link[link];
  if (!removed.jitter || model_.usual[number] <= 0) return slower / model_.link[link];
  return -model_.usual[number] * slower;
}

/// What was measured where nothing that is removed changes it, bit by bit.
Replay::Times Replay::times(TaskId task, const Removal& removed) const {
  Times own{step_.duration[task], step_.latency[task]};
  const WorkClass& work = plan_.class_of(task);
  if (work.follows_partner) return own;
  const double factor =
      plan_.is_link(work.resource) ? of_transfer(task, removed) : of_action(task, removed);
  if (factor < 0) {
    const Time before = step_.length(task), after{std::llrint(-factor)};
    own.latency = before > Time{}
                      ? scaled(own.latency, -factor / static_cast<double>(before.picoseconds))
                      : Time{};
    own.duration = after - std::min(own.latency, after);
  } else {
    own.duration = scaled(own.duration, factor);
    own.latency = scaled(own.latency, factor);
  }
  if (!removed.gaps[rank_[plan_.work[task]]]) own.duration += step_.gap[task];
  return own;
}

void Replay::set(TaskId task, const Removal& removed) {
  const Times own = times(task, removed);
  priced_.costs.task_duration[task] = own.duration;
  priced_.costs.task_latency[task] = own.latency;
}

Time Replay::length(TaskId task, const Removal& removed) const {
  if (plan_.class_of(task).follows_partner) return {};
  const Times own = times(task, removed);
  return own.duration + own.latency;
}

Time Replay::simulated() {
  RunOutcome outcome = simulate(priced_, std::move(timeline_));
  if (std::holds_alternative<Standstill>(outcome)) {
    throw std::logic_error("the replayed step did not finish");
  }
  timeline_ = std::get<Timeline>(std::move(outcome));
  return makespan(plan_, timeline_);
}

Time Replay::step(const Removal& removed) {
  for (TaskId task = 0; task < plan_.tasks(); ++task) set(task, removed);
  return simulated();
}

Time Replay::step(const Removal& removed, const std::function<bool(TaskId)>& touches) {
  const Removal nothing = nothing_removed(plan_);
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    set(task, touches(task) ? removed : nothing);
  }
  return simulated();
}

Time Replay::step_with(std::span<const TaskId> tasks, const Costs& costs) {
  Costs own;
  for (const TaskId task : tasks) {
    own.task_duration.push_back(
        std::exchange(priced_.costs.task_duration[task], costs.task_duration[task]));
    own.task_latency.push_back(
        std::exchange(priced_.costs.task_latency[task], costs.task_latency[task]));
  }
  const Time all = simulated();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    priced_.costs.task_duration[tasks[i]] = own.task_duration[i];
    priced_.costs.task_latency[tasks[i]] = own.task_latency[i];
  }
  return all;
}

}  // namespace penstock
