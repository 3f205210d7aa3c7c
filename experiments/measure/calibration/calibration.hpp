#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/input/long_work/progress.hpp"
#include "experiments/measure/calibration/layers_in_run.hpp"
#include "experiments/show/pictures/plots/plots.hpp"
#include "sim/plan/plan.hpp"
#include "validate/backends/registry.hpp"
#include "validate/calibration/kernel_model.hpp"
#include "validate/calibration/pipeline_calibration.hpp"
#include "validate/calibration/pipeline_run.hpp"
#include "validate/job/measurement.hpp"
#include "validate/statistics/bootstrap.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {

/// A pipeline before lowering. The work per rank does not depend on the number of chunks.
struct PipelineSetting {
  std::string family = "even";  // "even", "uneven" and "linked" keep cores busy; or "layers"
  std::uint32_t ranks = 2;
  std::uint32_t microbatches = 4;
  double size = 50;  // busy: microseconds of F, of I and of W; layers: their hidden size
  friend bool operator==(const PipelineSetting&, const PipelineSetting&) = default;
};

/// Whether it runs layers.
bool has_layers(const PipelineSetting& setting);

/// "p2 m8 60us even", "p2 m8 h48 layers".
std::string text(const PipelineSetting& setting);

/// A setting with its schedule and its part.
struct PipelineCase {
  PipelineSetting setting;
  std::string schedule = "1f1b";
  DataPart part = DataPart::training;
};

/// The pipelines of a calibration: 1F1B over a grid of settings, split by seed into training and
/// interpolation; larger ones for extrapolation; and training settings under other schedules.
/// Limited to what the backend can run: `most_ranks`, with or without layers.
std::vector<PipelineCase> pipeline_cases(std::uint64_t seed, std::uint32_t most_ranks,
                                         bool runs_layers);

/// Equal for equal splits into parts.
std::uint64_t split_hash(const std::vector<PipelineCase>& cases);

/// The plan of a case. Nothing if the schedule does not support the sizes.
std::optional<Plan> plan_of(const PipelineCase& of);

/// The passes of the layers that pipelines run, each once.
std::vector<SweepPoint> layer_passes_of(const std::vector<PipelineCase>& cases);

/// Durations of kernels in isolation.
struct IsolatedTimes {
  const std::vector<KernelCalibration>& models;  // of "busy", "mlp" and "head"
  std::span<const SweptPoint> measured = {};     // passes of layers; these go before the models
};

/// A case ready to run, with isolated durations of its actions. Nothing if there is no plan.
std::optional<Pipeline> pipeline_of(const PipelineCase& of, const IsolatedTimes& kernels);

/// A pipeline that was left out, and why.
struct LeftOut {
  std::string name;
  std::string why;
};

/// Runs pipelines one after the other until the time is up.
class PipelineRuns {
 public:
  PipelineRuns(const BackendEntry& backend, double budget_s);

  /// `left`: pipelines still to run, including this one. Each runs often enough to be clean, so
  /// that all may take longer than the budget; after several times as long the others are left out.
  void run(Pipeline pipeline, std::size_t left);

  std::vector<PipelineRun> runs;
  std::vector<LeftOut> left_out;
  std::map<std::string, std::string> environment;

 private:
  std::optional<std::string> why_left_out(const Pipeline& pipeline) const;
  std::optional<std::string> measure_within(const Pipeline& pipeline, std::size_t left,
                                            Measurement& measured);
  MeasuringPlan plan_for(const Job& job, std::size_t left) const;

  const BackendEntry& backend_;
  std::int64_t end_ns_;
  std::int64_t give_up_ns_;
};

/// Options of a calibration.
struct CalibrationRequest {
  double budget_s = 20;
  std::vector<KernelPoint> layers = {};    // measured in addition
  std::optional<Scenario> layers_of = {};  // whose model is run for their times in a run
  BootstrapPlan bootstrap;
};

/// Durations of kernels on this machine, additional time of actions in a run, and errors of
/// predictions from both.
struct Calibration {
  std::string backend;
  CalibrationRequest request;
  std::map<std::string, std::string> environment;
  std::uint64_t kernel_split = 0;  // hashes of the split into training and held out
  std::uint64_t pipeline_split = 0;

  Sweep swept;
  std::vector<SweptPoint> layers;  // of the request
  LayersInRun in_run;              // the same in a run of 1F1B
  std::vector<SweptPoint> passes;  // of the layers that pipelines run
  std::vector<KernelCalibration> kernels;
  PipelineCalibration pipelines;
  std::vector<LeftOut> left_out;
  SampleSpread canary;               // of a fixed piece of work, throughout the sweep
  SampleSpread clock;                // of clock readings around an action, in nanoseconds
  double retest = 0;                 // median error between repeated runs
  std::optional<std::string> noise;  // why the errors are inconclusive
};

/// Callbacks during a calibration. Each may be empty.
struct CalibrationWatch {
  OnProgress on_progress = {};
  /// Called once kernels and layers are measured and the environment is known, before most
  /// pipelines run. Rows stored here survive an interrupt.
  std::function<void(const Calibration& so_far)> on_kernels = {};
};

/// Measures kernels, then pipelines on a backend, and fits. Throws std::runtime_error if the
/// backend can run none of the pipelines on this machine.
Calibration calibrate(const BackendEntry& backend, const CalibrationRequest& request,
                      const CalibrationWatch& watch = {});

/// The document of `calibrate --json`.
nlohmann::ordered_json calibration_json(const Calibration& calibration);

/// The report for a terminal.
std::string calibration_text(const Calibration& calibration);

/// The kernel measurements of a calibration as rows of a store, one per point with all samples.
/// `at` is the time in UTC: "2026-11-21T18:40:00Z".
std::vector<ProfileRow> profile_rows(const Calibration& calibration, const std::string& at);

/// The plot of a calibration document: held-out kernels, and pipelines by part. Depends only on the
/// document. Throws InputError with a JSON pointer for any other document.
CalibrationPlot calibration_plot(const nlohmann::json& document);

/// Simulated over published values of one paper or several, as `penstock reproduce --json` prints
/// them: a panel for each table, a series for each judgement, with the rows that it judges. Rows
/// that constants were fitted to, and values of 0, are left out. Throws InputError with a JSON
/// pointer for any other document.
CalibrationPlot published_plot(const nlohmann::json& document);

}  // namespace penstock
