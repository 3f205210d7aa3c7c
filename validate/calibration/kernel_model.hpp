#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/calibration/curves.hpp"
#include "validate/calibration/kernel_sweep.hpp"
#include "validate/calibration/term_model.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {

/// The duration of a kernel at any shape: a sum of terms. For copies, if closer, pieces of latency
/// and bandwidth or a monotone curve.
struct KernelModel {
  std::string kernel;
  std::string pass;  // of a layer
  TermModel terms;
  LinkPieces pieces;                   // of copies
  std::optional<MonotoneCurve> curve;  // of copies that no pieces fit well

  /// "terms", "pieces" or "curve".
  std::string_view form() const { return curve ? "curve" : pieces.empty() ? "terms" : "pieces"; }
  /// Nanoseconds.
  double at(const NamedNumbers& sizes) const;
};

/// A point of a sweep with its prediction.
struct KernelPrediction {
  SweepPoint point;
  SampleSpread measured;  // nanoseconds
  double predicted_ns = 0;
  Interval interval_ns;  // 90 % of the draws
  double error() const { return predicted_ns / measured.median - 1; }
};

/// A model, with its errors on training and held-out points.
struct KernelCalibration {
  KernelModel model;
  std::vector<KernelPrediction> points;
  ErrorSummary simple;  // of held-out points, with only a start and one rate
};

/// A calibration for each kernel, and for each pass of a kind of layer, in order of first
/// occurrence. Only training points are used to fit a model or choose its form.
std::vector<KernelCalibration> calibrate_kernels(const Sweep& swept, const BootstrapPlan& plan);

/// The errors of the points of one part.
ErrorSummary errors_of(const std::vector<KernelPrediction>& points, DataPart part);

/// The model of a kernel; nullptr if there is none.
const KernelModel* model_of(const std::vector<KernelCalibration>& all, std::string_view kernel,
                            std::string_view pass = {});

}  // namespace penstock
