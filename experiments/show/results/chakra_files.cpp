#include "experiments/show/results/chakra_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/chakra.hpp"
#include "experiments/input/formats/traces/execution_trace.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"

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
    std::ranges::stable_sort(
        tasks, [&](TaskId a, TaskId b) { return timeline.begin[a] < timeline.begin[b]; });
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
    count +=
        static_cast<std::uint64_t>(std::ranges::count_if(rank.nodes, [](const TraceNode& node) {
          return node.kind == TraceNodeKind::compute && node.amount == 0;
        }));
  }
  return count;
}

/// The network of ASTRA-sim's analytical backend for a run, as YAML: a link each way between any
/// two of the devices, all with the bandwidth and latency of the run's transfers.
///
/// ASTRA-sim reads GB/s as 2^30 bytes a second and cuts times off at nanoseconds: bandwidths are
/// converted, and a 10^13th lower, so that whole nanoseconds stay whole.
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

/// Its system configuration, as JSON: compute nodes take a nanosecond per 1,000 of their `num_ops`,
/// collectives go round rings.
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

/// Where the rules of ASTRA-sim change the times of a run, one sentence each; empty if they do not.
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

void check_number_of_files(const ExecutionTrace& trace) {
  const std::uint64_t files = std::uint64_t{trace.replicas} * trace.ranks.size();
  if (files <= most_chakra_files) return;
  throw UsageError(fmt::format(
      "--chakra: {} ranks in {} data replicas need {} files, more than {}; use fewer data "
      "replicas",
      trace.ranks.size(), trace.replicas, files, most_chakra_files));
}

/// Whether chance makes any transfer differ from the cost of its class.
bool chance_moves_transfers(const Plan& plan, const Costs& costs) {
  if (costs.task_duration.empty() && costs.task_latency.empty()) return false;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t work = plan.work[task];
    if (!plan.is_link(plan.classes[work].resource)) continue;
    if (costs.duration_of(plan, task) != costs.duration[work] ||
        costs.latency_of(plan, task) != costs.latency[work]) {
      return true;
    }
  }
  return false;
}

/// Whether any stage that reduces gradients satisfies `test`.
template <class Test>
bool any_summed(const RunResult& result, Test test) {
  const Plan& plan = *result.plan;
  return std::ranges::any_of(plan.classes, [&](const WorkClass& work) {
    return reduces_gradient(work.pass) &&
           test(result.demand.stages[plan.model_stage[index(work.stage)]]);
  });
}

bool summed_in_groups(const RunResult& result) {
  return any_summed(result, [](const StageDemand& stage) {
    const auto& parts = stage.parameters;
    return std::ranges::any_of(parts, [](const SharedParameters& part) { return part.copies > 1; });
  });
}

/// Whether some of the data replicas hold experts once together, and others again.
bool summed_among_some(const RunResult& result) {
  return any_summed(result, [&](const StageDemand& stage) {
    return std::ranges::any_of(stage.parameters, [&](const SharedParameters& part) {
      return part.spread > 1 && part.spread < result.training.data;
    });
  });
}

bool summed_along_pipeline(const RunResult& result) {
  return any_summed(result, [](const StageDemand& stage) { return stage.ranks.size() > 1; });
}

/// What the traces lack and what ASTRA-sim changes, one sentence each; empty if they are complete.
std::vector<std::string> not_in_traces(const RunResult& result, const ExecutionTrace& trace) {
  const Conditions& conditions = result.conditions;
  std::vector<std::string> all;
  const auto say_if = [&](bool holds, std::string what) {
    if (holds) all.push_back(std::move(what));
  };
  const auto idle = static_cast<std::uint64_t>(
      std::ranges::count_if(trace.ranks, [](const RankTrace& rank) { return rank.nodes.empty(); }));
  say_if(idle > 0, fmt::format("{} nothing: a trace without nodes, which ASTRA-sim refuses",
                               counted(idle, "rank does", "ranks do")));
  say_if(trace.empty_messages > 0,
         fmt::format("{} no bytes: sent as one byte, for none cannot be sent",
                     counted(trace.empty_messages, "transfer has", "transfers have")));
  say_if(
      trace.questions > 0,
      fmt::format("{} another rank for what it keeps or has summed: a message of one byte, which "
                  "the plan does not have",
                  counted(trace.questions, "action asks", "actions ask")));
  say_if(trace.memory_moves > 0,
         fmt::format("{} to or from the memory of a host: memory nodes, for which ASTRA-sim needs "
                     "a remote memory",
                     counted(trace.memory_moves, "move of an activation", "moves of activations")));
  say_if(result.costs.has_launches(), "what the host takes to launch actions is left out");
  say_if(conditions.stall_above_bytes.has_value(), "waiting for memory is left out");
  say_if(conditions.compute_slowdown != 1 || conditions.transfer_slowdown != 1,
         "how actions and transfers slow each other down is left out");
  say_if(conditions.blocking_sends || conditions.rendezvous || conditions.sends_in_flight > 1 ||
             conditions.receives_in_flight > 0,
         "sends hold nothing up: blocking sends, rendezvous and limits in flight are left out");
  say_if(chance_moves_transfers(*result.plan, result.costs),
         "what chance and slow links make of transfers is left out");
  say_if(trace.lone_sums > 0,
         fmt::format(
             "{} left out: without data replicas they are among the devices of one rank",
             counted(trace.lone_sums, "collective of the tail is", "collectives of the tail are")));
  say_if(result.training.data > 1 && summed_in_groups(result),
         "sums over the devices of one rank, which is one device of the traces, are left out");
  say_if(summed_among_some(result),
         "experts are summed over all data replicas, also over those that hold different ones");
  say_if(result.training.shard_groups > 1,
         "groups of replicas that shard on their own are one: sums and gathers are over all");
  say_if(result.training.data > 1 && summed_along_pipeline(result),
         "sums over copies of a stage on several ranks go over the data replicas of each alone");
  say_if(result.training.data == 1 && summed_along_pipeline(result),
         "what copies of a stage on several ranks sum is one message from each to the next, with "
         "one latency");
  const bool in_passes =
      result.training.zero == 3 || (result.training.zero == 2 && !result.training.overlaps_sums &&
                                    !result.training.whole_gradients);
  say_if(in_passes, fmt::format("what ZeRO-{} gathers and sums in passes is a part of their "
                                "durations",
                                result.training.zero));
  say_if(result.replica.has_value(), "data replicas differ; all are written as the one shown");
  const std::vector<std::string> changed = changed_by_astra(result, trace);
  all.insert(all.end(), changed.begin(), changed.end());
  return all;
}

}  // namespace

std::string chakra_path(std::string_view prefix, std::uint64_t device) {
  return fmt::format("{}.{}.et", prefix, device);
}

std::string chakra_groups_path(std::string_view prefix) {
  return fmt::format("{}.groups.json", prefix);
}

std::string astra_network_path(std::string_view prefix) {
  return fmt::format("{}.network.yml", prefix);
}

std::string astra_system_path(std::string_view prefix) {
  return fmt::format("{}.system.json", prefix);
}

bool is_chakra_path(std::string_view prefix, std::string_view path) {
  if (path == chakra_groups_path(prefix) || path == astra_network_path(prefix) ||
      path == astra_system_path(prefix)) {
    return true;
  }
  constexpr std::string_view end = ".et";
  if (path.size() <= prefix.size() + 1 + end.size() || !path.starts_with(prefix) ||
      path[prefix.size()] != '.' || !path.ends_with(end)) {
    return false;
  }
  path.remove_prefix(prefix.size() + 1);
  path.remove_suffix(end.size());
  return path.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<std::string> write_chakra_files(const std::string& prefix, const RunResult& result,
                                            OutputSet& outputs, const OnProgress& on_progress) {
  if (has_exchanges(*result.plan)) {
    throw UsageError(
        "--chakra: exchanges within a rank are no messages between ranks; leave out "
        "/schedule/exchanges and exchange_us");
  }
  const ExecutionTrace trace = execution_trace(*result.plan, result.costs, result.demand);
  check_number_of_files(trace);
  const std::uint64_t devices = std::uint64_t{trace.replicas} * trace.ranks.size();
  std::uint64_t files = 0;
  const auto add = [&](const std::string& path, const std::string& content,
                       Existing replaced = Existing::own) {
    outputs.write(path, content, replaced);
    if (on_progress) on_progress("files", ++files, devices);
  };
  for (std::uint32_t replica = 0; replica < trace.replicas; ++replica) {
    for (Rank rank : Numbers<Rank>(result.plan->ranks)) {
      add(chakra_path(prefix, trace_device(trace, replica, rank)),
          chakra_trace(*result.plan, trace, replica, rank));
    }
  }
  // ASTRA-sim's own formats have no place for a mark: they are those of the traces beside them.
  const Existing beside = is_own_file(chakra_path(prefix, 0)) ? Existing::any : Existing::own;
  if (trace.has_collectives()) add(chakra_groups_path(prefix), chakra_groups(trace), beside);
  add(astra_network_path(prefix), astra_network(result, devices), beside);
  add(astra_system_path(prefix), astra_system(), beside);
  return not_in_traces(result, trace);
}

}  // namespace penstock
