#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace penstock {

/// Where a constant is looked for. All three are above zero.
struct FitRange {
  double start = 1;
  double least = 1;
  double most = 1;
};

/// A value for each constant.
using Constants = std::vector<double>;

/// How far off the prediction for each measured row is, as the logarithm of predicted over
/// measured, for each of several choices of the constants; so that whoever predicts may work on
/// all of them at once. Every choice has the same rows.
using Misfits =
    std::function<std::vector<std::vector<double>>(const std::vector<Constants>& choices)>;

/// Constants that were found.
struct Fit {
  Constants constants;
  double misfit = 0;        // root of the mean square over the rows
  std::uint32_t steps = 0;  // that it took
};

/// Finds the constants for which the misfits are least in squares, those far beyond most of them
/// counted only in proportion (Huber, at 1.345 times what the median says of their spread). Goes
/// downhill from the start: where several valleys lead down, it takes the one it stands in.
/// Without constants or rows it returns the start.
Fit fit(const std::vector<FitRange>& ranges, const Misfits& misfits);

}  // namespace penstock
