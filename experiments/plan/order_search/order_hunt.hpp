#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// A run whose step is compared with others: where microbatches differ, over draws of documents.
RunResult compared_run(Layout layout);
/// A run that waits for memory for good, with all the memory that it takes: its findings say that
/// it does not fit. Others are as they were.
RunResult ended_run(RunResult run);
/// Its step; nothing where a draw does not end, or the run finds a problem.
std::optional<Time> compared_step(const RunResult& run);
/// "51.2 ± 1.3 ms (mean of 16 draws)" of draws, else "51.2 ms".
std::string compared_text(const RunResult& run);

/// A named order for the same stages, ranks and microbatches, as the engine runs it.
struct ComparedOrder {
  std::string name;
  Layout layout;
  Time makespan{};                 // of draws, the mean
  std::uint64_t peak_bytes = 0;    // of the fullest rank
  std::optional<MemoryWord> word;  // as `run` says it; empty: the capacity is unknown
  bool fits = false;               // in the memory that is surely there
  bool may_fit = false;            // also in that which communication libraries may take
};

/// The order that the scenario asks for, and every schedule rule without slices, a second copy of
/// the model or asynchronous weights that takes the same ranks, stages and microbatches. The
/// shortest that fit come first, then the shortest that may. `base` is the run of the scenario
/// itself.
std::vector<ComparedOrder> named_orders(const Scenario& scenario, const RunResult& base);

/// How far a hunt is.
struct HuntState {
  double share = 0;  // of the budget
  Time best{};
  Time bound{};
};

struct HuntOptions {
  std::uint64_t seed = 1;
  double budget_s = 4;
  std::uint64_t evaluations = 0;  // instead of seconds, for equal results on every machine; 0: none
  bool chooses_recomputation = false;  // of what the scenario recomputes, only some activations
  bool keeps_placement = false;        // only the scenario's own placement of stages on ranks
  std::function<void(const HuntState&)> on_progress = {};
  /// Called when named orders have been run and priced: from then on the hunt asks whether to stop.
  std::function<void()> on_prepared = {};
  std::function<bool()> asked_to_stop = {};

  bool asks_to_stop() const { return asked_to_stop && asked_to_stop(); }
  /// The share of the budget that is used after a number of evaluations, and the time since the begin.
  double used(std::uint64_t timed, std::chrono::steady_clock::time_point begin) const;
};

/// The best order found for a scenario, and what it was compared with.
struct HuntResult {
  std::vector<ComparedOrder> named;  // the shortest that fit first
  bool unsure = false;               // nothing was found that fits; what may fit counts
  RunResult run;                     // of the best order
  Schedule order;
  std::string origin;  // what it was found from
  Time bound{};        // no order of the searched placements is shorter
  bool proven = false;
  bool fits = false;  // it stays within the memory that counts
  std::uint64_t evaluations = 0;
  double seconds = 0;
  bool interrupted = false;

  /// Whether a named order stays within the memory that counts.
  bool has_room(const ComparedOrder& one) const { return unsure ? one.may_fit : one.fits; }
  /// The shortest of them, if any.
  const ComparedOrder* best_named() const {
    return named.empty() || !has_room(named.front()) ? nullptr : &named.front();
  }
  /// The makespan above the bound, as a share of the bound.
  double gap() const;
};

/// Searches for an order with a shorter step than every named one, for the stages, ranks and
/// microbatches of a scenario, within the memory that is surely there; only where nothing is found,
/// and with a budget of its own, also within that which communication libraries may take. The
/// engine judges every result, so what is returned is never longer than a named order that fits.
/// Throws InputError for a scenario whose orders it does not search: asynchronous, sliced,
/// bidirectional or without a backward; or which recomputes nothing of which some could be chosen.
HuntResult hunt_order(const Scenario& scenario, const HuntOptions& options);

/// A hunt as text: the order found, its memory, and the named orders it was compared with.
std::string hunt_text(const HuntResult& result);

/// The same as JSON.
nlohmann::ordered_json hunt_json(const HuntResult& result);

/// "best 51.0 ms, bound 50.0 ms, gap 2.0 %".
std::string hunt_line(const HuntState& state);

/// A scenario that runs the order found, as JSON text: that of the hunt with `order_file` as its
/// schedule. Paths that the scenario names are made relative to `folder`, where it will stand.
std::string scenario_with_order(const Scenario& scenario, const HuntResult& result,
                                const std::string& order_file, const std::string& folder);

}  // namespace penstock
