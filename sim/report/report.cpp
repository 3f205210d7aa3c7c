#include "sim/report/report.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// Adds one action to the report of its rank.
void add_action(const Timeline& timeline, TaskId task, RankReport& rank) {
  const Time begin = timeline.begin[task];
  const Time end = timeline.end[task];
  if (rank.actions == 0) rank.start = rank.end = begin;
  // The two parts of a fused cell cover the same time, which counts once.
  rank.busy += std::max(end, rank.end) - std::max(begin, rank.end);
  rank.end = std::max(rank.end, end);
  ++rank.actions;
}

void add_transfer(std::uint64_t bytes, Time duration, LinkReport& link) {
  ++link.transfers;
  link.bytes += bytes;
  link.busy += duration;
}

/// What the pass over the tasks needs of a class; those of the plan would fill the cache.
struct ClassUse {
  std::uint32_t resource;
  std::uint64_t bytes;  // of a transfer
};

std::vector<ClassUse> use_of_classes(const Plan& plan, const Costs& costs) {
  std::vector<ClassUse> use;
  for (const WorkClass& work : plan.classes) {
    use.push_back({work.resource, plan.is_link(work.resource) ? costs.bytes[work.buffer] : 0});
  }
  return use;
}

/// Fills the reports of ranks and links in one pass over the tasks.
void add_tasks(const Plan& plan, const Costs& costs, const Timeline& timeline, Report& report) {
  const std::vector<ClassUse> classes = use_of_classes(plan, costs);
  GapFinder gaps(plan, timeline);
  const auto add_up = [](const IdleGap&) {};  // the finder does
  Time makespan{};
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const auto& [resource, bytes] = classes[plan.work[task]];
    makespan = std::max(makespan, timeline.end[task]);
    if (plan.is_link(resource)) {
      add_transfer(bytes, costs.duration_of(plan, task), report.links[resource - plan.ranks]);
    } else {
      add_action(timeline, task, report.ranks[resource]);
      gaps.before(task, resource, add_up);
    }
  }
  report.makespan = makespan;
  gaps.after_all(makespan, add_up);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    report.ranks[rank].idle_by_cause = gaps.causes()[rank];
  }
}

Bubble bubble_of(const Report& report) {
  Time busy{}, busiest{}, longest_span{};
  for (const RankReport& rank : report.ranks) {
    busy += rank.busy;
    busiest = std::max(busiest, rank.busy);
    longest_span = std::max(longest_span, rank.end - rank.start);
  }
  Bubble bubble;
  if (report.makespan == Time{}) return bubble;
  const auto ps = [](Time time) { return static_cast<double>(time.picoseconds); };
  const double ranks = static_cast<double>(report.ranks.size());
  bubble.of_makespan = 1 - ps(busy) / (ranks * ps(report.makespan));
  // Ranks without any work have no ideal to compare with.
  if (busiest > Time{}) bubble.over_ideal = ps(report.makespan) / ps(busiest) - 1;
  if (longest_span > Time{}) bubble.of_longest_span = 1 - ps(busiest) / ps(longest_span);
  return bubble;
}

}  // namespace

Report summarize(const Plan& plan, const Costs& costs, const Timeline& timeline,
                 const Conditions& conditions) {
  Report report;
  report.ranks.resize(plan.ranks);
  for (const Link& link : plan.links) report.links.push_back({.link = link});
  add_tasks(plan, costs, timeline, report);
  const std::vector<MemoryPeak> memory = memory_peaks(plan, costs, timeline);
  const std::vector<std::uint32_t> activations = peak_activations(plan, timeline);
  for (std::size_t r = 0; r < report.ranks.size(); ++r) {
    RankReport& rank = report.ranks[r];
    rank.idle = report.makespan - rank.busy;
    rank.peak_activations = activations[r];
    rank.memory = memory[r];
  }
  report.bubble = bubble_of(report);
  report.critical_path = critical_path(plan, costs, timeline, conditions);
  return report;
}

Report summarize_times(const Plan& plan, const Timeline& timeline) {
  std::vector<std::uint32_t> resources;
  for (const WorkClass& work : plan.classes) resources.push_back(work.resource);
  Report report;
  report.ranks.resize(plan.ranks);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = resources[plan.work[task]];
    report.makespan = std::max(report.makespan, timeline.end[task]);
    if (!plan.is_link(resource)) add_action(timeline, task, report.ranks[resource]);
  }
  for (RankReport& rank : report.ranks) rank.idle = report.makespan - rank.busy;
  report.bubble = bubble_of(report);
  return report;
}

}  // namespace penstock
