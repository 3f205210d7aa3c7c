#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/scenario.hpp"
#include "sim/conditions.hpp"
#include "sim/costs.hpp"
#include "sim/plan.hpp"
#include "sim/report.hpp"
#include "sim/timeline.hpp"

namespace penstock {

/// Something the user must know, for which the program exits with 1.
struct Finding {
  std::string kind;  // "deadlock", "out_of_memory", "expectation"
  std::optional<Rank> rank;
  std::optional<Time> time;
  std::string text;
};

/// A finished run, or why it could not finish.
struct RunResult {
  std::string title;     // "1f1b, 4 ranks, 8 microbatches"
  std::string schedule;  // its name, or the order's file
  std::vector<Finding> findings;

  // Without a value when the order deadlocks.
  std::optional<Plan> plan;
  Costs costs;
  Conditions conditions;
  Timeline timeline;
  std::optional<Report> report;
  double samples_per_s = 0;
  std::optional<double> steady_interval_us;  // of an asynchronous schedule, where it settles
};

/// Wires a whole run: settle, lower, price, simulate, summarize. Command line, viewer and tests all
/// come through here. Throws InputError with the name of the file at fault in front.
RunResult run(const Scenario& scenario);

}  // namespace penstock
