#include <fstream>

#include "validate/backends/cuda/check/check_steps.hpp"
#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/cuda/measuring/gpu_probes.hpp"
#include "validate/backends/cuda/measuring/gpu_trials.hpp"
#include "validate/backends/cuda/programs/gpu_pipeline.hpp"

namespace penstock {
namespace {

std::string first_line_of(const char* file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// The name of the first processor, by Linux.
std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    const bool is_name = line.rfind("model name", 0) == 0;
    if (is_name && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

/// What launches, empty nodes of graphs and stamps take, by their number.
void probe_launches(const CheckRun& run, const GpuDevice& device) {
  const std::uint32_t turns = run.quick ? 5 : 20;
  for (const std::uint32_t count : {1U, 10U, 100U}) {
    const std::string shape = "launches=" + std::to_string(count);
    run.output.times({"launch_issue", "", shape, "solo", issue_samples_ns(device, count, turns)});
    run.output.times(
        {"launch_round_trip", "", shape, "solo", round_trip_samples_ns(device, count, turns)});
  }
  for (const std::uint32_t nodes : {1U, 10U, 100U, 1000U}) {
    const std::string shape = "nodes=" + std::to_string(nodes);
    run.output.times({"graph", "", shape, "solo", graph_samples_ns(device, nodes, turns)});
    run.output.times({"stamp", "", shape, "solo", stamp_samples_ns(device, nodes, turns)});
  }
}

std::vector<std::uint64_t> sms_of(const GpuDevice& device, std::uint32_t ranks) {
  std::vector<std::uint64_t> sms;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) sms.push_back(device.sms_of_rank(rank));
  return sms;
}

GpuProgram short_pipeline(std::uint32_t ranks) {
  return one_f_one_b(
      {.ranks = ranks, .microbatches = 2 * ranks, .forward_ns = 200'000, .transfer_ns = 20'000});
}

/// The SMs that ranks used with an ordering, or what failed there: whether it ran.
bool add_sms_used(const GpuDevice& device, const GpuProgram& program, GpuOrdering ordering,
                  Facts& facts) {
  try {
    GpuExecutor executor(device, program, {.ordering = ordering});
    executor.run();
    const auto seen = executor.actions().sms_seen();
    std::vector<std::uint64_t> used;
    for (const auto& ids : seen) used.push_back(ids.size());
    facts.push_back({name(ordering) + "_sms_used", json(used)});
    facts.push_back({name(ordering) + "_sms_in_several_ranks",
                     json(std::uint64_t{sms_in_several_ranks(seen)})});
    return true;
  } catch (const GpuError& error) {
    facts.push_back({name(ordering) + "_fault", json(std::string(error.what()))});
    return false;
  }
}

/// The SMs of ranks, and those that ran actions of several, with each ordering.
void check_partition(const CheckRun& run, const std::vector<double>& work) {
  const auto ranks = static_cast<std::uint32_t>(work.size());
  const GpuProgram program = short_pipeline(ranks);
  const GpuDevice device(run.calls, ranks, program.links, work);
  Facts facts{{"work", json(work)},
              {"mode", json(std::string(device.mode()))},
              {"why_unpartitioned", json(device.shares().why_unpartitioned)},
              {"why_no_graph", json(device.why_no_graph())},
              {"sms_of_ranks", json(sms_of(device, ranks))},
              {"sms_for_links", json(std::uint64_t{device.shares().links.sms})}};
  bool all_ran = true;
  for (const GpuOrdering ordering :
       {GpuOrdering::host_issued, GpuOrdering::host_graphs, GpuOrdering::graph}) {
    all_ran = add_sms_used(device, program, ordering, facts) && all_ran;
  }
  run.output.facts("partition", facts, !all_ran);
}

/// Whether a graph captured on a stream of one rank keeps that rank's SMs when it is launched on a
/// stream of another: the SMs that its kernel ran on.
void check_foreign_launch(const CheckRun& run) {
  const GpuDevice device(run.calls, 2, 0);
  const auto seen = make_memory(run.calls, most_sm_ids);
  const GpuProgram program{2, 0, {{.lane = 0, .duration_ns = 100'000}}, {}};
  const GpuTaskTable table(device, program, {}, false);
  const GpuActionKernel kernel{.task = table.of_task(0),
                               .work = GpuWork::spin,
                               .blocks = device.sms_of_rank(0),
                               .threads = 32,
                               .amount = 0,
                               .memory = nullptr,
                               .words = 0,
                               .sms_seen = static_cast<unsigned char*>(seen.get())};
  const auto graph = captured(run.calls, device.lane(0), [&] {
    check(run.calls, run.calls.launch_action(device.lane(0), kernel), "capturing a kernel");
  });
  const auto executable = instantiate(run.calls, graph.get());
  Facts facts;
  for (const std::uint32_t lane : {0U, 1U}) {
    check(run.calls, run.calls.fill(seen.get(), 0, most_sm_ids, device.lane(lane)), "clearing");
    check(run.calls, run.calls.launch_graph(executable.get(), device.lane(lane)),
          "launching the graph of rank 0 on the stream of rank", lane);
    device.wait_for(device.lane(lane), "running the graph of rank 0");
    std::vector<unsigned char> ids(most_sm_ids);
    check(run.calls, run.calls.read(ids.data(), seen.get(), ids.size()), "reading what SMs ran");
    std::vector<std::uint64_t> used;
    for (std::uint32_t id = 0; id < most_sm_ids; ++id) {
      if (ids[id] != 0) used.push_back(id);
    }
    facts.push_back({"sms_on_stream_of_rank_" + std::to_string(lane), json(used)});
  }
  run.output.facts("graph of rank 0", facts);
}

}  // namespace

void check_device(const CheckRun& run) {
  const GpuDevice device(run.calls, 1, 1);
  const GpuFacts& facts = device.facts();
  SmGroup all;
  if (run.calls.all_sms != nullptr) {
    check(run.calls, run.calls.all_sms(&all), "asking for the SMs");
  }
  const ClockStep step = clock_step(device);
  const LaunchCosts costs = launch_costs(device);
  run.output.facts("device", {{"device", json(facts.name.data())},
                              {"cc", json(std::to_string(facts.compute_major) + "." +
                                          std::to_string(facts.compute_minor))},
                              {"sms", json(std::uint64_t{facts.sms})},
                              {"smallest_partition", json(std::uint64_t{all.least})},
                              {"partition_alignment", json(std::uint64_t{all.alignment})},
                              {"threads_per_sm", json(std::uint64_t{facts.threads_per_sm})},
                              {"hardware_queues", json(std::uint64_t{facts.queues})},
                              {"cuda", json(static_cast<std::uint64_t>(facts.driver))},
                              {"cudart", json(static_cast<std::uint64_t>(facts.runtime))},
                              {"driver", json(first_line_of("/proc/driver/nvidia/version"))},
                              {"system", json(first_line_of("/proc/version"))},
                              {"cpu", json(processor())},
                              {"mode", json(std::string(device.mode()))},
                              {"why_unpartitioned", json(device.shares().why_unpartitioned)},
                              {"clock_step_least_ns", json(step.least_ns)},
                              {"clock_step_median_ns", json(step.median_ns)},
                              {"launch_issue_ns", json(costs.issue_ns)},
                              {"launch_round_trip_ns", json(costs.round_trip_ns)},
                              {"graph_node_ns", json(costs.graph_node_ns)}});
  probe_launches(run, device);
  run.output.times({"clock_step", "", "readings=1000", "solo", clock_steps_ns(device)});
}

void check_partitions(const CheckRun& run) {
  for (const std::uint32_t ranks : {2U, 4U, 8U, 16U}) {
    check_partition(run, std::vector<double>(ranks, 1));
  }
  check_partition(run, {1, 2, 5});
  check_partition(run, {1, 1, 2, 4});
  check_foreign_launch(run);
}

}  // namespace penstock
