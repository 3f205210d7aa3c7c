#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/input/long_work/progress.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/changes/scenario_changes.hpp"
#include "experiments/run/run.hpp"

namespace penstock {

/// What a change asks of a training that goes on from a checkpoint, least first.
enum class ChangeEffort : std::uint8_t {
  flag,          // every device keeps the weights that it has
  moves_layers,  // pipeline ranks hold other layers
  reshards,      // other degrees of parallelism, or another ZeRO level
};

/// "a flag", "layers move", "reshard".
std::string_view text(ChangeEffort effort);

/// What a run of a scenario with a change comes to.
struct TriedChange {
  ScenarioChange change;  // without settings: the scenario as it is
  ChangeEffort effort{};
  Rank worst{};  // the rank with the highest peak
  std::uint64_t peak_bytes = 0;
  std::optional<MemoryWord> word;  // empty: the capacity is unknown
  Time makespan{};                 // with `draws`, their mean
  std::vector<Time> draws;         // of a batch of documents, the same in all changes; else empty
  std::uint64_t tasks = 0;         // of its plan
  std::size_t number = 0;          // in the list of changes

  /// Empty if the capacity is unknown.
  std::optional<bool> fits() const;
};

struct TriedChanges {
  std::vector<TriedChange> changes;  // those that run, in the order given
  std::uint32_t not_tried = 0;       // because the run is large
};

struct TryOptions {
  std::uint64_t most_tasks = std::uint64_t{1} << 23;  // of all runs; a few are always tried
  std::size_t jobs = SIZE_MAX;                        // threads; the result does not depend on them
  OnProgress on_progress = {};
  bool over_draws = true;  // with documents, each is run over many draws of them
};

/// A finished run as such a change. With documents the scenario is run over many draws of them.
TriedChange without_change(const Scenario& scenario, const RunResult& result);

/// Simulates the scenario with each change, as a user would; leaves out what is refused, deadlocks,
/// or trains another batch or on other devices. The result must belong to the scenario.
TriedChanges try_changes(const Scenario& scenario, const RunResult& result,
                         const std::vector<ScenarioChange>& changes,
                         const TryOptions& options = {});

/// The shortest gain of a step that is worth a change, as a share of it. A choice: nobody rebuilds
/// a run for 0.4 %.
constexpr double least_gain = 0.005;

/// The share of a step that a change saves; negative if it costs time.
double gain_of(const TriedChange& change, const TriedChange& now);

/// With documents, where `gain_of` lies with 95 % probability: by the differences between draws of
/// the same documents.
std::optional<std::pair<double, double>> gain_within(const TriedChange& change,
                                                     const TriedChange& now);

/// Whether a change saves at least `least_gain` of a step; with documents, whether 95 % of what it
/// may save is above nothing too.
bool is_faster(const TriedChange& change, const TriedChange& now);

/// Whether a change is worth making: it fits as well and is faster, or it fits better in at most
/// twice the time. Of two that do not fit, the one that needs more memory fits worse.
bool is_worth(const TriedChange& change, const TriedChange& now);

/// Whether a change comes before another in a list: it fits better, or takes less time, or memory.
bool is_before(const TriedChange& one, const TriedChange& other);

/// Leaves out changes that come to the same as an earlier one, or to what runs now.
void leave_out_repeats(std::vector<TriedChange>& changes, const TriedChange& now);

/// The best change of each family that asks as much of a user, best first.
std::vector<TriedChange> best_of_families(std::vector<TriedChange> changes);

/// "-5.1 %", what a change makes of a step; with documents "-5.1 % ± 1.2".
std::string gain_text(const TriedChange& change, const TriedChange& now);

/// Changes of a scenario, and what it comes to without them.
struct FasterChanges {
  TriedChange now;
  std::vector<TriedChange> changes;
};

/// The changes that fit in memory and are faster, fastest first, the best of each family, at most
/// ten. The result must belong to the scenario and have finished.
FasterChanges faster_changes(const Scenario& scenario, const RunResult& result);

}  // namespace penstock
