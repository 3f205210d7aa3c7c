/// Partitioners on made-up chains, profiles and graphs of the sizes that planners are compared by.
/// Times are those of one thread.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "schedules/partitioners/chain/bottleneck.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/named.hpp"
#include "sim/base/random.hpp"

namespace penstock {
namespace {

/// A number between 0 and 1 by its own number.
double drawn(std::uint32_t number, std::uint32_t what) {
  const auto bits = philox({number, what, 0, 0}, {1, 0});
  return uniform(std::uint64_t{bits[0]} << 32 | bits[1]);
}

std::uint32_t add_layer(CutProblem& problem) {
  const std::uint32_t i = problem.size();
  problem.layers.push_back({.forward_s = drawn(i, 0) * 1e-3,
                            .backward_s = drawn(i, 1) * 2e-3,
                            .output_bytes = drawn(i, 2) * 3e7,
                            .parameter_bytes = drawn(i, 3) * 1e6,
                            .stash_bytes = drawn(i, 2) * 3e7});
  return i;
}

std::uint32_t add_behind(CutProblem& problem, std::uint32_t input) {
  const std::uint32_t layer = add_layer(problem);
  problem.edges.emplace_back(input, layer);
  return layer;
}

/// Blocks of nine layers with a way around them, as in a residual network; each eighth one has two
/// layers on that way. 33 blocks have 427 ideals, 17 have 233.
CutProblem residual(std::uint32_t blocks) {
  CutProblem problem;
  std::uint32_t last = add_layer(problem);
  for (int i = 0; i < 3; ++i) last = add_behind(problem, last);
  for (std::uint32_t b = 0; b < blocks; ++b) {
    std::uint32_t around = last;
    for (int i = 0; i < 8; ++i) last = add_behind(problem, last);
    for (int i = 0; i < 2 && b % 8 == 0; ++i) around = add_behind(problem, around);
    last = add_behind(problem, last);
    problem.edges.emplace_back(around, last);
    last = add_behind(problem, last);
  }
  return problem;
}

/// Chains side by side between a first and a last layer: three of 25 have 17,578 ideals.
CutProblem side_by_side(std::uint32_t chains, std::uint32_t layers) {
  CutProblem problem;
  const std::uint32_t first = add_layer(problem);
  std::vector<std::uint32_t> ends;
  for (std::uint32_t c = 0; c < chains; ++c) {
    std::uint32_t last = first;
    for (std::uint32_t i = 0; i < layers; ++i) last = add_behind(problem, last);
    ends.push_back(last);
  }
  const std::uint32_t last = add_layer(problem);
  for (const std::uint32_t end : ends) problem.edges.emplace_back(end, last);
  return problem;
}

void set_devices(std::uint32_t devices, double bandwidth, CutProblem& problem) {
  problem.devices = problem.ranks = problem.stages = devices;
  problem.transfers = CutTransfers::overlap;
  problem.bandwidth_bytes_per_s = bandwidth;
}

void cut_repeatedly(benchmark::State& state, const char* name, const CutProblem& problem) {
  const PartitionerEntry& entry = *find_named(partitioner_entries(), name);
  double value = 0;
  for (auto _ : state) value = entry.cut(problem).value;
  state.counters["value_s"] = value;
  state.counters["layers"] = problem.size();
}

void compute_chain(benchmark::State& state) {
  std::vector<double> prefix{0};
  for (std::uint32_t i = 0; i < state.range(0); ++i) {
    prefix.push_back(prefix.back() + drawn(i, 4));
  }
  double value = 0;
  for (auto _ : state) value = least_bottleneck(prefix, std::uint32_t(state.range(1))).value;
  state.counters["value_s"] = value;
}

template <CutTransfers transfers>
void balanced_profile(benchmark::State& state) {
  CutProblem problem = residual(33);
  set_devices(std::uint32_t(state.range(0)), 1.25e9, problem);
  problem.transfers = transfers;
  problem.exactly = false;
  cut_repeatedly(state, "balanced", problem);
}

void memory_profile(benchmark::State& state) {
  CutProblem problem = residual(33);
  set_devices(std::uint32_t(state.range(0)), 1.25e9, problem);
  problem.transfers = CutTransfers::none;
  problem.microbatches = 16;
  const double least = find_named(partitioner_entries(), "memory")->cut(problem).value;
  problem.memory_bytes = 1.1 * least;
  cut_repeatedly(state, "memory", problem);
}

void replicas_of_residual(benchmark::State& state) {
  CutProblem problem = residual(33);
  set_devices(16, double(state.range(0)), problem);
  cut_repeatedly(state, "pipedream", problem);
}

void servers_of_residual(benchmark::State& state) {
  CutProblem problem = residual(std::uint32_t(state.range(0)));
  set_devices(16, 1e10, problem);
  problem.settings.servers = 4;
  problem.settings.server_bandwidth_bytes_per_s = 1e9;
  cut_repeatedly(state, "pipedream", problem);
}

void ideals_of_graph(benchmark::State& state) {
  CutProblem problem = side_by_side(3, 25);
  set_devices(4, double(state.range(0)), problem);
  cut_repeatedly(state, "ideals", problem);
}

void simulated_profile(benchmark::State& state) {
  CutProblem problem = residual(std::uint32_t(state.range(0)));
  set_devices(4, 1.25e9, problem);
  problem.microbatches = std::uint32_t(state.range(1));
  cut_repeatedly(state, "simulated", problem);
}

BENCHMARK(compute_chain)->Args({1000, 64})->Args({1'000'000, 1024})->Unit(benchmark::kMicrosecond);
BENCHMARK(balanced_profile<CutTransfers::none>)->Arg(2)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(balanced_profile<CutTransfers::overlap>)->Arg(2)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(balanced_profile<CutTransfers::serial>)->Arg(2)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(memory_profile)->Arg(2)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(replicas_of_residual)
    ->Arg(100'000'000)
    ->Arg(1'000'000'000)
    ->Arg(10'000'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(servers_of_residual)->Arg(17)->Arg(33)->Unit(benchmark::kMillisecond);
BENCHMARK(ideals_of_graph)
    ->Arg(100'000'000)
    ->Arg(1'000'000'000)
    ->Arg(10'000'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(simulated_profile)->Args({16, 4})->Args({16, 16})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock
