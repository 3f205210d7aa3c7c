#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace penstock {

/// Start and bounds of a constant, all above zero.
struct FitRange {
  double start = 1;
  double least = 1;
  double most = 1;
};

/// A value for each constant.
using Constants = std::vector<double>;

/// For each of several choices of the constants, log(predicted / measured) of every row. All
/// choices come in one call, so that they can be predicted in parallel; each has the same rows.
using Misfits =
    std::function<std::vector<std::vector<double>>(const std::vector<Constants>& choices)>;

/// Fitted constants.
struct Fit {
  Constants constants;
  double misfit = 0;        // root mean square over the rows
  std::uint32_t steps = 0;  // steps of the search
};

/// Minimises the squared misfits. Outliers count only in proportion (Huber, at 1.345 times the
/// spread estimated from the median). Searches downhill from the start, so it may end in a local
/// minimum. Without constants or rows it returns the start.
Fit fit(const std::vector<FitRange>& ranges, const Misfits& misfits);

}  // namespace penstock
