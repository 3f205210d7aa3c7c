#include "validate/calibration/kernel_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "validate/calibration/layer_sampler.hpp"
#include "validate/probes/registry.hpp"
#include "validate/probes/timing/probe_timing.hpp"
#include "validate/statistics/bootstrap.hpp"
#include "validate/store/layer_point.hpp"

namespace penstock {
namespace {

std::optional<Sampler> sampler_of(const KernelPoint& point) {
  if (!point.pass.empty()) {
    // What runs around a pass is not known here.
    if (point.condition != solo_condition) return std::nullopt;
    const auto layer = layer_point(point);
    return layer ? layer_sampler(*layer) : std::nullopt;
  }
  const ProbeEntry* probe = find_named(probe_entries(), point.kernel);
  const auto sizes = shape_numbers(point.shape);
  if (probe == nullptr || !sizes) return std::nullopt;
  try {
    return probe->make(settled_numbers(probe->name, probe->sizes, *sizes));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Runs once untimed, so that what earlier kernels left in the caches does not affect the sample.
double warm_sample(const Sampler& sampler) {
  sampler();
  return sampler();
}

/// The number of samples that a sweep takes at the present rate, in whole rounds.
std::uint64_t expected_samples(std::uint64_t taken, double elapsed_s, std::uint32_t points,
                               const SweepLimits& limits) {
  const double in_time = static_cast<double>(taken) * limits.seconds / std::max(elapsed_s, 1e-9);
  const double rounds =
      std::clamp<double>(std::ceil(in_time / points), limits.least_rounds, limits.most_rounds);
  return std::max(taken, static_cast<std::uint64_t>(rounds) * points);
}

std::string text_of(const KernelPoint& point) {
  return fmt::format("{} {} {} {}", point.kernel, point.pass, point.shape, point.condition);
}

}  // namespace

std::optional<std::vector<double>> sample_kernel(const KernelPoint& point, std::uint32_t repeats) {
  const auto sampler = sampler_of(point);
  if (!sampler) return std::nullopt;
  std::vector<double> samples;
  for (std::uint32_t i = 0; i < repeats; ++i) samples.push_back(warm_sample(*sampler));
  return samples;
}

Sweep sweep(const std::vector<SweepPoint>& points, std::uint64_t seed, const SweepLimits& limits) {
  Sweep swept;
  std::vector<Sampler> samplers;
  for (const SweepPoint& point : points) {
    auto sampler = sampler_of(point.kernel);
    if (!sampler) throw std::logic_error("nothing runs " + text_of(point.kernel));
    samplers.push_back(std::move(*sampler));
    swept.points.push_back({point, {}});
  }
  const Sampler canary = *sampler_of({"canary", "", "", "solo"});
  const Sampler clock = *sampler_of({"clock", "", "", "solo"});
  const std::int64_t begin = steady_ns();
  const auto elapsed_s = [begin] { return 1e-9 * static_cast<double>(steady_ns() - begin); };
  std::uint64_t taken = 0;
  while (swept.rounds < limits.most_rounds &&
         (swept.rounds < limits.least_rounds || elapsed_s() < limits.seconds)) {
    const auto count = static_cast<std::uint32_t>(points.size());
    for (const std::uint32_t i : shuffled(seed, "sweep", swept.rounds, count)) {
      swept.points[i].samples_ns.push_back(warm_sample(samplers[i]));
      ++taken;
      if (limits.on_sample)
        limits.on_sample(taken, expected_samples(taken, elapsed_s(), count, limits));
    }
    swept.canary_ns.push_back(warm_sample(canary));
    swept.clock_ns.push_back(clock());
    ++swept.rounds;
  }
  for (SweptPoint& point : swept.points) {
    point.samples_ns.erase(point.samples_ns.begin(), point.samples_ns.begin() + swept.rounds / 4);
  }
  return swept;
}

}  // namespace penstock
