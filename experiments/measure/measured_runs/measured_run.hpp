#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measure/measured_runs/iterations.hpp"
#include "experiments/measure/measured_runs/rank_traces.hpp"
#include "experiments/measure/measured_runs/run_times.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/job/job.hpp"
#include "validate/job/run_errors.hpp"

namespace penstock {

/// Key of the environment of a timeline: the unit that its times are rounded to, such as "1ns".
constexpr const char* resolution_key = "resolution";

/// Times of one pass of one stage over microbatches, iterations and copies of the model: of single
/// ops, or where the host runs them of the means of iterations.
struct OpTimes {
  std::uint32_t model_stage = 0;
  Pass pass;
  std::size_t count = 0;
  double median_ns = 0;
  double lower_ns = 0;  // lower quartile
  double upper_ns = 0;  // upper quartile
};

/// Those of a pass of a stage, or nullptr.
const OpTimes* find_times(const std::vector<OpTimes>& times, std::uint32_t stage, Pass pass);

/// A traced training run as a plan with times.
struct MeasuredRun {
  std::string title;                    // "1f1b, 4 ranks, 8 microbatches"
  std::optional<std::string> schedule;  // the rule that makes this order; nothing: unknown
  std::uint32_t chunks = 1;
  SeenOrder order;
  std::vector<TracedRank> ranks;
  std::vector<OpTimes> times;  // by stage, then pass

  Job job;                              // with medians as durations
  Measurement measured;                 // all complete iterations with this order
  std::vector<std::uint32_t> numbers;   // numbers of these iterations
  std::vector<std::int64_t> starts_ns;  // of these, by the common clock
  std::size_t chosen = 0;               // index of the iteration shown as the timeline
  Timeline timeline;
  std::optional<RunErrors> errors;     // nothing if a link serves several pairs of ranks
  double host_us = 0;                  // of the host between two ops; 0: a device runs the ops
  std::vector<HostShare> host_shares;  // by rank; empty: a device runs the ops
  bool as_named = true;                // the order is the one that the user named, if any
  std::optional<double> transfer_us;   // median of tensors that cross ranks; nothing: none do
  std::vector<LinkTime> slow_links;    // which that median leaves out
  // The most that an op began before its input was sent, unless ops of one rank overlap by as much.
  std::int64_t clock_error_ns = 0;
  std::vector<std::int64_t> clock_offsets_ns;  // by rank, removed; empty: the host runs the ops
  std::string unaligned;                       // clocks that do not fit all the same; empty: none
  std::vector<std::string> left_out;           // other iterations, with reasons
  std::vector<std::string> notes;
};

/// Builds a run from the ops of all ranks. The chosen iteration, or else the last complete one,
/// gives the order. All other iterations with that order are samples. Throws InputError if none is
/// complete.
///
/// Traces do not show when a tensor arrives: `transfer_times` has the rule. Launch time therefore
/// counts as transfer. Where gloo carries tensors, and hosts marked all of its SENDs and RECVs, the
/// plan has these as they were issued.
MeasuredRun measured_run(std::vector<TracedRank> ranks, const std::optional<NamedOrder>& named,
                         std::optional<std::uint32_t> chosen);

/// Shows another iteration as the timeline.
void show_iteration(std::size_t iteration, MeasuredRun& run);

/// Data replicas that were traced together, as one run in which each has ranks of its own.
struct JoinedReplicas {
  std::string title;
  Plan plan;
  Timeline timeline;                 // of the step that the first replica shows
  std::vector<Timeline> iterations;  // of all steps that every replica has
};

/// Joins the replicas by the clock that all traces share. Throws InputError unless all ran the same
/// order, and all have the step that the first one shows. Traces of a pipeline have no reductions,
/// so nothing ties replicas together: the step ends with the last of them.
JoinedReplicas join_replicas(const std::vector<MeasuredRun>& replicas);

/// Times of the layers of a profile, taken from several runs of one model.
struct MergedTimes {
  std::vector<OpTimes> times;         // by layer, then pass; a layer is a stage of the finest run
  double host_us = 0;                 // of the host between two ops; 0: a device runs the ops
  double op_us = 0;                   // of an op beyond its layers, on the host; not in `times`
  std::optional<double> transfer_us;  // of a tensor that crosses ranks; nothing: none do
  std::vector<LinkTime> slow_links;   // of a tensor over each of these instead
  std::vector<std::string> notes;     // what comes from which run, what was split, what is missing
  std::vector<std::string> disagreements;  // of two runs, over what the same layers take
};

/// Merges the times of runs. The run with the most stages, the first of several, gives the layers
/// and all passes it has. A pass that it lacks comes from the finest run that has it. If that run
/// has fewer stages, its times are split over the layers of the stage as their backwards, or for a
/// B or F as their forwards. The host's time between ops and that of a tensor are the medians of
/// all runs; links that are slow in half of them keep their own. Where the host runs the ops, and
/// runs of more and of fewer stages have the same pass, the time of an op beyond its layers follows
/// from them: two stages run apart pay it twice. Runs disagree where a pass of the same layers
/// takes more than a quarter longer in one. Throws InputError if the stages of a run are no
/// multiple of another's.
MergedTimes merged_times(const std::vector<MeasuredRun>& runs);

/// What the host takes for an op, and for each tensor that the op sends to another rank or
/// receives.
struct HostCosts {
  double op_us = 0;
  double message_us = 0;
};

/// Fitted to the ranks of all runs, neither below 0. Where all ranks have as many tensors an op,
/// nothing tells them apart, and the op has all.
HostCosts host_costs(const std::vector<MeasuredRun>& runs);

/// The profile of runs, as in `profile.schema.json`: one layer per stage of the finest one, with
/// medians, measured on microbatches of `examples` examples.
std::string profile_text(const std::vector<MeasuredRun>& runs, const MergedTimes& merged,
                         double examples);

/// The files of a scenario, relative to its folder.
struct ScenarioParts {
  std::string profile;
  std::string order;                         // a file; empty: the schedule by name
  std::optional<std::uint32_t> chunks = {};  // where the schedule by name has others by default
};

/// A scenario that simulates a run from its profile.
std::string scenario_text(const MeasuredRun& run, const MergedTimes& merged,
                          const ScenarioParts& parts, double examples);

/// The output of `trace --json`.
nlohmann::ordered_json measured_run_json(const MeasuredRun& run);
/// The lines of a profile made of several runs.
std::string merged_text(const MergedTimes& merged);
/// The report for a terminal.
std::string measured_run_text(const MeasuredRun& run);

/// The names that the patterns match and the others, by rank.
std::string preview_text(const std::vector<TracedRank>& ranks,
                         const std::vector<OpPattern>& patterns);
nlohmann::ordered_json preview_json(const std::vector<TracedRank>& ranks,
                                    const std::vector<OpPattern>& patterns);

}  // namespace penstock
