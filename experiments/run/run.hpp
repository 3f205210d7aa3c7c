#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/layout/training_step.hpp"
#include "experiments/run/codec_report.hpp"
#include "experiments/run/codec_training.hpp"
#include "experiments/run/finding.hpp"
#include "experiments/run/repeat.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/throughput.hpp"
#include "experiments/scenario/scenario.hpp"
#include "sim/costs/conditions.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/demand.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/report.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// How to run a scenario.
struct RunOptions {
  Engine engine = Engine::automatic;
  std::uint32_t repeat = 0;  // how many draws to make for a distribution; 0: none
};

/// A finished run, or why it could not finish.
struct RunResult {
  std::string title;     // "1f1b, 4 ranks, 8 microbatches"
  std::string schedule;  // its name, or the order's file
  std::vector<Finding> findings;

  Schedule order;  // that of the first draw, where a policy decides
  // Without a value when the run cannot finish.
  std::optional<Plan> plan;
  Costs costs;
  Conditions conditions;
  Training training;
  Demand demand;  // that was priced
  Timeline timeline;
  std::optional<Report> report;
  std::vector<MeasuredRow> profile_rows;  // that layers take their times from
  std::optional<double> peak_flops;       // of one device, where the hardware has one
  Throughput throughput;
  std::optional<double> first_iteration_us;  // with its warm-up, where that is known
  bool chance_among_replicas = false;        // chance makes data replicas differ
  std::vector<std::string> notes;            // what reading the model took for granted
  std::optional<double> steady_interval_us;  // of an asynchronous schedule, where it settles
  std::optional<Distribution> repeated;
  std::optional<CodecReport> codec;             // where the scenario encodes something
  std::optional<CodecTraining> codec_training;  // where it does so in phases
};

/// Wires a whole run: settle, lower, price, draw, simulate, summarize. Command line, viewer and
/// tests all come through here. Of several draws the first is the one reported. Throws InputError
/// with the name of the file at fault in front, and UsageError where the engine does not apply.
RunResult run(const Scenario& scenario, const RunOptions& options = {});

}  // namespace penstock
