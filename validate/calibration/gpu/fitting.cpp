#include "validate/calibration/gpu/fitting.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/random.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

constexpr double fit_interval_share = 0.95;

/// The same probes with samples drawn from theirs, with replacement.
std::vector<DeviceProbe> redrawn(std::span<const DeviceProbe> probes, std::uint64_t seed,
                                 std::uint32_t draw) {
  std::vector<DeviceProbe> all(probes.begin(), probes.end());
  std::uint32_t place = 0;
  for (DeviceProbe& probe : all) {
    const std::vector<double>& samples = probe.samples_ns;
    const auto count = static_cast<std::uint32_t>(samples.size());
    std::vector<double> chosen;
    for (std::uint32_t i = 0; i < count; ++i) {
      chosen.push_back(samples[drawn_number(seed, "samples", draw, place++, count)]);
    }
    probe.time_ns.median = median(std::move(chosen));
  }
  return all;
}

/// Each probe counts as often as its block was drawn, and less if it is noisy.
Constants fitted_constants(const FittedProbes& fitted, const std::vector<std::uint32_t>& times,
                           const std::vector<FitRange>& ranges, const ProbeTime& time) {
  const auto misfits_of = [&](const Constants& choice) {
    std::vector<double> misfits;
    for (std::size_t i = 0; i < fitted.probes.size(); ++i) {
      const DeviceProbe& probe = fitted.probes[i];
      const double misfit = portable_log(time(probe, choice) / probe.time_ns.median);
      misfits.insert(misfits.end(), times[fitted.blocks[i]],
                     std::sqrt(weight_of(probe.time_ns)) * misfit);
    }
    return misfits;
  };
  return fit(ranges,
             [&](const std::vector<Constants>& choices) {
               std::vector<std::vector<double>> all;
               for (const Constants& choice : choices) all.push_back(misfits_of(choice));
               return all;
             })
      .constants;
}

}  // namespace

Interval fitted_interval(const std::vector<double>& draws, std::size_t points,
                         std::size_t constants) {
  return covering_interval(draws, fit_interval_share, points, constants);
}

Interval fitted_interval(const std::vector<double>& draws, const TermModel& model) {
  return fitted_interval(draws, model.blocks, model.names.size() - model.dropped.size());
}

FittedNumber fitted_term(const TermModel& model, std::size_t term, std::string name,
                         std::string unit, double factor) {
  const Interval interval = fitted_interval(values_of(model.draws, term), model);
  return {std::move(name),
          std::move(unit),
          factor * model.coefficients[term],
          {factor * interval.low, factor * interval.high}};
}

FittedNumber fitted_rate(const TermModel& model, std::size_t term, std::string name,
                         std::string unit, double factor) {
  const auto rate = [&](double coefficient) { return coefficient > 0 ? factor / coefficient : 0; };
  std::vector<double> rates;
  for (const double draw : values_of(model.draws, term)) rates.push_back(rate(draw));
  return {std::move(name), std::move(unit), rate(model.coefficients[term]),
          fitted_interval(rates, model)};
}

FittedPoint fitted_point(const DeviceProbe& probe, double fitted_ns, double work) {
  return {.kernel = probe.kernel,
          .shape = probe.shape,
          .condition = probe.condition,
          .measured_ns = probe.time_ns.median,
          .fitted_ns = fitted_ns,
          .rate = work / probe.time_ns.median};
}

Interval ConstantsFit::interval(std::size_t constant) const {
  return middle_share(values_of(draws, constant), fit_interval_share);
}

ConstantsFit fit_constants(std::span<const DeviceProbe> measured, const ChooseProbes& choose,
                           const std::vector<FitRange>& ranges, const ProbeTime& time,
                           const BootstrapPlan& plan) {
  const FittedProbes all = choose(measured);
  std::uint32_t blocks = 0;
  for (const std::uint32_t block : all.blocks) blocks = std::max(blocks, block + 1);
  const std::vector<std::uint32_t> once(blocks, 1);
  ConstantsFit result{fitted_constants(all, once, ranges, time), {}};
  for (std::uint32_t draw = 0; draw < plan.draws; ++draw) {
    const FittedProbes drawn = choose(redrawn(measured, plan.seed, draw));
    result.draws.push_back(
        fitted_constants(drawn, drawn_blocks(plan.seed, draw, blocks), ranges, time));
  }
  return result;
}

}  // namespace penstock
