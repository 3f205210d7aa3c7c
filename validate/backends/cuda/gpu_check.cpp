// Shows on one GPU whether SMs can be given to ranks, what launching costs, and how close a 1F1B
// comes to what it should take, issued by the host and as one graph; prints JSON. Needs nvcc alone:
// from the root of the tree,
//
//   d=validate/backends/cuda; nvcc -std=c++20 -O2 -arch=sm_90 -I. $d/gpu_*.cpp $d/*.cu -o gpu_check
//
// and then ./gpu_check. nvcc links the CUDA runtime statically. Arguments: ranks, microbatches,
// microseconds of F (B takes twice that) and of a transfer; 4 8 2000 50 where they are left out;
// with 0 for a transfer, the makespan is held against the formula of 1F1B too, which knows of none.
// Without a GPU it says so, exit 4; where the GPU fails, exit 1.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "validate/backends/cuda/gpu_executor.hpp"
#include "validate/backends/cuda/gpu_pipeline.hpp"
#include "validate/backends/cuda/gpu_probes.hpp"

namespace penstock {
namespace {

std::uint64_t makespan_ns(const GpuRun& run) {
  return *std::max_element(run.end_ns.begin(), run.end_ns.end()) -
         *std::min_element(run.begin_ns.begin(), run.begin_ns.end());
}

/// SM ids that ran actions of several ranks.
std::size_t shared_sms(const std::vector<std::vector<std::uint32_t>>& seen) {
  std::multiset<std::uint32_t> all;
  std::set<std::uint32_t> shared;
  for (const auto& ids : seen) all.insert(ids.begin(), ids.end());
  for (const std::uint32_t id : all) {
    if (all.count(id) > 1) shared.insert(id);
  }
  return shared.size();
}

void print_sms(const std::vector<std::vector<std::uint32_t>>& seen) {
  std::printf("    \"sms_in_several_ranks\": %zu,\n    \"sms_by_rank\": [", shared_sms(seen));
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
void check_ordering(const GpuDevice& device, const GpuPipeline& pipeline, GpuOrdering ordering) {
  const GpuProgram program = one_f_one_b(pipeline);
  GpuExecutor executor(device, program, ordering);
  executor.run();  // warms up
  constexpr int runs = 5;
  std::vector<std::uint64_t> makespans_ns;
  std::uint64_t issue_ns = 0;
  for (int i = 0; i < runs; ++i) {
    const GpuRun run = executor.run();
    issue_ns = run.issue_ns;
    makespans_ns.push_back(makespan_ns(run));
  }
  std::printf("  \"%s\": {\n", ordering == GpuOrdering::graph ? "graph" : "host_issued");
  print_ratios("makespan_over_longest_path", makespans_ns, longest_path_ns(program));
  if (pipeline.transfer_ns == 0) {
    print_ratios("makespan_over_formula", makespans_ns, formula_ns(pipeline));
  }
  std::printf("    \"host_issue_us\": %.1f,\n", static_cast<double>(issue_ns) / 1e3);
  print_sms(executor.sms_seen());
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
  std::printf("  \"sms_of_rank\": %u, \"sms_for_links\": %u,\n", device.sms_of_rank(),
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

void print_pipeline(const GpuPipeline& pipeline, const GpuProgram& program) {
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e3; };
  std::printf(
      "  \"ranks\": %u, \"microbatches\": %u, \"forward_us\": %.1f, \"transfer_us\": %.1f,\n",
      pipeline.ranks, pipeline.microbatches, us(pipeline.forward_ns), us(pipeline.transfer_ns));
  std::printf("  \"formula_with_free_transfers_us\": %.1f, \"longest_path_us\": %.1f,\n",
              us(formula_ns(pipeline)), us(longest_path_ns(program)));
}

void check_gpu(const GpuPipeline& pipeline) {
  const GpuProgram program = one_f_one_b(pipeline);
  const GpuDevice device(*cuda_calls(), program.ranks, program.links);
  std::printf("{\n");
  print_device(device);
  print_costs(device);
  print_pipeline(pipeline, program);
  check_ordering(device, pipeline, GpuOrdering::host_issued);
  check_ordering(device, pipeline, GpuOrdering::graph);
  std::printf("}\n");
}

/// Sets a number from a text if it is a whole number in the range.
bool read_number(const char* text, std::uint32_t least, std::uint32_t most, std::uint32_t& number) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < long{least} || value > long{most}) return false;
  number = static_cast<std::uint32_t>(value);
  return true;
}

bool read_arguments(int argc, char** argv, GpuPipeline& pipeline) {
  constexpr std::uint32_t most_us = 100'000;
  std::uint32_t forward_us = 2000;
  std::uint32_t transfer_us = 50;
  if (argc > 5 || (argc > 1 && !read_number(argv[1], 1, 64, pipeline.ranks)) ||
      (argc > 2 && !read_number(argv[2], 1, 1000, pipeline.microbatches)) ||
      (argc > 3 && !read_number(argv[3], 1, most_us, forward_us)) ||
      (argc > 4 && !read_number(argv[4], 0, most_us, transfer_us))) {
    return false;
  }
  pipeline.forward_ns = std::uint64_t{1000} * forward_us;
  pipeline.transfer_ns = std::uint64_t{1000} * transfer_us;
  return true;
}

int run_check(int argc, char** argv) {
  constexpr int wrong_usage = 2;
  constexpr int machine_cannot = 4;
  GpuPipeline pipeline;
  if (!read_arguments(argc, argv, pipeline)) {
    std::fprintf(stderr, "penstock_gpu_check [RANKS [MICROBATCHES [F_US [TRANSFER_US]]]]\n");
    return wrong_usage;
  }
  if (const auto reason = why_no_gpu(*cuda_calls())) {
    std::fprintf(stderr, "penstock_gpu_check: %s\n", reason->c_str());
    return machine_cannot;
  }
  check_gpu(pipeline);
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  try {
    return penstock::run_check(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock_gpu_check: %s\n", error.what());
    return 1;
  }
}
