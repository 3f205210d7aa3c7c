#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "validate/calibration/pipeline_run.hpp"
#include "validate/job/run_errors.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {

/// A pipeline as measured and as simulated with calibrated durations. Times are makespans.
struct PipelinePrediction {
  std::string name;
  std::string family;
  std::string work;
  std::string setting;
  std::string schedule;
  DataPart part = DataPart::training;
  std::uint32_t iterations = 0;
  RunErrors errors;      // of the simulation with calibrated durations; `profile` is its error
  Interval interval_us;  // 90 % of the draws
  Time formula{};        // (m - 1) times the busiest rank's microbatch, plus one of every rank
  Time plain{};          // simulated with isolated durations, on free links
  double error() const { return to_us(errors.simulated) / to_us(errors.measured) - 1; }
};

/// How well the schedules of one setting are ranked.
struct SettingRanking {
  std::string setting;
  std::uint32_t schedules = 0;
  std::optional<double> correlation;  // Kendall's tau, predicted against measured
  std::string predicted_best;
  std::string measured_best;
  double regret = 0;  // how much longer the predicted best takes than the actual best
};

/// Errors of the predictions of one part, compared with two simpler predictions.
struct PartErrors {
  DataPart part = DataPart::training;
  ErrorSummary simulated;
  ErrorSummary formula;
  ErrorSummary plain;
  double covered = 0;  // share of runs within their interval
  double start = 0;    // start error of tasks, as a share of the makespan: the median run's
  double bubble = 0;   // error of a rank's idle share: the median over runs of the worst rank
};

/// Durations of actions in runs, and how well they predict other runs.
struct PipelineCalibration {
  std::map<std::string, InSitu> in_situ;        // by what actions do
  std::vector<PipelinePrediction> predictions;  // in the order of the runs
  std::vector<PartErrors> parts;                // those with runs
  std::vector<SettingRanking> rankings;         // of settings with at least two schedules
};

/// Fits factors to the training runs, apart for each kind of work with at least three, and predicts
/// all runs. Kinds with fewer use a fit to all. Needs at least one training run. Bootstrap draws
/// are simulated too.
PipelineCalibration calibrate_pipelines(const std::vector<PipelineRun>& runs,
                                        const BootstrapPlan& plan);

}  // namespace penstock
