#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/measure/causes/cause.hpp"
#include "experiments/measure/causes/lateness.hpp"
#include "experiments/measure/causes/op_model.hpp"
#include "experiments/measure/causes/replay.hpp"
#include "experiments/show/pictures/plots/heat_map.hpp"

namespace penstock {

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

}  // namespace penstock
