#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validate/calibration/in_situ.hpp"
#include "validate/job/run_errors.hpp"
#include "validate/statistics/error_summary.hpp"

namespace penstock {

/// A pipeline as it was measured and as a calibrated simulation has it. Times are makespans.
struct PipelinePrediction {
  std::string name;
  std::string family;
  std::string setting;
  std::string schedule;
  PipelinePart part = PipelinePart::training;
  std::uint32_t iterations = 0;
  RunErrors errors;      // of the simulation with calibrated lengths; `profile` is its error
  Interval interval_us;  // nine in ten of the draws
  Time formula{};        // (m - 1) times the busiest rank's microbatch, and one of every rank
  Time plain{};          // simulated with what actions take alone, on free links
  double error() const { return to_us(errors.simulated) / to_us(errors.measured) - 1; }
};

/// In what order the schedules of one setting come.
struct SettingRanking {
  std::string setting;
  std::uint32_t schedules = 0;
  std::optional<double> correlation;  // Kendall's tau, predicted against measured
  std::string predicted_best;
  std::string measured_best;
  double regret = 0;  // how much longer the one predicted to be best took than the best
};

/// How the predictions of one part fared, beside two simpler ones.
struct PartErrors {
  PipelinePart part = PipelinePart::training;
  ErrorSummary simulated;
  ErrorSummary formula;
  ErrorSummary plain;
  double covered = 0;  // the share of the runs within their interval
  double start = 0;    // how far off a task starts, as a share of the makespan: the median run's
  double bubble = 0;   // how far off a rank's idle share is: the median over runs of the worst rank
};

/// What pipelines that were run tell of actions in a run, and how well that predicts others.
struct PipelineCalibration {
  InSitu in_situ;
  std::vector<PipelinePrediction> predictions;  // as the runs were given
  std::vector<PartErrors> parts;                // that have runs
  std::vector<SettingRanking> rankings;         // of settings with two schedules or more
};

/// Fits factors to the runs of the training part, and predicts all. There must be a run to train
/// on; draws of the bootstrap are carried through the simulator.
PipelineCalibration calibrate_pipelines(const std::vector<PipelineRun>& runs,
                                        const BootstrapPlan& plan);

}  // namespace penstock
