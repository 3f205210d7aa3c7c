#include "validate/backends/cuda/running/gpu_probes.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "validate/backends/cuda/gpu_error.hpp"
#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t tries = 20;

/// The minimum of several tries, in nanoseconds.
template <class Work>
double least_ns(const Work& work) {
  double least = 0;
  for (std::uint32_t i = 0; i <= tries; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    if (i == 1 || (i > 1 && took.count() < least)) least = took.count();  // the first warms up
  }
  return least;
}

void launch_nothings(const GpuDevice& device, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    check(device.calls(), device.calls().launch_nothing(device.conductor()), "launching nothing");
  }
}

void synchronize(const GpuDevice& device) {
  check(device.calls(), device.calls().synchronize(device.conductor()), "waiting for a stream");
}

double issue_ns(const GpuDevice& device) {
  constexpr std::uint32_t launches = 100;  // far fewer than a stream holds
  double least = 0;
  for (std::uint32_t i = 0; i < tries; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    launch_nothings(device, launches);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    synchronize(device);
    if (i == 0 || took.count() < least) least = took.count();
  }
  return least / launches;
}

double least_graph_ns(const GpuDevice& device, std::uint32_t nodes) {
  const std::vector<double> samples = graph_samples_ns(device, nodes, tries);
  return *std::min_element(samples.begin(), samples.end());
}

}  // namespace

ClockStep clock_step(const GpuDevice& device) {
  const GpuCalls& calls = device.calls();
  constexpr std::uint32_t count = 1000;
  const auto memory = make_memory(calls, count * sizeof(std::uint64_t));
  auto* const readings = static_cast<std::uint64_t*>(memory.get());
  check(calls, calls.launch_clock_reader(device.conductor(), readings, count), "reading a clock");
  synchronize(device);
  std::vector<std::uint64_t> all(count);
  check(calls, calls.read(all.data(), readings, count * sizeof(std::uint64_t)), "reading a clock");
  std::vector<std::uint64_t> steps;
  for (std::uint32_t i = 1; i < count; ++i) steps.push_back(all[i] - all[i - 1]);
  std::sort(steps.begin(), steps.end());
  return {steps.front(), steps[steps.size() / 2]};
}

std::vector<double> graph_samples_ns(const GpuDevice& device, std::uint32_t nodes,
                                     std::uint32_t turns) {
  const GpuCalls& calls = device.calls();
  const auto graph = captured(calls, device.conductor(), [&] { launch_nothings(device, nodes); });
  const auto executable = instantiate(calls, graph.get());
  check(calls, calls.upload(executable.get(), device.conductor()), "uploading a graph");
  std::vector<double> samples;
  for (std::uint32_t turn = 0; turn <= turns; ++turn) {
    const auto begin = std::chrono::steady_clock::now();
    check(calls, calls.launch_graph(executable.get(), device.conductor()), "launching a graph");
    synchronize(device);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    if (turn > 0) samples.push_back(took.count());
  }
  return samples;
}

LaunchCosts launch_costs(const GpuDevice& device) {
  constexpr std::uint32_t few = 10;
  constexpr std::uint32_t many = 1010;
  LaunchCosts costs;
  costs.issue_ns = issue_ns(device);
  costs.round_trip_ns = least_ns([&] {
    launch_nothings(device, 1);
    synchronize(device);
  });
  costs.graph_node_ns = (least_graph_ns(device, many) - least_graph_ns(device, few)) / (many - few);
  return costs;
}

}  // namespace penstock
