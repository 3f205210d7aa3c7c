#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validate/calibration/term_model.hpp"
#include "validate/job/job.hpp"
#include "validate/job/measurement.hpp"

namespace penstock {

/// A pipeline to run for real, with the isolated durations of its actions.
struct Pipeline {
  std::string name;           // "1f1b p2 m8 60us even"
  std::string family;         // of pipelines: "even"
  std::string work = "busy";  // what actions do: "busy" or "layers"; each has a fit of its own
  std::string setting;        // everything but the schedule; the schedules of one setting compete
  std::string schedule;
  DataPart part = DataPart::training;
  Job job;
  std::vector<double> alone_ns;                     // by work class; links: as in the job
  std::vector<std::vector<double>> alone_draws_ns;  // the same by draw; empty: known exactly
};

/// A pipeline that was run.
struct PipelineRun {
  Pipeline pipeline;
  Measurement measured;  // at least one iteration
};

/// Durations of actions in a run, from their isolated durations: a cost per action, and a factor
/// for each kind with training data.
struct InSitu {
  std::vector<Pass> kinds;  // kinds with a factor; term i + 1 of the model
  TermModel model;          // "an action", "F", "B" …

  /// Nanoseconds of an action in a run. A kind without a factor uses the nearest one: I and W that
  /// of B, R that of F. Other kinds: the isolated duration plus the cost.
  double at(Pass kind, double alone_ns, std::optional<std::size_t> draw = {}) const;
};

/// Fits factors and cost to measured actions: for each run and work class, the mean of an
/// iteration, then the median over iterations. A run is a block of the bootstrap.
InSitu fit_in_situ(const std::vector<const PipelineRun*>& runs, const BootstrapPlan& plan);

/// Duration of each work class in a run, in whole nanoseconds; links as in the job.
std::vector<Time> in_situ_times(const Pipeline& pipeline, const InSitu& in_situ,
                                std::optional<std::size_t> draw = {});

}  // namespace penstock
