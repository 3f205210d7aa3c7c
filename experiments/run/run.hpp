#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/long_work/progress.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/batch_report.hpp"
#include "experiments/run/codec_report.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/stage_demand.hpp"
#include "experiments/run/repeat.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/throughput.hpp"
#include "experiments/run/training_cost.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/report.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

class Chain;

/// How to run a scenario.
struct RunOptions {
  Engine engine = Engine::automatic;
  std::uint32_t repeat = 0;     // number of draws for a distribution; 0: none
  OnProgress on_progress = {};  // of these draws
  bool splits_losses = true;    // reports what microbatches that differ cost
  bool settled = false;         // the layout is as `settle` made it: no check
  WholeTraining training = {};  // whose days and cost are asked
};

/// How much memory a rank needs, and whether it has that.
struct JudgedMemory {
  PeakInterval interval;
  std::optional<MemoryWord> word;  // empty: the capacity is unknown
  std::uint64_t peak_bytes = 0;    // as simulated, in any data replica
};

/// A finished run, or why it could not finish.
struct RunResult {
  std::string title;  // "1f1b, 4 ranks, 8 microbatches"
  Layout layout;      // as run; a policy's order is that of the first draw
  std::vector<Finding> findings;

  // Empty if the run cannot finish.
  std::optional<Plan> plan;
  Costs costs;
  Conditions conditions;
  Training training;
  Demand demand;  // as priced
  Timeline timeline;
  std::optional<Report> report;
  std::vector<JudgedMemory> memory;       // by rank
  std::vector<MeasuredRow> profile_rows;  // rows that layers take their times from
  std::optional<double> peak_flops;       // per device, if known
  Throughput throughput;
  std::optional<TrainingCost> training_cost;  // if asked
  std::optional<double> first_iteration_us;   // with its warm-up, if known
  std::optional<std::uint32_t> replica;       // of data replicas that differ, the one shown
  std::vector<std::string> notes;             // assumptions and omissions
  std::optional<double> steady_interval_us;   // of an asynchronous schedule, if it settles
  std::optional<Distribution> repeated;
  std::optional<BatchReport> batch;             // where microbatches differ
  std::optional<CodecTraining> codec_training;  // if it encodes in phases
};

/// A whole run: settle, encode, lower, price, draw, simulate, summarize. Command line, viewer and
/// tests all call it. With several draws, the first one is reported. If formats change over a
/// training, each is run. Throws InputError that starts with the faulty file, and UsageError if the
/// engine does not apply.
RunResult run(const Scenario& scenario, const RunOptions& options = {});

/// Runs a layout. Throws InputError as `check_layout` does.
RunResult run(Layout layout, const RunOptions& options = {});

/// The same by a chain, which has what earlier runs made.
RunResult run(Chain& chain, Layout layout, const RunOptions& options = {});

/// Whether draws of a layout may differ.
bool varies(const Layout& layout);

/// The step that a run with a report is compared by: of draws their mean.
Time step_of(const RunResult& run);
/// Whether every draw of a run finished.
bool all_draws_end(const RunResult& run);

/// That of the rank that needs most.
JudgedMemory worst_memory(const RunResult& result);

/// The rank with the highest peak, the first of equals.
Rank worst_of(const Report& report);

/// Bytes for ranks of this capacity: in GiB if the capacity is at least one GiB.
std::string bytes_of_rank_text(std::uint64_t bytes, std::uint64_t capacity);

}  // namespace penstock
