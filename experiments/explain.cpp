#include "experiments/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace penstock {
namespace {

std::vector<PathStretch> stretches_of(const Plan& plan, const Timeline& timeline,
                                      const std::vector<TaskId>& path) {
  std::vector<PathStretch> stretches;
  for (const TaskId task : path) {
    const std::uint32_t resource = plan.class_of(task).resource;
    const Time begin = timeline.begin[task], end = timeline.end[task];
    const bool opens = stretches.empty() || stretches.back().resource != resource;
    // What moves a tensor for free, and what takes no time, decides nothing.
    const bool moves = plan.is_link(resource) || moves_stash(plan.class_of(task).pass);
    if (begin == end && (opens || moves)) continue;
    if (opens) stretches.push_back({resource, task, task, 0, begin, end});
    PathStretch& stretch = stretches.back();
    stretch.last = task;
    stretch.end = end;
    ++stretch.tasks;
  }
  return stretches;
}

std::vector<PathShare> shares_of(const Plan& plan, const Timeline& timeline,
                                 const std::vector<TaskId>& path) {
  std::map<std::pair<Pass, Stage>, PathShare> by_work;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const TaskId task = path[i];
    const WorkClass& work = plan.class_of(task);
    PathShare& share =
        by_work.try_emplace({work.pass, work.stage}, PathShare{work.pass, work.stage})
            .first->second;
    // A transfer that queued starts while the one before it is still on its way.
    const Time until = i + 1 < path.size()
                           ? std::min(timeline.end[task], timeline.begin[path[i + 1]])
                           : timeline.end[task];
    share.time += until - timeline.begin[task];
    ++share.tasks;
  }
  std::vector<PathShare> shares;
  for (const auto& [key, share] : by_work) {
    if (share.time > Time{}) shares.push_back(share);
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const PathShare& a, const PathShare& b) { return a.time > b.time; });
  return shares;
}

/// The time in which no task of the path ran: it starts late, or has gaps.
Time waits_of(const Timeline& timeline, const std::vector<TaskId>& path) {
  Time waits{}, at{};
  for (const TaskId task : path) {
    waits += std::max(timeline.begin[task], at) - at;
    at = timeline.end[task];
  }
  return waits;
}

std::string percent(Time part, Time whole) {
  return fmt::format("{:.1f} %", whole == Time{} ? 0.0 : 100 * to_us(part) / to_us(whole));
}

/// A way to shorten the run, and how much of what it is about there is.
struct Advice {
  double share;
  std::string text;
};

/// How much more the busiest rank has to do than the mean.
Advice imbalance(const Report& report) {
  const auto busiest =
      std::max_element(report.ranks.begin(), report.ranks.end(),
                       [](const RankReport& a, const RankReport& b) { return a.busy < b.busy; });
  double mean_us = 0;
  for (const RankReport& rank : report.ranks) mean_us += to_us(rank.busy);
  mean_us /= static_cast<double>(report.ranks.size());
  const double above = (to_us(busiest->busy) - mean_us) / to_us(report.makespan);
  return {above,
          fmt::format("rank {} is busy {:.1f} % of the run longer than the mean: move work off "
                      "it, or make it shorter",
                      busiest - report.ranks.begin(), 100 * above)};
}

Advice transfers(const Explanation& explanation, Time makespan) {
  Time time{};
  for (const PathShare& share : explanation.shares) {
    if (is_transfer(share.pass)) time += share.time;
  }
  return {
      to_us(time) / to_us(makespan),
      fmt::format("transfers take {} of the critical path: faster links, smaller activations, or "
                  "an order with a longer warm-up would hide them",
                  percent(time, makespan))};
}

Advice fill_and_drain(const Explanation& explanation, const Report& report) {
  const Time all{report.makespan.picoseconds * static_cast<std::int64_t>(report.ranks.size())};
  const Time ends = explanation.idle.warmup + explanation.idle.drain;
  return {all == Time{} ? 0 : to_us(ends) / to_us(all),
          fmt::format("warm-up and drain idle {} of all ranks' time: more microbatches, or more "
                      "chunks a rank, would thin them out",
                      percent(ends, all))};
}

Advice launches(const Explanation& explanation, Time makespan) {
  return {to_us(explanation.path_launches) / to_us(makespan),
          fmt::format("the critical path waits {} of the run to be launched: fewer and longer "
                      "actions, or a captured graph of them, would save that",
                      percent(explanation.path_launches, makespan))};
}

/// How many times as long the actions of each rank took as their classes say.
std::vector<double> slowness_of_ranks(const Plan& plan, const Costs& costs) {
  std::vector<double> stated(plan.ranks), taken(plan.ranks);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t rank = plan.class_of(task).resource;
    if (plan.is_link(rank)) continue;
    stated[rank] += to_us(costs.duration[plan.work[task]]);
    taken[rank] += to_us(costs.duration_of(plan, task));
  }
  for (std::size_t r = 0; r < taken.size(); ++r)
    taken[r] = stated[r] > 0 ? taken[r] / stated[r] : 1;
  return taken;
}

/// How much of the run the slowest rank loses against the middle one of them.
Advice straggler(const RunResult& result) {
  const std::vector<double> slowness = slowness_of_ranks(*result.plan, result.costs);
  std::vector<double> sorted = slowness;
  std::sort(sorted.begin(), sorted.end());
  const double usual = sorted[(sorted.size() - 1) / 2];
  const auto slowest = std::max_element(slowness.begin(), slowness.end());
  const auto rank = static_cast<std::size_t>(slowest - slowness.begin());
  const double lost =
      *slowest > usual ? to_us(result.report->ranks[rank].busy) * (1 - usual / *slowest) : 0;
  return {lost / to_us(result.report->makespan),
          fmt::format("the actions of rank {} take {:.3g} times as long as the model says, those "
                      "of the median rank {:.3g} times: find out what slows it down",
                      rank, *slowest, usual)};
}

std::vector<std::string> advice_for(const RunResult& result, const Explanation& explanation) {
  const Report& report = *result.report;
  if (report.makespan == Time{}) return {};
  constexpr double worth_saying = 0.01;
  std::vector<Advice> all{imbalance(report), transfers(explanation, report.makespan),
                          fill_and_drain(explanation, report),
                          launches(explanation, report.makespan), straggler(result)};
  std::stable_sort(all.begin(), all.end(),
                   [](const Advice& a, const Advice& b) { return a.share > b.share; });
  std::vector<std::string> texts;
  for (const Advice& one : all) {
    if (one.share >= worth_saying) texts.push_back(one.text);
  }
  return texts;
}

}  // namespace

Explanation explain(const RunResult& result) {
  const Plan& plan = *result.plan;
  Explanation explanation;
  explanation.path = stretches_of(plan, result.timeline, result.report->critical_path);
  explanation.shares = shares_of(plan, result.timeline, result.report->critical_path);
  explanation.path_launches = waits_of(result.timeline, result.report->critical_path);
  explanation.gaps = idle_gaps(plan, result.timeline);
  std::stable_sort(
      explanation.gaps.begin(), explanation.gaps.end(),
      [](const IdleGap& a, const IdleGap& b) { return a.end - a.begin > b.end - b.begin; });
  for (const IdleGap& gap : explanation.gaps) explanation.idle += gap.causes;
  explanation.advice = advice_for(result, explanation);
  return explanation;
}

}  // namespace penstock
