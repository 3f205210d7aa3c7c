#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/input/long_work/progress.hpp"
#include "experiments/run/changes/tried_changes.hpp"

namespace penstock {

struct ChangePlanOptions {
  ChangeKinds kinds;
  std::size_t jobs = SIZE_MAX;  // threads at most
  OnProgress on_progress = {};
};

/// Changes that ran: the best of each family, fastest first.
struct ChangeList {
  std::vector<TriedChange> worth;    // see `is_worth`
  std::vector<TriedChange> lacking;  // faster, but they fit worse than what runs now
  std::size_t tried = 0;
};

/// The cheapest changes of what runs today.
struct ChangePlan {
  TriedChange now;
  ChangeList one, two;
  std::uint32_t not_tried = 0;           // because the run is large
  std::optional<TrainingCost> training;  // as it runs now, if asked

  /// Whether the scenario fits, or a change makes it fit.
  bool any_fits() const;
};

/// Tries each change, and then pairs of those that help or do no harm: a second change counts if it
/// is worth it beside each of the two alone. The result must belong to the scenario and have
/// finished; it does not depend on `jobs`.
ChangePlan plan_changes(const Scenario& scenario, const RunResult& result,
                        const ChangePlanOptions& options);

/// The fastest changes that are worth it, at most `best`, among them the fastest of each effort:
/// what asks least of a user in front.
std::vector<TriedChange> cheapest(const ChangeList& list, std::size_t best);

/// The scenario with a change, as the text of a file in another folder.
std::string changed_document(const Scenario& scenario, const TriedChange& change,
                             const std::string& folder);

std::string change_plan_text(const Scenario& scenario, const RunResult& result,
                             const ChangePlan& plan, std::size_t best);
/// All changes that are worth it or lack memory.
nlohmann::ordered_json change_plan_json(const Scenario& scenario, const RunResult& result,
                                        const ChangePlan& plan);

}  // namespace penstock
