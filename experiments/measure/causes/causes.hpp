#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/measure/causes/op_model.hpp"
#include "experiments/measure/causes/replay.hpp"
#include "experiments/show/pictures/plots/plots.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {

/// What delays a step, in the order in which causes are taken out.
enum class CauseKind : std::uint8_t {
  rank,
  link,
  gaps,
  replicas,
  microbatches,
  stages,
  jitter,
  collectives,
};
/// "rank", "gaps": the words of `--without`.
constexpr std::string_view name(CauseKind kind) {
  constexpr std::array<std::string_view, 8> names{
      "rank", "link", "gaps", "replicas", "microbatches", "stages", "jitter", "collectives"};
  return names[static_cast<std::size_t>(kind)];
}

/// One cause, or the smaller ones of a kind together.
struct Cause {
  CauseKind kind;
  std::vector<std::uint32_t> who;  // ranks or links
  std::string name;                // "slow rank 7"
  std::string proof;               // "F takes 1.5 ms, 1 at its peers (32 ops)"
  std::optional<std::uint32_t> rank;
  TaskId op = no_task;               // that shows it best
  Time cost{};                       // what the step gains when it goes, after those before it
  Time alone{};                      // what the step gains when it goes alone
  std::optional<Time> shapley;       // the mean over all orders
  std::optional<Interval> interval;  // of `cost` over the iterations, in microseconds
};

/// Names a cause, and says which rank or op shows it: "slow rank 7", "F takes 1.5 ms, 1 ms at its
/// peers".
void add_proof(const MeasuredStep& step, const OpModel& model, Cause& cause);

/// How much longer than the ideal step it takes with some of the tasks as measured.
struct Slowdown {
  std::string what;
  double factor = 1;
};

/// As "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI 2025)
/// reports them.
struct Slowdowns {
  std::vector<Slowdown> passes;     // with the ops of one pass as measured; largest first
  std::vector<Slowdown> positions;  // with the ranks of one position
  std::vector<Slowdown> replicas;   // with the ranks of one pipeline
  std::vector<double> ranks;        // by rank: the lesser of those of its position and its pipeline
  std::uint32_t slowest = 0;        // the slowest 3 % of the ranks, at least one
  double explained = 0;             // the share of the loss that goes when these are ideal
};
Slowdowns slowdowns_of(const MeasuredStep& step, const OpModel& model);

/// What waited for a late rank.
struct DelayedRank {
  std::uint32_t rank;
  TaskId op;    // its first that would have begun earlier
  Time at{};    // its begin, as measured
  Time late{};  // how much later than without the delays of that rank
};

/// The first rank that was late, and those that waited for it.
struct LateRank {
  std::uint32_t rank;
  TaskId op;                         // the first that took or started notably longer than usual
  Time at{};                         // its begin
  Time excess{};                     // over what is usual there
  Time cost{};                       // of all that is unusual on this rank
  std::vector<DelayedRank> waiting;  // by time
};
/// Nothing where no op takes a tenth and four times the jitter longer than usual, and a twentieth
/// of the mean action.
std::optional<LateRank> first_late(const MeasuredStep& step, const OpModel& model);

/// A measured step by its causes: ideal, costs and what no cause explains add up to it exactly.
struct StepCauses {
  Time measured{};
  Time ideal{};  // even stages, replicas and microbatches, nothing slow or late, no collectives
  Time unexplained{};  // measured, less what its own times give when simulated
  std::vector<Cause> causes;
  std::size_t iterations = 1;
  OpModel model;
  Slowdowns slowdowns;
  std::optional<LateRank> late;
  std::vector<std::string> notes;

  /// 0 where the ideal step takes no time.
  double slowdown() const { return ideal > Time{} ? to_us(measured) / to_us(ideal) : 0; }
};

/// Takes causes out of a measured step one after the other. `iterations` are others of the same
/// plan, which give intervals; `expected` says what stages should take.
StepCauses causes_of(const Plan& plan, const Timeline& timeline, const ExpectedOps* expected = {},
                     std::span<const Timeline> iterations = {});

/// The same without what takes many simulations: all orders, slowdowns and the first late rank.
StepCauses costs_of_causes(const Plan& plan, const Timeline& timeline,
                           const ExpectedOps* expected = {});

/// Why a run has no causes: the lanes of a trace are no pipeline. Nothing when it has.
std::optional<std::string> why_no_causes(const Plan& plan, const Timeline& timeline);

/// What a cause cost two runs.
struct CauseChange {
  std::string name;  // of a cause, "ideal" or "unexplained"
  Time a{};
  Time b{};
};
/// Of all causes of either; the changes add up to that of the step. What stages should take is
/// told by the first, so that a rank that slowed down since is no uneven stage.
std::vector<CauseChange> changes_of_causes(const Recording& a, const Recording& b);
std::string cause_changes_text(const std::vector<CauseChange>& changes);
nlohmann::ordered_json cause_changes_json(const std::vector<CauseChange>& changes);

/// The slowdown of each rank: a row for each replica, a column for each position in the pipeline.
HeatMap heat_map_of(const StepCauses& causes);

std::string causes_text(const Plan& plan, const StepCauses& causes);
nlohmann::ordered_json causes_json(const Plan& plan, const StepCauses& causes);

/// How a measured run is changed.
struct MeasuredChanges {
  std::vector<std::string> without;   // as --without takes them: "rank=7", "gaps"
  std::vector<std::string> settings;  // as --set: /chance, and overheads of the host

  bool empty() const { return without.empty() && settings.empty(); }
};

/// A measured run as it would have been.
struct Counterfactual {
  Recording run;
  MeasuredChanges changes;
  Time measured{};
  Time changed{};
};

/// Takes causes out of a run, then applies settings to what is left; everything else stays as
/// measured, and so does what no cause explains. Throws UsageError for what cannot be taken out or
/// set, and InputError for values that do not fit.
Counterfactual counterfactual(const Recording& run, const std::string& source,
                              const MeasuredChanges& changes,
                              const ExpectedOps* expected = nullptr);

/// The line above the explanation of a changed run.
std::string changed_text(const Counterfactual& changed);
nlohmann::ordered_json changed_json(const Counterfactual& changed);

}  // namespace penstock
