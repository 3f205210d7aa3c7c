#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "validate/calibration/gpu/device_fit.hpp"
#include "validate/calibration/gpu/fitting.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t most_fitted_neighbours = 2;
constexpr std::size_t least_pairs = 4;
constexpr double shows = 1.05;  // a slow-down that is no noise

/// A measurement beside neighbours, with what each of both does alone.
struct Pair {
  DeviceProbe probe;      // its sizes are those of `pair_ns`
  std::uint32_t block{};  // pairs of the same actions on the same SMs
  bool is_held_out = false;
};

/// Each action alone, by kernel and SMs.
using Alone = std::map<std::pair<std::string, double>, const DeviceProbe*>;

Alone alone_on_sms(std::span<const DeviceProbe> probes) {
  Alone alone;
  for (const DeviceProbe& probe : probes) {
    if (probe.beside.count == 0) alone[{probe.kernel, probe.size("sms")}] = &probe;
  }
  return alone;
}

/// Bytes per nanosecond that an action asks of memory.
double demand_of(const DeviceProbe& alone) { return alone.size("bytes") / alone.time_ns.median; }

/// Whether it keeps the arithmetic units busy, which lowers the clock.
bool computes(const DeviceProbe& probe) {
  return probe.size("multiply_adds") > 0 || probe.size("products") > 0;
}

const DeviceProbe* same_alone(std::span<const DeviceProbe> probes, const DeviceProbe& probe) {
  for (const DeviceProbe& other : probes) {
    const bool same = other.kernel == probe.kernel && other.shape == probe.shape;
    if (same && other.beside.count == 0) return &other;
  }
  return nullptr;
}

/// Nothing where one of both was not measured alone.
std::optional<Pair> pair_of(const DeviceProbe& probe, std::span<const DeviceProbe> probes,
                            const Alone& alone) {
  const DeviceProbe* const own = same_alone(probes, probe);
  const auto other = alone.find({probe.beside.kernel, probe.size("sms")});
  if (own == nullptr || other == alone.end()) return std::nullopt;
  const double count = probe.beside.count;
  Pair pair{.probe = probe, .is_held_out = probe.beside.count > most_fitted_neighbours};
  pair.probe.sizes = {{"alone_ns", own->time_ns.median},
                      {"demand", demand_of(*own) + count * demand_of(*other->second)},
                      {"own_demand", demand_of(*own)},
                      {"busy", computes(*other->second) ? count : 0}};
  return pair;
}

/// By bandwidth and slope of the clock. The share of an action in the bandwidth is its demand over
/// that of all, so its bytes take `alone` times demand of all over bandwidth.
double pair_ns(const DeviceProbe& pair, const Constants& constants) {
  const double clock = 1 + constants[1] * pair.size("busy");
  const double memory = pair.size("own_demand") > 0 ? pair.size("demand") / constants[0] : 0;
  return pair.size("alone_ns") * std::max(clock, memory);
}

struct Pairs {
  std::vector<Pair> all;
  std::size_t in_part = 0;
  std::size_t without_alone = 0;
};

Pairs pairs_of(std::span<const DeviceProbe> probes) {
  Pairs pairs;
  const Alone alone = alone_on_sms(probes);
  std::map<std::tuple<std::string, std::string, double>, std::uint32_t> blocks;
  for (const DeviceProbe& probe : probes) {
    if (probe.beside.count == 0 || probe.kernel == "clock") continue;
    if (probe.beside.in_part) {
      ++pairs.in_part;
    } else if (auto pair = pair_of(probe, probes, alone)) {
      const auto block = static_cast<std::uint32_t>(blocks.size());
      const bool fitted = !pair->is_held_out;
      if (fitted) {
        const std::tuple key{probe.kernel, probe.beside.kernel, probe.size("sms")};
        pair->block = blocks.try_emplace(key, block).first->second;
      }
      pairs.all.push_back(*std::move(pair));
    } else {
      ++pairs.without_alone;
    }
  }
  return pairs;
}

FittedProbes fitted_pairs(const Pairs& pairs) {
  FittedProbes fitted;
  for (const Pair& pair : pairs.all) {
    if (pair.is_held_out) continue;
    fitted.probes.push_back(pair.probe);
    fitted.blocks.push_back(pair.block);
  }
  return fitted;
}

double slow_down(const DeviceProbe& pair) { return pair.time_ns.median / pair.size("alone_ns"); }

/// Where the demand of all is more than memory gives, what it gives.
FitRange bandwidth_range(std::span<const DeviceProbe> pairs, double& at_least) {
  std::vector<double> given;
  for (const DeviceProbe& pair : pairs) {
    if (pair.size("own_demand") <= 0) continue;
    const double reached = pair.size("demand") / slow_down(pair);
    at_least = std::max(at_least, reached);
    if (slow_down(pair) > shows && pair.size("busy") == 0) given.push_back(reached);
  }
  if (given.empty()) return {1e12, 1e12, 1e12};
  const double middle = median(given);
  return {middle, middle / 4, middle * 4};
}

FitRange slope_range(std::span<const DeviceProbe> pairs) {
  const bool any = std::any_of(pairs.begin(), pairs.end(),
                               [](const DeviceProbe& pair) { return pair.size("busy") > 0; });
  return any ? FitRange{0.01, 1e-6, 1} : FitRange{1e-9, 1e-9, 1e-9};
}

std::string unmodelled_note(const DeviceFit& result) {
  const FittedPoint* worst = nullptr;
  std::size_t count = 0;
  for (const FittedPoint& point : result.points) {
    if (std::abs(point.error()) <= most_unmodelled) continue;
    ++count;
    if (worst == nullptr || std::abs(point.error()) > std::abs(worst->error())) worst = &point;
  }
  if (worst == nullptr) {
    return fmt::format("no pair is off by more than {:.0f} %", 100 * most_unmodelled);
  }
  return fmt::format(
      "L2 interference, unmodelled: {} of {} pairs are off by more than {:.0f} %, most {} ({}), "
      "{}: measured {:+.1f} % of the model",
      count, result.points.size(), 100 * most_unmodelled, worst->kernel, worst->shape,
      worst->condition, 100 * (worst->measured_ns / worst->fitted_ns - 1));
}

void add_numbers(const ConstantsFit& fitted, const FitRange& bandwidth, const FitRange& slope,
                 double at_least, DeviceFit& result) {
  if (bandwidth.least < bandwidth.most) {
    result.numbers.push_back({"memory bandwidth", "GB/s", fitted.constants[0], fitted.interval(0)});
  } else {
    result.notes.push_back(fmt::format(
        "memory bandwidth: unknown, no pair asked for more than there is; at least {:.4g} GB/s",
        at_least));
  }
  if (slope.least < slope.most) {
    const Interval interval = fitted.interval(1);
    result.numbers.push_back({"slower beside each busy rank",
                              "%",
                              100 * fitted.constants[1],
                              {100 * interval.low, 100 * interval.high}});
  } else {
    result.notes.emplace_back("clock: unknown, no neighbour kept arithmetic units busy");
  }
}

void add_left_out(const Pairs& pairs, DeviceFit& result) {
  if (pairs.in_part > 0) {
    result.notes.push_back(fmt::format(
        "{} pairs left out: neighbours did not run during the whole measurement", pairs.in_part));
  }
  if (pairs.without_alone > 0) {
    result.notes.push_back(
        fmt::format("{} pairs left out: one of both was not measured alone on as many SMs",
                    pairs.without_alone));
  }
}

}  // namespace

DeviceFit fit_interference(std::span<const DeviceProbe> probes, const BootstrapPlan& plan) {
  DeviceFit result{.name = "interference",
                   .form = "t = t alone * max(1 + slope * busy ranks, demand of all / bandwidth)"};
  const Pairs pairs = pairs_of(probes);
  const std::vector<DeviceProbe> fitted = fitted_pairs(pairs).probes;
  add_left_out(pairs, result);
  if (fitted.size() < least_pairs) {
    result.refusal = fmt::format(
        "needs {} pairs with at most {} neighbours, got {}; penstock_gpu_check --all FOLDER --step "
        "interference measures them",
        least_pairs, most_fitted_neighbours, fitted.size());
    return result;
  }
  double at_least = 0;
  const FitRange bandwidth = bandwidth_range(fitted, at_least);
  const FitRange slope = slope_range(fitted);
  const auto choose = [](std::span<const DeviceProbe> measured) {
    return fitted_pairs(pairs_of(measured));
  };
  const ConstantsFit constants = fit_constants(probes, choose, {bandwidth, slope}, pair_ns, plan);
  add_numbers(constants, bandwidth, slope, at_least, result);
  for (const Pair& pair : pairs.all) {
    result.points.push_back(fitted_point(pair.probe, pair_ns(pair.probe, constants.constants)));
    result.points.back().is_held_out = pair.is_held_out;
  }
  result.notes.push_back(unmodelled_note(result));
  return result;
}

}  // namespace penstock
