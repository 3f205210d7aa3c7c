#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/calibration/kernel_sweep.hpp"
#include "validate/calibration/link_pieces.hpp"
#include "validate/calibration/monotone_curve.hpp"
#include "validate/calibration/term_model.hpp"
#include "validate/statistics/error_summary.hpp"

namespace penstock {

/// What a kernel takes at any of its shapes: a sum of terms; of copies, where that is closer,
/// pieces of latency and bandwidth or a monotone curve.
struct KernelModel {
  std::string kernel;
  std::string pass;  // of a layer
  TermModel terms;
  LinkPieces pieces;                   // of copies
  std::optional<MonotoneCurve> curve;  // of copies that no pieces are close to

  /// "terms", "pieces" or "curve".
  std::string_view form() const { return curve ? "curve" : pieces.empty() ? "terms" : "pieces"; }
  /// Nanoseconds.
  double at(const NamedNumbers& sizes) const;
  /// By the terms that were fitted in a draw.
  double at(const NamedNumbers& sizes, std::size_t draw) const;
};

/// A point of a sweep as a model sees it.
struct KernelPrediction {
  SweepPoint point;
  SampleSpread measured;  // nanoseconds
  double predicted_ns = 0;
  Interval interval_ns;  // nine in ten of the draws
  double error() const { return predicted_ns / measured.median - 1; }
};

/// A model, and what becomes of the points it was fitted to and of those it was not.
struct KernelCalibration {
  KernelModel model;
  std::vector<KernelPrediction> points;
  ErrorSummary simple;  // of the points it was not fitted to, with a start and one rate alone
};

/// A calibration for each kernel, and each pass of a kind of layer, of a sweep, in the order in
/// which they first come. Only the points of the training part are looked at to fit a model or to
/// choose its form.
std::vector<KernelCalibration> calibrate_kernels(const Sweep& swept, const BootstrapPlan& plan);

/// The errors of the points of one part.
ErrorSummary errors_of(const std::vector<KernelPrediction>& points, Part part);

/// The model of a kernel; nullptr where there is none.
const KernelModel* model_of(const std::vector<KernelCalibration>& all, std::string_view kernel,
                            std::string_view pass = {});

}  // namespace penstock
