#pragma once

#include <functional>

#include "validate/calibration/fit.hpp"
#include "validate/calibration/gpu/device_fit.hpp"

namespace penstock {

// Shared by the fits of this room.

/// The interval of a fitted number from its draws, as `covering_interval` has it.
Interval fitted_interval(const std::vector<double>& draws, std::size_t points,
                         std::size_t constants);

/// The same from draws of a model's coefficients.
Interval fitted_interval(const std::vector<double>& draws, const TermModel& model);

/// A term of a model as a number: `factor` times its coefficient.
FittedNumber fitted_term(const TermModel& model, std::size_t term, std::string name,
                         std::string unit, double factor = 1);

/// The same of one over its coefficient: a rate. Zero where the coefficient is.
FittedNumber fitted_rate(const TermModel& model, std::size_t term, std::string name,
                         std::string unit, double factor = 1);

/// A probe beside its fit.
FittedPoint fitted_point(const DeviceProbe& probe, double fitted_ns, double work = 0);

/// A time by constants that are no coefficients of a sum.
using ProbeTime = std::function<double(const DeviceProbe& probe, const Constants& constants)>;

/// What constants are fitted to; probes of one block are drawn together.
struct FittedProbes {
  std::vector<DeviceProbe> probes;
  std::vector<std::uint32_t> blocks;  // from 0, without gaps
};
using ChooseProbes = std::function<FittedProbes(std::span<const DeviceProbe> measured)>;

/// Constants fitted to logarithms of times. Each draw is of blocks, and of the samples of each
/// probe, since a probe may also say what others are compared with. Both have the noise of samples:
/// intervals are wide.
struct ConstantsFit {
  Constants constants;
  std::vector<Constants> draws;
  Interval interval(std::size_t constant) const;
};
ConstantsFit fit_constants(std::span<const DeviceProbe> measured, const ChooseProbes& choose,
                           const std::vector<FitRange>& ranges, const ProbeTime& time,
                           const BootstrapPlan& plan);

}  // namespace penstock
