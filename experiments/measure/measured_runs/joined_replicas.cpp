#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measure/measured_runs/measured_run.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/job/replica_ranks.hpp"

namespace penstock {
namespace {

/// By task of one replica: the first of its tasks in a plan of all, as `with_replica_ranks` numbers
/// them; those of the others follow, both parts of a fused cell together.
struct JoinedTasks {
  std::vector<TaskId> first;
  std::vector<std::uint32_t> step;  // from one replica to the next

  JoinedTasks(const Plan& plan, std::uint32_t replicas) : first(plan.tasks()), step(plan.tasks()) {
    for (TaskId task = 0; task < plan.tasks();) {
      const bool leads = task + 1 < plan.tasks() && plan.class_of(task + 1).follows_partner;
      const std::uint32_t together = leads ? 2 : 1;
      for (std::uint32_t part = 0; part < together; ++part) {
        first[task + part] = task * replicas + part;
        step[task + part] = together;
      }
      task += together;
    }
  }
};

/// A step of all replicas; nothing if one of them lacks it.
std::optional<Timeline> joined_step(const std::vector<MeasuredRun>& replicas, const Plan& plan,
                                    const JoinedTasks& tasks, std::uint32_t number) {
  std::vector<std::size_t> places;
  std::int64_t start = INT64_MAX;
  for (const MeasuredRun& run : replicas) {
    const auto found = std::ranges::find(run.numbers, number);
    if (found == run.numbers.end()) return std::nullopt;
    places.push_back(static_cast<std::size_t>(found - run.numbers.begin()));
    start = std::min(start, run.starts_ns[places.back()]);
  }
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const double apart =
        static_cast<double>(replicas[i].starts_ns[places[i]]) - static_cast<double>(start);
    if (apart <= Limits::time_us * 1e3) continue;
    throw InputError(
        fmt::format("step {}: replicas are more than {} s apart; the clocks of all "
                    "traces must be one (/baseTimeNanoseconds)",
                    number, Limits::time_us / 1e6));
  }
  Timeline all;
  all.begin.resize(plan.tasks());
  all.end.resize(plan.tasks());
  for (std::uint32_t replica = 0; replica < replicas.size(); ++replica) {
    const MeasuredRun& run = replicas[replica];
    const Timeline& own = run.measured.iterations[places[replica]];
    const Time later = from_ns(run.starts_ns[places[replica]] - start);
    for (TaskId task = 0; task < own.begin.size(); ++task) {
      const TaskId joined = tasks.first[task] + replica * tasks.step[task];
      all.begin[joined] = own.begin[task] + later;
      all.end[joined] = own.end[task] + later;
    }
  }
  find_last_inputs(plan, all);
  return all;
}

void check_orders(const std::vector<MeasuredRun>& replicas) {
  const std::uint64_t hash = plan_hash(replicas.front().job.priced.plan);
  for (std::size_t i = 1; i < replicas.size(); ++i) {
    if (plan_hash(replicas[i].job.priced.plan) == hash) continue;
    const bool same_ops = replicas[i].order.schedule == replicas.front().order.schedule;
    throw InputError(fmt::format("{}: replica {} {} than replica 0",
                                 replicas[i].ranks.front().source, i,
                                 same_ops ? "issued other SENDs and RECVs" : "ran another order"));
  }
}

/// Which clocks do not fit, by replica.
std::string unaligned_of(const std::vector<MeasuredRun>& replicas) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    if (replicas[i].unaligned.empty()) continue;
    all.push_back(fmt::format("replica {}: {}", i, replicas[i].unaligned));
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

}  // namespace

JoinedReplicas join_replicas(const std::vector<MeasuredRun>& replicas) {
  check_orders(replicas);
  const MeasuredRun& one = replicas.front();
  const auto count = static_cast<std::uint32_t>(replicas.size());
  PricedPlan priced = one.job.priced;
  JoinedReplicas joined{
      .title = fmt::format("{}, {} replicas", one.title, count),
      .plan = with_replica_ranks(priced, std::vector<Costs>(count, priced.costs)).plan};
  const JoinedTasks tasks(priced.plan, count);
  const std::uint32_t shown = one.numbers[one.chosen];
  auto timeline = joined_step(replicas, joined.plan, tasks, shown);
  if (!timeline) {
    throw InputError(
        fmt::format("step {} is whole in replica 0, but not in all others: --step N "
                    "takes another",
                    shown));
  }
  joined.timeline = *std::move(timeline);
  joined.timeline.iteration = shown;
  joined.timeline.environment = one.timeline.environment;
  const std::string unaligned = unaligned_of(replicas);
  if (!unaligned.empty()) joined.timeline.environment[unaligned_key] = unaligned;
  for (const std::uint32_t number : one.numbers) {
    auto step = joined_step(replicas, joined.plan, tasks, number);
    if (step) joined.iterations.push_back(*std::move(step));
  }
  return joined;
}

}  // namespace penstock
