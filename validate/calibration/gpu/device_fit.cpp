#include "validate/calibration/gpu/device_fit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "sim/base/portable_math.hpp"
#include "validate/calibration/gpu/device_fits.hpp"

namespace penstock {
namespace {

constexpr double fit_interval_share = 0.95;

std::vector<double> draws_of(const TermModel& model, std::size_t term) {
  std::vector<double> values;
  for (const std::vector<double>& draw : model.draws) values.push_back(draw[term]);
  return values;
}

void add(std::vector<DeviceFit>& all, std::vector<DeviceFit> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

}  // namespace

ErrorSummary errors_of(const DeviceFit& fit, bool held_out) {
  std::vector<double> errors;
  for (const FittedPoint& point : fit.points) {
    if (point.is_held_out == held_out) errors.push_back(point.error());
  }
  return summarize_errors(errors);
}

const FittedNumber* number_of(const DeviceFit& fit, std::string_view name) {
  const auto found = std::find_if(fit.numbers.begin(), fit.numbers.end(),
                                  [&](const FittedNumber& one) { return one.name == name; });
  return found == fit.numbers.end() ? nullptr : &*found;
}

std::vector<DeviceFit> fit_device(std::span<const DeviceProbe> probes, const BootstrapPlan& plan) {
  std::vector<DeviceFit> all;
  for (const char* kernel : {"flops", "bytes"}) all.push_back(fit_scaling(probes, kernel, plan));
  all.push_back(fit_products(probes, plan));
  add(all, fit_transfers(probes, plan));
  add(all, fit_launches(probes, plan));
  all.push_back(fit_clock(probes, plan));
  all.push_back(fit_interference(probes, plan));
  return all;
}

FittedNumber fitted_term(const TermModel& model, std::size_t term, std::string name,
                         std::string unit, double factor) {
  const Interval interval = model.intervals[term];
  return {std::move(name),
          std::move(unit),
          factor * model.coefficients[term],
          {factor * interval.low, factor * interval.high}};
}

FittedNumber fitted_rate(const TermModel& model, std::size_t term, std::string name,
                         std::string unit, double factor) {
  const auto rate = [&](double coefficient) { return coefficient > 0 ? factor / coefficient : 0; };
  std::vector<double> rates;
  for (const double draw : draws_of(model, term)) rates.push_back(rate(draw));
  return {std::move(name), std::move(unit), rate(model.coefficients[term]),
          middle_share(rates, fit_interval_share)};
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
  std::vector<double> values;
  for (const Constants& draw : draws) values.push_back(draw[constant]);
  return middle_share(values, fit_interval_share);
}

ConstantsFit fit_constants(std::span<const DeviceProbe> probes,
                           const std::vector<std::uint32_t>& blocks,
                           const std::vector<FitRange>& ranges, const ProbeTime& time,
                           const BootstrapPlan& plan) {
  std::uint32_t most_block = 0;
  for (const std::uint32_t block : blocks) most_block = std::max(most_block, block + 1);
  const auto fitted = [&](const std::vector<std::uint32_t>& times) {
    return fit(ranges, [&](const std::vector<Constants>& choices) {
             std::vector<std::vector<double>> all;
             for (const Constants& choice : choices) {
               std::vector<double>& misfits = all.emplace_back();
               for (std::size_t i = 0; i < probes.size(); ++i) {
                 const double log = portable_log(time(probes[i], choice) / probes[i].time_ns.median);
                 const double weight = std::sqrt(weight_of(probes[i].time_ns));
                 misfits.insert(misfits.end(), times[blocks[i]], weight * log);
               }
             }
             return all;
           })
        .constants;
  };
  ConstantsFit result{fitted(std::vector<std::uint32_t>(most_block, 1)), {}};
  for (std::uint32_t draw = 0; draw < plan.draws; ++draw) {
    result.draws.push_back(fitted(drawn_blocks(plan.seed, draw, most_block)));
  }
  return result;
}

}  // namespace penstock
