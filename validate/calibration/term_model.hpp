#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "validate/statistics/bootstrap.hpp"

namespace penstock {

/// A measured point: what each term of a sum is there, and what was measured.
struct TermPoint {
  std::vector<double> terms;
  double measured = 0;      // above 0
  double weight = 1;        // less for a noisy one
  std::uint32_t block = 0;  // its configuration; blocks are counted from 0 without gaps
};

/// A time as a sum of terms, each times a coefficient that is at least zero.
struct TermModel {
  std::vector<std::string> names;
  std::vector<double> coefficients;        // 0 of a term that was dropped
  std::vector<Interval> intervals;         // that hold 95 % of the draws
  std::vector<std::vector<double>> draws;  // coefficients by draw
  std::vector<std::string> dropped;        // in the order they went
  double condition = 1;                    // of the terms that are left

  double at(const std::vector<double>& terms) const;
  /// The same with the coefficients of a draw.
  double at(const std::vector<double>& terms, std::size_t draw) const;
};

/// The coefficients, none below zero, with which the sums come closest to what was measured, as
/// shares of it; points far beyond most of them count in proportion only (Huber, 12 rounds at 1.345
/// times the spread that the median of the misses says).
std::vector<double> fit_terms(std::span<const TermPoint> points);

/// Fits the terms, and again for each draw of a bootstrap over blocks. As long as the interval of a
/// term reaches down to 0, the one that was at 0 most often is dropped and the rest is fitted
/// again; the last one stays.
TermModel calibrate_terms(std::vector<std::string> names, std::span<const TermPoint> points,
                          const BootstrapPlan& plan);

/// Repeats of one measurement.
struct SampleSpread {
  double median = 0;
  double deviation = 0;  // the median distance from it, as a share of it (MAD / median)
};
SampleSpread spread_of(const std::vector<double>& samples);

/// The most that a point may deviate and count in full.
constexpr double steady_deviation = 0.1;
/// What a point counts whose repeats deviate so much.
double weight_of(const SampleSpread& spread);

}  // namespace penstock
