#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/layout/layout.hpp"
#include "experiments/layout/training_step.hpp"
#include "experiments/run/codec_report.hpp"
#include "experiments/run/codec_training.hpp"
#include "experiments/run/finding.hpp"
#include "experiments/run/repeat.hpp"
#include "experiments/run/throughput.hpp"
#include "hardware_models/times/profile_lookup.hpp"
#include "sim/costs/conditions.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/demand.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/report.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// A finished run, or why it could not finish.
struct RunResult {
  std::string title;  // "1f1b, 4 ranks, 8 microbatches"
  Layout layout;      // what ran; its order is that of the first draw, where a policy decides
  std::vector<Finding> findings;

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
  std::vector<std::string> notes;            // what was taken for granted or left out
  std::optional<double> steady_interval_us;  // of an asynchronous schedule, where it settles
  std::optional<Distribution> repeated;
  std::optional<CodecReport> codec;             // where the scenario encodes something
  std::optional<CodecTraining> codec_training;  // where it does so in phases
};

}  // namespace penstock
