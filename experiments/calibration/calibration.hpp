#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "validate/backends/registry.hpp"
#include "validate/calibration/kernel_model.hpp"
#include "validate/calibration/pipeline_calibration.hpp"
#include "validate/statistics/bootstrap.hpp"

namespace penstock {

/// How a calibration is to be made.
struct CalibrationRequest {
  double budget_s = 20;
  std::vector<KernelPoint> layers = {};  // to measure beside
  BootstrapPlan bootstrap;
};

/// A pipeline that was left out, and why.
struct LeftOut {
  std::string name;
  std::string why;
};

/// What kernels of this machine take, what actions of a run take beyond that, and how far
/// predictions from these are off.
struct Calibration {
  std::string backend;
  CalibrationRequest request;
  std::map<std::string, std::string> environment;
  std::uint64_t kernel_split = 0;  // hashes of who was trained on and who was not
  std::uint64_t pipeline_split = 0;

  Sweep swept;
  std::vector<SweptPoint> layers;  // that were asked for
  std::vector<KernelCalibration> kernels;
  PipelineCalibration pipelines;
  std::vector<LeftOut> left_out;
  SampleSpread canary;               // of a fixed piece of work, all through the sweep
  SampleSpread clock;                // of the readings of a clock around an action, nanoseconds
  double retest = 0;                 // how far runs are from themselves: the median
  std::optional<std::string> noise;  // why nothing can be said of the errors
};

/// Measures kernels, then pipelines on a backend, and fits. Throws std::runtime_error where the
/// backend runs none of the pipelines here.
Calibration calibrate(const BackendEntry& backend, const CalibrationRequest& request);

/// The document of `calibrate --json`.
nlohmann::ordered_json calibration_json(const Calibration& calibration);

/// The report for a terminal.
std::string calibration_text(const Calibration& calibration);

}  // namespace penstock
