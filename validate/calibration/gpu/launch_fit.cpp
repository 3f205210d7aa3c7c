#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "validate/calibration/gpu/device_fit.hpp"
#include "validate/calibration/gpu/fitting.hpp"

namespace penstock {
namespace {

/// Something that is done a number of times.
struct Repeated {
  const char* kernel;
  const char* size;  // how often
  const char* name;
  const char* start;
  const char* each;
};
constexpr std::array repeated{
    Repeated{"launch_issue", "launches", "launches by the host", "start", "host time of a launch"},
    Repeated{"launch_round_trip", "launches", "launches until their end",
             "latency of an idle stream", "each further launch"},
    Repeated{"graph", "nodes", "graph nodes", "launch of a graph until its end", "empty node"},
    Repeated{"stamp", "nodes", "stamps", "launch of a graph until its end", "stamp node"},
};

/// Every sample is a point: there are few sizes, so draws of whole rows would say little.
std::vector<TermPoint> sample_points(
    std::span<const DeviceProbe> probes,
    const std::function<std::vector<double>(const DeviceProbe& probe)>& terms) {
  constexpr std::size_t most_samples = 50;  // of a row
  std::vector<TermPoint> points;
  for (const DeviceProbe& probe : probes) {
    const std::size_t count = std::min(probe.samples_ns.size(), most_samples);
    for (std::size_t i = 0; i < count; ++i) {
      if (probe.samples_ns[i] <= 0) continue;
      points.push_back(
          {terms(probe), probe.samples_ns[i], 1, static_cast<std::uint32_t>(points.size())});
    }
  }
  return points;
}

DeviceFit fit_repeated(std::span<const DeviceProbe> all, const Repeated& what,
                       const BootstrapPlan& plan, TermModel& model) {
  DeviceFit result{.name = what.name, .form = fmt::format("t = start + each * {}", what.size)};
  const std::vector<DeviceProbe> probes = probes_of(all, what.kernel);
  if (const std::size_t sizes = different_sizes(probes, what.size); sizes < 2) {
    result.refusal = fmt::format(
        "needs 2 numbers of {}, got {}; penstock_gpu_check --all FOLDER --step device measures "
        "them",
        what.size, sizes);
    return result;
  }
  const auto terms = [&](const DeviceProbe& probe) {
    return std::vector<double>{1, probe.size(what.size)};
  };
  model = calibrate_terms({what.start, what.each}, sample_points(probes, terms), plan);
  result.numbers = {fitted_term(model, 0, what.start, "us", 1e-3),
                    fitted_term(model, 1, what.each, "us", 1e-3)};
  for (const DeviceProbe& probe : probes) {
    result.points.push_back(fitted_point(probe, model.at(terms(probe))));
  }
  return result;
}

/// What a stamp takes beyond an empty node.
FittedNumber stamp_cost(const TermModel& empty, const TermModel& stamp) {
  std::vector<double> draws;
  for (std::size_t i = 0; i < std::min(empty.draws.size(), stamp.draws.size()); ++i) {
    draws.push_back(1e-3 * (stamp.draws[i][1] - empty.draws[i][1]));
  }
  return {"stamp beyond an empty node", "us",
          1e-3 * (stamp.coefficients[1] - empty.coefficients[1]), fitted_interval(draws, stamp)};
}

std::vector<double> clock_terms(const DeviceProbe& probe) {
  const double cycles = probe.size("cycles");
  return {cycles, cycles * probe.beside.count};
}

std::size_t different_counts(std::span<const DeviceProbe> probes) {
  std::set<std::uint32_t> counts;
  for (const DeviceProbe& probe : probes) counts.insert(probe.beside.count);
  return counts.size();
}

/// How much longer a cycle takes beside one more busy rank.
FittedNumber clock_slope(const TermModel& model) {
  const auto slope = [](const std::vector<double>& terms) {
    return terms[0] > 0 ? 100 * terms[1] / terms[0] : 0;
  };
  std::vector<double> draws;
  for (const std::vector<double>& draw : model.draws) draws.push_back(slope(draw));
  return {"slower beside each busy rank", "%", slope(model.coefficients),
          fitted_interval(draws, model)};
}

/// The distance of different readings of the GPU's clock.
std::optional<FittedNumber> clock_step(std::span<const DeviceProbe> probes) {
  const std::vector<DeviceProbe> steps = probes_of(probes, "clock_step");
  if (steps.empty()) return std::nullopt;
  const DeviceProbe& step = steps.back();
  return FittedNumber{"step of the GPU clock", "ns", step.time_ns.median,
                      middle_share(step.samples_ns, 0.95)};
}

}  // namespace

std::vector<DeviceFit> fit_launches(std::span<const DeviceProbe> probes,
                                    const BootstrapPlan& plan) {
  std::vector<DeviceFit> all;
  std::array<TermModel, repeated.size()> models;
  for (std::size_t i = 0; i < repeated.size(); ++i) {
    all.push_back(fit_repeated(probes, repeated[i], plan, models[i]));
  }
  if (all[2].refusal.empty() && all[3].refusal.empty()) {
    all[3].numbers.push_back(stamp_cost(models[2], models[3]));
  }
  return all;
}

DeviceFit fit_clock(std::span<const DeviceProbe> all, const BootstrapPlan& plan) {
  DeviceFit result{.name = "SM clock", .form = "t of a cycle = (1 + slope * busy ranks) / clock"};
  std::vector<DeviceProbe> probes = probes_of(all, "clock", false);
  std::erase_if(probes, [](const DeviceProbe& probe) {
    return probe.kernel != "clock" || probe.size("cycles") <= 0 || probe.beside.in_part;
  });
  if (const std::size_t counts = different_counts(probes); counts < 2) {
    result.refusal = fmt::format(
        "needs cycles beside 2 numbers of busy ranks, got {}; penstock_gpu_check --all FOLDER "
        "--step clocks counts them",
        counts);
    return result;
  }
  const TermModel model =
      calibrate_terms({"cycle", "cycle beside"}, sample_points(probes, clock_terms), plan);
  result.numbers = {fitted_rate(model, 0, "clock without busy ranks", "MHz", 1e3),
                    clock_slope(model)};
  if (const auto step = clock_step(all)) result.numbers.push_back(*step);
  for (const DeviceProbe& probe : probes) {
    result.points.push_back(fitted_point(probe, model.at(clock_terms(probe))));
  }
  return result;
}

}  // namespace penstock
