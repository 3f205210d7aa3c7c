#include <cstdio>

#include "validate/backends/cuda/check/check_steps.hpp"
#include "validate/backends/cuda/measuring/gpu_probes.hpp"
#include "validate/backends/cuda/measuring/gpu_trials.hpp"

namespace penstock {
namespace {

void print_sms(const std::vector<std::vector<std::uint32_t>>& seen) {
  std::printf("    \"sms_in_several_ranks\": %zu,\n    \"sms_by_rank\": [",
              static_cast<std::size_t>(sms_in_several_ranks(seen)));
  for (std::size_t rank = 0; rank < seen.size(); ++rank) {
    std::printf("%s\n      [", rank == 0 ? "" : ",");
    for (std::size_t i = 0; i < seen[rank].size(); ++i) {
      std::printf("%s%u", i == 0 ? "" : ", ", seen[rank][i]);
    }
    std::printf("]");
  }
  std::printf("\n    ]\n");
}

void print_ratios(const char* name, const std::vector<std::uint64_t>& makespans_ns,
                  std::uint64_t expected_ns) {
  std::printf("    \"%s\": [", name);
  for (std::size_t i = 0; i < makespans_ns.size(); ++i) {
    std::printf("%s%.6f", i == 0 ? "" : ", ",
                static_cast<double>(makespans_ns[i]) / static_cast<double>(expected_ns));
  }
  std::printf("],\n");
}

/// The formula is for 1F1B only; the longest path is that of the built program.
void print_ordering(const GpuDevice& device, const GpuPipeline& pipeline, GpuOrdering ordering) {
  const GpuProgram program = one_f_one_b(pipeline);
  GpuExecutor executor(device, program, {.ordering = ordering});
  executor.run();  // warms up
  constexpr int runs = 5;
  std::vector<std::uint64_t> makespans_ns;
  std::uint64_t issue_ns = 0;
  for (int i = 0; i < runs; ++i) {
    const GpuRun run = executor.run();
    issue_ns = run.issue_ns;
    makespans_ns.push_back(makespan_ns(run));
  }
  std::printf("  \"%s\": {\n", name(ordering).c_str());
  print_ratios("makespan_over_longest_path", makespans_ns, longest_path_ns(program));
  if (pipeline.transfer_ns == 0) {
    print_ratios("makespan_over_formula", makespans_ns, formula_ns(pipeline));
  }
  std::printf("    \"host_issue_us\": %.1f,\n", static_cast<double>(issue_ns) / 1e3);
  print_sms(executor.actions().sms_seen());
  std::printf("  }%s\n", ordering == GpuOrdering::graph ? "" : ",");
}

void print_device(const GpuDevice& device) {
  const GpuFacts& facts = device.facts();
  std::printf("  \"device\": \"%s\", \"cc\": \"%d.%d\", \"sms\": %u,\n", facts.name.data(),
              facts.compute_major, facts.compute_minor, facts.sms);
  std::printf("  \"cuda\": %d, \"cudart\": %d,\n", facts.driver, facts.runtime);
  std::printf("  \"streams\": %u, \"hardware_queues\": %u,\n", device.lanes() + 1, facts.queues);
  std::printf("  \"mode\": \"%s\", \"why_unpartitioned\": \"%s\",\n", device.mode().data(),
              device.shares().why_unpartitioned.c_str());
  std::printf("  \"sms_of_rank\": %u, \"sms_for_links\": %u,\n", device.sms_of_rank(0),
              device.shares().links.sms);
}

void print_costs(const GpuDevice& device) {
  const ClockStep step = clock_step(device);
  const LaunchCosts costs = launch_costs(device);
  std::printf("  \"clock_step_ns\": { \"least\": %llu, \"median\": %llu },\n",
              static_cast<unsigned long long>(step.least_ns),
              static_cast<unsigned long long>(step.median_ns));
  std::printf("  \"launch_ns\": { \"issue\": %.0f, \"round_trip\": %.0f, \"graph_node\": %.0f },\n",
              costs.issue_ns, costs.round_trip_ns, costs.graph_node_ns);
}

void print_times(const GpuPipeline& pipeline, const GpuProgram& program) {
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e3; };
  std::printf(
      "  \"ranks\": %u, \"microbatches\": %u, \"forward_us\": %.1f, \"transfer_us\": %.1f,\n",
      pipeline.ranks, pipeline.microbatches, us(pipeline.forward_ns), us(pipeline.transfer_ns));
  std::printf("  \"formula_with_free_transfers_us\": %.1f, \"longest_path_us\": %.1f,\n",
              us(formula_ns(pipeline)), us(longest_path_ns(program)));
}

}  // namespace

void print_pipeline(const GpuCalls& calls, const GpuPipeline& pipeline) {
  const GpuProgram program = one_f_one_b(pipeline);
  const GpuDevice device(calls, program.ranks, program.links);
  std::printf("{\n");
  print_device(device);
  print_costs(device);
  print_times(pipeline, program);
  print_ordering(device, pipeline, GpuOrdering::host_issued);
  print_ordering(device, pipeline, GpuOrdering::host_graphs);
  print_ordering(device, pipeline, GpuOrdering::graph);
  std::printf("}\n");
}

}  // namespace penstock
