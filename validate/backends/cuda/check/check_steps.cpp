#include "validate/backends/cuda/check/check_steps.hpp"

#include <algorithm>
#include <array>

#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/cuda/measuring/gpu_trials.hpp"
#include "validate/backends/cuda/programs/gpu_pipeline.hpp"

namespace penstock {
namespace {

constexpr std::array steps{
    CheckStep{"device", "the device, its clock and what launches cost", check_device},
    CheckStep{"partitions", "whether ranks keep their SMs, however they are launched",
              check_partitions},
    CheckStep{"pipelines", "1F1B of waiting actions: 2, 4 and 8 ranks, each ordering",
              check_pipelines},
    CheckStep{"programs", "the orders of program files, each ordering", check_programs},
    CheckStep{"bodies", "actions of fixed FLOPs and of fixed bytes", check_bodies},
    CheckStep{"products", "actions of bf16 matrix products, and those alone over shapes and SMs",
              check_products},
    CheckStep{"layers", "layers against the host, and their passes alone over SMs", check_layers},
    CheckStep{"layer_bodies", "1F1B of layers: 2, 4 and 8 ranks", check_layer_bodies},
    CheckStep{"layer_programs", "the orders of program files, of transformer layers",
              check_layer_programs},
    CheckStep{"bounce", "transfers through pinned host memory", check_bounce},
    CheckStep{"codec", "block floating point: bits against the host, and its rate", check_codec},
    CheckStep{"scaling", "actions alone, over the number of SMs", check_scaling},
    CheckStep{"copies", "paced copies, over the number of SMs and sizes", check_copies},
    CheckStep{"interference", "actions beside those of other ranks", check_interference},
    CheckStep{"clocks", "the SM clock, idle and beside busy ranks", check_clocks},
};

std::vector<double> shares_of(const std::vector<double>& values, double whole) {
  std::vector<double> shares;
  for (const double value : values) shares.push_back(value / whole);
  return shares;
}

/// The longest path of a run's own lengths: what waiting rules alone give.
double structure_share(const GpuProgram& program, const GpuRun& run) {
  GpuProgram measured = program;
  for (std::size_t task = 0; task < program.tasks.size(); ++task) {
    GpuTask& own = measured.tasks[task];
    const std::uint64_t arrives = run.end_ns[task] - run.begin_ns[task];
    own.latency_ns = std::min(own.latency_ns, arrives);
    own.duration_ns = arrives - own.latency_ns;
  }
  return static_cast<double>(longest_path_ns(measured)) / static_cast<double>(makespan_ns(run)) - 1;
}

}  // namespace

std::span<const CheckStep> check_steps() { return steps; }

std::vector<std::uint32_t> rank_counts(const CheckRun& run) {
  return run.quick ? std::vector<std::uint32_t>{2} : std::vector<std::uint32_t>{4, 2, 8};
}

std::string name(GpuOrdering ordering) {
  constexpr std::array names{"host_issued", "host_graphs", "graph"};
  return names[static_cast<std::size_t>(ordering)];
}

std::string name(GpuLinkKind links) { return links == GpuLinkKind::paced ? "paced" : "host"; }

namespace {

void record_runs(const CheckRun& run, const GpuDevice& device, const NamedProgram& named,
                 const GpuRunSetup& setup) {
  const std::uint32_t turns = run.quick ? 2 : 20;
  const GpuProgram& program = named.program;
  const std::string bodies = name(program.body_of(program.tasks.front()).work);
  RecordedRuns recorded{named.name, name(setup.ordering), name(setup.links), bodies, {}};
  GpuExecutor executor(device, program, setup);
  executor.run();  // warms up
  std::vector<double> makespans;
  std::vector<double> structures;
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    recorded.runs.push_back(executor.run());
    makespans.push_back(static_cast<double>(makespan_ns(recorded.runs.back())));
    structures.push_back(structure_share(program, recorded.runs.back()));
  }
  const auto path = static_cast<double>(longest_path_ns(program));
  const GpuOverheads costs = measure_overheads(device, program, setup, run.quick ? 1 : 5);
  run.output.recording(recorded);
  run.output.facts(
      "pipeline",
      {{"program", json(named.name)},
       {"ordering", json(recorded.ordering)},
       {"links", json(recorded.links)},
       {"bodies", json(bodies)},
       {"algorithms", json(executor.actions().algorithms())},
       {"mode", json(std::string(device.mode()))},
       {"streams", json(std::uint64_t{device.lanes()} + 1)},
       {"longest_path_us", json(path / 1e3)},
       {"makespan_over_longest_path", json(shares_of(makespans, path))},
       {"median_over_longest_path", json(middle(makespans) / path)},
       {"structure_error", json(structures)},
       {"stamp_overhead", json(costs.stamps)},
       {"host_effect", costs.host_effect ? json(*costs.host_effect) : json(device.why_no_graph())},
       {"host_issue_us", json(static_cast<double>(recorded.runs.back().issue_ns) / 1e3)},
       {"sms_in_several_ranks",
        json(std::uint64_t{sms_in_several_ranks(executor.actions().sms_seen())})},
       {"wrong_transfers", json(std::uint64_t{wrong_transfers(device, program, setup).size()})}});
}

}  // namespace

void record_program(const CheckRun& run, const GpuDevice& device, const NamedProgram& named,
                    const GpuRunSetup& setup) {
  try {
    record_runs(run, device, named, setup);
  } catch (const GpuError& error) {
    run.output.facts("fault", {{"program", json(named.name)},
                               {"ordering", json(name(setup.ordering))},
                               {"links", json(name(setup.links))},
                               {"fault", json(std::string(error.what()))}});
  }
}

}  // namespace penstock
