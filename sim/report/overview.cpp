#include "sim/report/overview.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/report/idle.hpp"

namespace penstock {
namespace {

static_assert(overview_facts == 4 + idle_cause_count);

constexpr std::array kinds{OverviewKind::compute, OverviewKind::send, OverviewKind::receive,
                           OverviewKind::idle};

}  // namespace

OverviewMaker::OverviewMaker(const Plan& plan) : plan_(plan), facts_(plan.ranks) {
  for (RankFacts& facts : facts_) {
    facts[0] = -1;
    for (const OverviewKind kind : kinds) lanes_.emplace_back(most_bins(plan.ranks, kind));
  }
}

void OverviewMaker::add(std::uint32_t work, Time begin, Time end) {
  makespan_ = std::max(makespan_, end);
  const WorkClass& of = plan_.classes[work];
  const auto add_to = [&](std::uint32_t rank, OverviewKind kind) {
    lane_of(rank, kind).add(begin, end, static_cast<std::uint8_t>(of.pass));
  };
  if (plan_.is_link(of.resource)) {
    const Link& link = plan_.link(of.resource);
    if (is_rank(link.from)) add_to(index(link.from), OverviewKind::send);
    if (is_rank(link.to) && !is_exchange(plan_, of)) add_to(index(link.to), OverviewKind::receive);
    return;
  }
  RankFacts& facts = facts_[of.resource];
  if (facts[0] < 0) facts[0] = begin.picoseconds;
  // The second part of a fused cell runs inside the first.
  const std::int64_t from = std::max(begin.picoseconds, facts[1]);
  facts[2] += std::max<std::int64_t>(0, end.picoseconds - from);
  facts[1] = std::max(facts[1], end.picoseconds);
  ++facts[3];
  add_to(of.resource, OverviewKind::compute);
}

void OverviewMaker::add_idle(std::uint32_t rank, Time begin, Time end, std::uint8_t cause) {
  facts_[rank][std::size_t{4} + cause] += (end - begin).picoseconds;
  lane_of(rank, OverviewKind::idle).add(begin, end, cause);
}

TimelineOverview OverviewMaker::take() {
  TimelineOverview overview{.makespan = makespan_, .ranks = std::move(facts_), .lanes = {}};
  for (std::uint32_t rank = 0; rank < overview.ranks.size(); ++rank) {
    std::int64_t& start = overview.ranks[rank][0];
    start = std::max<std::int64_t>(0, start);
    for (const OverviewKind kind : kinds) {
      overview.lanes.push_back(lane_of(rank, kind).take(rank, kind));
    }
  }
  return overview;
}

TimelineOverview overview_of(const Plan& plan, const Timeline& timeline) {
  OverviewMaker maker(plan);
  GapFinder gaps(plan, timeline);
  const auto add = [&](const IdleGap& gap) {
    for_each_cause(gap, [&](IdleCause cause, Time begin, Time end) {
      maker.add_idle(index(gap.rank), begin, end, static_cast<std::uint8_t>(cause));
    });
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
