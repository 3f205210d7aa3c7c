#include "sim/report/overview.hpp"

#include "sim/report/idle.hpp"

namespace penstock {
namespace {

static_assert(overview_facts == 4 + idle_cause_count);

}  // namespace

TimelineOverview overview_of(const Plan& plan, const Timeline& timeline) {
  OverviewMaker maker(plan);
  GapFinder gaps(plan, timeline);
  const auto add = [&](const IdleGap& gap) {
    Time at = gap.begin;
    for (std::uint8_t cause = 0; cause < idle_cause_count; ++cause) {
      const Time until = at + time_of(gap.causes, static_cast<IdleCause>(cause));
      if (until > at) maker.add_idle(index(gap.rank), at, until, cause);
      at = until;
    }
  };
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (!plan.is_link(resource)) gaps.before(task, resource, add);
    maker.add(plan.work[task], timeline.begin[task], timeline.end[task]);
  }
  gaps.after_all(maker.makespan(), add);
  return maker.take();
}

Report report_of(const TimelineOverview& overview) {
  Report report;
  report.makespan = overview.makespan;
  for (const RankFacts& facts : overview.ranks) {
    RankReport rank;
    rank.start = {facts[0]};
    rank.end = {facts[1]};
    rank.busy = {facts[2]};
    rank.idle = report.makespan - rank.busy;
    rank.actions = static_cast<std::uint32_t>(facts[3]);
    for (std::size_t c = 0; c < idle_cause_count; ++c) {
      rank.idle_by_cause.*idle_times[c] = {facts[4 + c]};
    }
    report.ranks.push_back(rank);
  }
  report.bubble = bubble_of(report);
  return report;
}

}  // namespace penstock
