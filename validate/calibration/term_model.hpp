#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/parameters.hpp"
#include "validate/statistics/bootstrap.hpp"

namespace penstock {

/// Use of a measured kernel or pipeline in a calibration: terms are fitted to training only.
enum class DataPart : std::uint8_t {
  training,       // of pipelines: 1F1B at sizes of a grid
  interpolation,  // at sizes inside
  extrapolation,  // larger ones; of pipelines also more ranks, more microbatches, longer actions
  transfer,       // of pipelines alone: other schedules at training sizes
};
std::string_view name(DataPart part);

/// A measured point: the value of each term, and the measurement.
struct TermPoint {
  std::vector<double> terms;
  double measured = 0;      // above 0
  double weight = 1;        // less for a noisy point
  std::uint32_t block = 0;  // its configuration; blocks are numbered from 0 without gaps
};

/// A time as a sum of terms with coefficients of at least zero.
struct TermModel {
  std::vector<std::string> names;
  std::vector<double> coefficients;        // 0 for a dropped term
  std::vector<Interval> intervals;         // 95 % of the draws
  std::vector<std::vector<double>> draws;  // coefficients by draw
  std::vector<std::string> dropped;        // in the order they were dropped
  double condition = 1;                    // of the remaining terms
  std::size_t blocks = 0;                  // that were drawn

  double at(const std::vector<double>& terms) const;
  /// With the coefficients of a draw.
  double at(const std::vector<double>& terms, std::size_t draw) const;
};

/// The coefficients, none negative, with the least relative errors. Outliers count only in
/// proportion (Huber, 12 rounds at 1.345 times the spread estimated from the median error).
std::vector<double> fit_terms(std::span<const TermPoint> points);

/// The coefficients of one term, by draw.
std::vector<double> values_of(const std::vector<std::vector<double>>& draws, std::size_t term);

/// Fits the terms, and again for each draw of a bootstrap over blocks. While the interval of a term
/// reaches 0, the term most often at 0 is dropped and the rest fitted again; the last term stays.
TermModel calibrate_terms(std::vector<std::string> names, std::span<const TermPoint> points,
                          const BootstrapPlan& plan);

/// The largest deviation of a point with full weight.
constexpr double steady_deviation = 0.1;
/// The weight of a point with this spread.
double weight_of(const SampleSpread& spread);

/// Names of the terms of a kernel's time. The first is a start, the second the work; these two
/// alone are the simplest form.
std::vector<std::string> term_names(std::string_view kernel, std::string_view pass);

/// The value of each term at some sizes. For a pass of a layer: FLOPs of its matrix products, bytes
/// of these, and bytes of everything else, in doubles.
std::vector<double> terms_at(std::string_view kernel, std::string_view pass,
                             const NamedNumbers& sizes);

}  // namespace penstock
