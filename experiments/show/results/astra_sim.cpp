#include "experiments/show/results/astra_sim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/input/files/table.hpp"

namespace penstock {
namespace {

constexpr double no_limit = 1e18;  // bytes/s of transfers that take no time

/// The common speed of transfers between ranks.
struct CommonLink {
  double bandwidth_bytes_per_s = no_limit;
  Time latency{};
  bool is_common = true;  // all transfers have it
};

/// Calls `visit(work class)` for each class of transfers between ranks.
template <class Visit>
void for_each_transfer(const Plan& plan, Visit visit) {
  for (std::uint32_t work = 0; work < plan.classes.size(); ++work) {
    if (!plan.is_link(plan.classes[work].resource)) continue;
    const Link& link = plan.link(plan.classes[work].resource);
    if (is_rank(link.from) && is_rank(link.to)) visit(work);
  }
}

/// That of the longest transfer, whose rounded duration says most about its bandwidth.
CommonLink common_link(const Plan& plan, const Costs& costs) {
  const auto bytes = [&](std::uint32_t work) {
    return static_cast<double>(costs.bytes[plan.classes[work].buffer]);
  };
  CommonLink common;
  Time longest{};
  bool is_first = true;
  for_each_transfer(plan, [&](std::uint32_t work) {
    if (is_first) common.latency = costs.latency[work];
    is_first = false;
    common.is_common = common.is_common && costs.latency[work] == common.latency;
    if (costs.duration[work] <= longest) return;
    longest = costs.duration[work];
    common.bandwidth_bytes_per_s = std::max(bytes(work), 1.0) / to_us(longest) * 1e6;
  });
  for_each_transfer(plan, [&](std::uint32_t work) {
    const double own_us = bytes(work) / common.bandwidth_bytes_per_s * 1e6;
    const double off_us = std::abs(own_us - to_us(costs.duration[work]));
    if (off_us > 1e-6 + 1e-9 * own_us) common.is_common = false;
  });
  return common;
}

/// Transfers and collectives of a rank that start before an earlier one has arrived.
std::uint64_t overlapping_sends(const Plan& plan, const Timeline& timeline) {
  std::vector<std::vector<TaskId>> sent(plan.ranks);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (!plan.is_link(work.resource)) continue;
    const Link& link = plan.link(work.resource);
    const bool leaves = is_rank(link.from) && (is_rank(link.to) || link.to == data_replicas);
    if (leaves) sent[index(link.from)].push_back(task);
  }
  std::uint64_t overlapping = 0;
  for (std::vector<TaskId>& tasks : sent) {
    std::stable_sort(tasks.begin(), tasks.end(),
                     [&](TaskId a, TaskId b) { return timeline.begin[a] < timeline.begin[b]; });
    Time arrived{};
    for (const TaskId task : tasks) {
      overlapping += timeline.begin[task] < arrived;
      arrived = std::max(arrived, timeline.end[task]);
    }
  }
  return overlapping;
}

std::uint64_t without_length(const ExecutionTrace& trace) {
  std::uint64_t count = 0;
  for (const RankTrace& rank : trace.ranks) {
    count += static_cast<std::uint64_t>(
        std::count_if(rank.nodes.begin(), rank.nodes.end(), [](const TraceNode& node) {
          return node.kind == TraceNodeKind::compute && node.amount == 0;
        }));
  }
  return count;
}

}  // namespace

std::string astra_network(const RunResult& result, std::uint64_t devices) {
  const CommonLink link = common_link(*result.plan, result.costs);
  constexpr double gib = 1024.0 * 1024 * 1024;
  return fmt::format(
      "topology: [ FullyConnected ]\n"
      "npus_count: [ {} ]\n"
      "bandwidth: [ {} ]  # GiB/s, though ASTRA-sim calls it GB/s\n"
      "latency: [ {} ]  # ns\n",
      devices, link.bandwidth_bytes_per_s / gib * (1 - 1e-13), to_us(link.latency) * 1e3);
}

/// A compute node has at least 500 operations for one byte, so the memory never limits it.
std::string astra_system() {
  return R"({
  "scheduling-policy": "LIFO",
  "endpoint-delay": 0,
  "active-chunks-per-dimension": 1,
  "preferred-dataset-splits": 1,
  "all-reduce-implementation": ["ring"],
  "all-gather-implementation": ["ring"],
  "reduce-scatter-implementation": ["ring"],
  "all-to-all-implementation": ["ring"],
  "collective-optimization": "baseline",
  "local-mem-bw": 1000,
  "boost-mode": 0,
  "roofline-enabled": 1,
  "peak-perf": 1
}
)";
}

std::vector<std::string> changed_by_astra(const RunResult& result, const ExecutionTrace& trace) {
  std::vector<std::string> all;
  const auto say_if = [&](bool holds, std::string what) {
    if (holds) all.push_back(std::move(what));
  };
  const std::uint64_t overlapping = overlapping_sends(*result.plan, result.timeline);
  say_if(overlapping > 0,
         fmt::format("{} before an earlier send of the same rank has arrived; ASTRA-sim sends one "
                     "at a time, sums included, so the step may take longer there; "
                     "/hardware/transfers/sends_in_flight=1 simulates that",
                     counted(overlapping, "send starts", "sends start")));
  const std::uint64_t empty = without_length(trace);
  say_if(empty > 0, fmt::format("{} no time here and a nanosecond in ASTRA-sim",
                                counted(empty, "action takes", "actions take")));
  say_if(!common_link(*result.plan, result.costs).is_common,
         "links differ in speed: the network has the bandwidth of the longest transfer for all");
  say_if(!result.conditions.network.links.empty(),
         "transfers share physical links here, and have their own in the network");
  say_if(trace.has_collectives(), "collectives take what rings over the links of the network take");
  return all;
}

}  // namespace penstock
