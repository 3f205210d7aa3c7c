#include "sim/report/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "sim/base/time_sum.hpp"

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

/// Bytes of a transfer over its route. Some traffic of a collective stays inside machines although
/// its route does not: at most what the route carries in that time.
std::uint64_t bytes_over(const Route& route, std::uint32_t work, const Plan& plan,
                         const Costs& costs, const Network& network) {
  const WorkClass& kind = plan.classes[work];
  const std::uint64_t bytes = costs.bytes[kind.buffer];
  if (!is_tail(kind.pass) || route.empty()) return bytes;
  double slowest = INFINITY;
  for (const std::uint32_t link : route) {
    slowest = std::min(slowest, network.links[link].bandwidth_bytes_per_s);
  }
  const double most = slowest * to_us(costs.duration[work] + costs.hidden_of(work)) * 1e-6;
  return std::min(bytes, static_cast<std::uint64_t>(std::llround(std::min(most, 9e18))));
}

/// Traffic of each link of the plan.
std::vector<NetworkLinkUse> use_of_plan_links(const Plan& plan, const Costs& costs,
                                              const Network& network) {
  std::vector<NetworkLinkUse> use(plan.links.size());
  for (const std::uint32_t work : plan.work) {
    const WorkClass& kind = plan.classes[work];
    if (!plan.is_link(kind.resource)) continue;
    NetworkLinkUse& link = use[kind.resource - plan.ranks];
    ++link.transfers;
    link.bytes +=
        bytes_over(network.routes[kind.resource - plan.ranks], work, plan, costs, network);
  }
  return use;
}

double share_used(const NetworkLinkUse& use, const NetworkLink& link, Time makespan) {
  const double could_carry = link.bandwidth_bytes_per_s * link.sharers * to_us(makespan) * 1e-6;
  return could_carry > 0 ? static_cast<double>(use.bytes) / could_carry : 0;
}

/// Microbatches after which every replica of every stage has had equally many; at most `limit`.
std::uint64_t period_of(const Plan& plan, std::uint64_t limit) {
  std::vector<std::set<std::uint32_t>> ranks(plan.model_stage.size());
  for (const WorkClass& work : plan.classes) {
    if (work.pass == Pass::forward) ranks[index(work.stage)].insert(work.resource);
  }
  std::uint64_t period = 1;
  for (const auto& replicas : ranks) {
    if (!replicas.empty()) period = std::min(limit, std::lcm(period, replicas.size()));
  }
  return period;
}

/// Begins of F on first stages, and ends of their B or W, each ascending.
struct Passages {
  std::vector<Time> entered;
  std::vector<Time> left;
};

Passages passages_of(const Plan& plan, const Timeline& timeline) {
  Passages found;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (plan.model_stage[index(work.stage)] != 0) continue;
    if (work.pass == Pass::forward) found.entered.push_back(timeline.begin[task]);
    if (ends_activation(work.pass)) found.left.push_back(timeline.end[task]);
  }
  std::ranges::sort(found.entered);
  std::ranges::sort(found.left);
  return found;
}

}  // namespace

Bubble bubble_of(const Report& report) {
  TimeSum busy;
  Time busiest{}, longest_span{};
  for (const RankReport& rank : report.ranks) {
    busy += rank.busy;
    busiest = std::max(busiest, rank.busy);
    longest_span = std::max(longest_span, rank.end - rank.start);
  }
  Bubble bubble;
  if (report.makespan == Time{}) return bubble;
  const auto ps = [](TimeSum time) { return static_cast<double>(time.picoseconds); };
  const double ranks = static_cast<double>(report.ranks.size());
  bubble.of_makespan = 1 - ps(busy) / (ranks * ps(report.makespan));
  // Ranks without any work have no ideal to compare with.
  if (busiest > Time{}) bubble.over_ideal = ps(report.makespan) / ps(busiest) - 1;
  if (longest_span > Time{}) bubble.of_longest_span = 1 - ps(busiest) / ps(longest_span);
  return bubble;
}

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

std::vector<NetworkLinkUse> network_use(const Plan& plan, const Costs& costs,
                                        const Network& network, Time makespan) {
  std::vector<NetworkLinkUse> use(network.links.size());
  if (use.empty()) return use;
  const std::vector<NetworkLinkUse> carried = use_of_plan_links(plan, costs, network);
  for (std::size_t l = 0; l < carried.size(); ++l) {
    for (const std::uint32_t link : network.routes[l]) {
      use[link].transfers += carried[l].transfers * network.links[link].sharers;
      use[link].bytes += carried[l].bytes * network.links[link].sharers;
    }
  }
  for (std::size_t link = 0; link < use.size(); ++link) {
    use[link].name = network.links[link].name;
    use[link].utilization = share_used(use[link], network.links[link], makespan);
  }
  std::erase_if(use, [](const NetworkLinkUse& link) { return link.transfers == 0; });
  return use;
}

std::optional<double> steady_interval_us(const Plan& plan, const Timeline& timeline) {
  const auto [entered, left] = passages_of(plan, timeline);
  if (left.empty()) return std::nullopt;
  const auto fill = static_cast<std::size_t>(
      std::lower_bound(entered.begin(), entered.end(), left.front()) - entered.begin());
  if (left.size() <= 2 * fill) return std::nullopt;
  const std::size_t last = left.size() - 1 - fill;
  const std::uint64_t period = period_of(plan, left.size());
  const std::uint64_t whole = (last - fill) / period * period;
  if (whole == 0) return std::nullopt;
  return to_us(left[last] - left[last - whole]) / static_cast<double>(whole);
}

}  // namespace penstock
