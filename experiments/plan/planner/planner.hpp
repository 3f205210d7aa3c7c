#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/plan/planner/space/layout_space.hpp"
#include "experiments/plan/planner/space/training_task.hpp"
#include "experiments/run/layout/device_memory.hpp"
#include "experiments/run/layout/spread.hpp"
#include "hardware_models/links/wiring.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// Why a layout is left out whose simulation takes more memory than the budget has.
constexpr const char* too_large_to_simulate =
    "simulating them takes more memory than there is (--max-memory)";

/// What the simulation of a layout says.
struct Trial {
  Time makespan{};               // of draws, the mean
  double filled = 1;             // of draws: their tokens over those of full microbatches
  std::uint64_t peak_bytes = 0;  // of the worst rank
  std::optional<std::uint64_t> capacity_bytes;
  PeakInterval interval;                                 // of the rank that needs most
  std::optional<std::pair<double, double>> mean_within;  // of draws: microseconds, 95 %
  std::optional<MemoryWord> word;                        // empty: the capacity is unknown
  std::optional<RunSpread> spread;                       // empty: that of the prices is unknown
  std::uint64_t timeline_hash = 0;                       // of what runs when and where
  double samples_per_s = 0;
  std::optional<double> tokens_per_s;
  double watts = 0;     // of a device at work; 0: unknown
  std::string refusal;  // why it cannot run; empty if it can

  /// Of as many tokens as full microbatches hold, in picoseconds: what layouts are compared by.
  double pace() const { return static_cast<double>(makespan.picoseconds) / filled; }
  bool fits() const {
    return refusal.empty() && word.value_or(MemoryWord::fits) == MemoryWord::fits;
  }
  bool may_fit() const { return refusal.empty() && word != MemoryWord::does_not_fit; }
};

/// Simulates a layout, with the result of `run` and without its report. Layouts with the same
/// `clusters` share the links of their machine. Of a batch of documents, all microbatches are full
/// and equal unless it `draws`: then the step is the mean of many, and the rest of the first.
Trial try_layout(const Scenario& scenario, const Catalogue& catalogue,
                 std::shared_ptr<Clusters> clusters, bool draws = false);

/// The bytes that it takes, as `settle` estimates them.
double simulation_bytes(const LayoutChoice& choice, bool draws);

/// How far a search has come.
struct PlanProgress {
  std::uint64_t simulated = 0;
  std::optional<double> best_us;  // of the layouts that fit
  double bound_us = 0;            // of the layouts to come
};

/// Limit on the families of layouts that are listed.
constexpr std::uint32_t most_listed = 10'000;

struct PlannerOptions {
  SpaceOptions space;
  std::size_t best = 10;        // families to find
  std::size_t drawn = 10;       // families of documents to compare over draws, or `best` if more
  double headroom = 0.08;       // share of the capacity that layouts of the list leave free
  bool front = true;            // finds the whole front too
  std::size_t jobs = SIZE_MAX;  // threads at most
  bool simulates_all = false;   // bounds exclude nothing
  // The search ends after this time of every core, once a layout that fits is known. Without a
  // limit the result depends on nothing but the request.
  std::optional<double> most_seconds = {};
  std::function<bool()> asked_to_end = {};  // ends it likewise; may be empty
  std::function<void(const PlanProgress&)> on_progress = {};
};

/// A simulated layout.
struct JudgedLayout {
  LayoutChoice choice;
  double bound_us = 0;     // of the step time, from below
  double least_bytes = 0;  // of the fullest rank, from below
  Trial trial;
  std::uint64_t number = 0;  // in the order of the space
};

/// What layouts need that are known to need more memory than there is.
struct TooLarge {
  double least_bytes = 0;
  std::optional<LayoutChoice> choice;  // empty: a bound of several layouts
};

/// All legal layouts of a task, judged.
struct LayoutPlan {
  TrainingTask task;
  std::array<std::string, 2> stacks;  // with whole gradients, and with sharded ones; may be empty
  std::string device;                 // of the machine; empty without one
  std::string no_stack;               // why no stack prices its kernels; empty: one does
  // Simulated, each once; fastest first, equal ones with less memory first.
  std::vector<JudgedLayout> fitting;    // with headroom
  std::vector<JudgedLayout> tight;      // that may fit, or fit without headroom
  std::vector<JudgedLayout> too_large;  // least memory first
  std::optional<TooLarge> least;        // of all excluded by their memory without simulation

  std::vector<Exclusion> excluded;  // by rules about degrees and options
  std::vector<Exclusion> refused;   // by schedule rules, models and machines
  std::string none_because;         // why no layout is legal; empty if one is
  std::uint64_t legal = 0;  // layouts that no rule about degrees and options excludes, with those
                            // that save memory as far as they were judged
  std::uint64_t without_memory = 0;  // of them: the weights alone, or with one activation, are more
                                     // than the memory
  std::uint64_t slower = 0;          // by their bounds neither among the best nor on the front
  std::uint64_t simulated = 0;
  std::uint64_t repeated = 0;  // of them: equal to one that is kept, under another name
  // For an encoder on devices of its own: layouts of the other layers alone, simulated; and whether
  // the time was up before all numbers of devices had their turn and a bound.
  std::uint64_t beside = 0;
  bool unplaced = false;
  // With a batch of documents: the fastest of all with full microbatches. The best of those were
  // then compared over draws, and the others left out.
  std::optional<Time> fastest_full;
  std::string draws_refused;  // why one of them does not run with documents; empty if all do
  bool stopped = false;       // early: `slower` then counts layouts that may be faster
  bool whole_front = false;   // no other layout is on the front
  double slower_bound_us = std::numeric_limits<double>::infinity();  // the lowest bound of those

  /// The first of those that fit, else of those that may; nullptr for none.
  const JudgedLayout* best() const;
};

/// Of the whole training that a task asks about, in one of its layouts; empty if it asks none.
std::optional<TrainingCost> cost_of(const TrainingTask& task, const Trial& trial);
/// Whether layouts are too large for memory, and no rule refuses more of them.
bool lacks_memory(const LayoutPlan& plan);
/// Whether a layout of a list is before another.
bool is_better(const JudgedLayout& one, const JudgedLayout& other);
/// Whether two layouts of the same degrees do the same at the same times in the same memory.
bool are_equal(const JudgedLayout& one, const JudgedLayout& other);
/// Throws std::logic_error where a bound is above what the simulation gave: a fault of the planner,
/// which may then have left out better layouts.
void check_bounds(const JudgedLayout& layout);

/// Finds the fastest layout of each of the best families that fit, those that may fit and are
/// faster than all of these, and the front of time and memory: bounds for all layouts, then
/// simulation in the order of the bounds of those that may be one of them. Of a batch of documents
/// they are found with full microbatches, and then compared by their mean step over draws. The
/// result does not depend on `jobs`. Throws InputError for what scenarios refuse, and UsageError
/// for a batch whose documents per step would differ between layouts and for a module with a stated
/// number of devices of its own.
LayoutPlan plan_layouts(const TrainingTask& task, const Catalogue& catalogue,
                        const PlannerOptions& options);

}  // namespace penstock
