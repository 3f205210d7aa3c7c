#include "validate/backends/cuda/measuring/gpu_probes.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/cuda/running/gpu_task_table.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t tries = 20;

using Nanoseconds = std::chrono::duration<double, std::nano>;

double least(const std::vector<double>& samples) {
  return *std::min_element(samples.begin(), samples.end());
}

void launch_nothings(const GpuDevice& device, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    check(device.calls(), device.calls().launch_nothing(device.conductor()), "launching nothing");
  }
}

void synchronize(const GpuDevice& device) {
  device.wait_for(device.conductor(), "waiting for a stream");
}

/// How long the host is busy with `work` on the conductor, which then ends; the first turn warms
/// up.
template <class Work>
std::vector<double> samples_of(const GpuDevice& device, std::uint32_t turns, const Work& work) {
  std::vector<double> samples;
  for (std::uint32_t turn = 0; turn <= turns; ++turn) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const Nanoseconds took = std::chrono::steady_clock::now() - begin;
    synchronize(device);
    if (turn > 0) samples.push_back(took.count());
  }
  return samples;
}

/// From the launch of a graph until the host sees its end.
template <class Body>
std::vector<double> samples_of_graph(const GpuDevice& device, std::uint32_t turns,
                                     const Body& body) {
  const GpuCalls& calls = device.calls();
  const auto graph = captured(calls, device.conductor(), body);
  const auto executable = instantiate(calls, graph.get());
  check(calls, calls.upload(executable.get(), device.conductor()), "uploading a graph");
  return samples_of(device, turns, [&] {
    check(calls, calls.launch_graph(executable.get(), device.conductor()), "launching a graph");
    synchronize(device);
  });
}

}  // namespace

std::vector<double> clock_steps_ns(const GpuDevice& device) {
  const GpuCalls& calls = device.calls();
  constexpr std::uint32_t count = 1000;
  const auto memory = make_memory(calls, count * sizeof(std::uint64_t));
  auto* const readings = static_cast<std::uint64_t*>(memory.get());
  check(calls, calls.launch_clock_reader(device.conductor(), readings, count), "reading a clock");
  synchronize(device);
  std::vector<std::uint64_t> all(count);
  check(calls, calls.read(all.data(), readings, count * sizeof(std::uint64_t)), "reading a clock");
  std::vector<double> steps;
  for (std::uint32_t i = 1; i < count; ++i) {
    steps.push_back(static_cast<double>(all[i] - all[i - 1]));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

ClockStep clock_step(const GpuDevice& device) {
  const std::vector<double> steps = clock_steps_ns(device);
  return {static_cast<std::uint64_t>(steps.front()),
          static_cast<std::uint64_t>(steps[steps.size() / 2])};
}

std::vector<double> graph_samples_ns(const GpuDevice& device, std::uint32_t nodes,
                                     std::uint32_t turns) {
  return samples_of_graph(device, turns, [&] { launch_nothings(device, nodes); });
}

std::vector<double> stamp_samples_ns(const GpuDevice& device, std::uint32_t nodes,
                                     std::uint32_t turns) {
  const GpuTaskTable table(device, {1, 0, {{.lane = 0}}, {}}, {}, true);
  return samples_of_graph(device, turns, [&] {
    for (std::uint32_t node = 0; node < nodes; ++node) {
      check(device.calls(), device.calls().launch_begin(device.conductor(), table.of_task(0)),
            "launching a stamp");
    }
  });
}

std::vector<double> issue_samples_ns(const GpuDevice& device, std::uint32_t launches,
                                     std::uint32_t turns) {
  return samples_of(device, turns, [&] { launch_nothings(device, launches); });
}

std::vector<double> round_trip_samples_ns(const GpuDevice& device, std::uint32_t launches,
                                          std::uint32_t turns) {
  return samples_of(device, turns, [&] {
    launch_nothings(device, launches);
    synchronize(device);
  });
}

LaunchCosts launch_costs(const GpuDevice& device) {
  constexpr std::uint32_t few = 10;
  constexpr std::uint32_t many = 1010;
  constexpr std::uint32_t launches = 100;  // far fewer than a stream holds
  LaunchCosts costs;
  costs.issue_ns = least(issue_samples_ns(device, launches, tries)) / launches;
  costs.round_trip_ns = least(round_trip_samples_ns(device, 1, tries));
  costs.graph_node_ns =
      (least(graph_samples_ns(device, many, tries)) - least(graph_samples_ns(device, few, tries))) /
      (many - few);
  return costs;
}

}  // namespace penstock
