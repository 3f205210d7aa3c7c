#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "schedules/policies/choosing/zero_bubble_search.hpp"
#include "schedules/registry.hpp"
#include "sim/order/policy.hpp"

namespace penstock {

/// A way to choose the order at run time: one .cpp in this folder.
struct PolicyEntry {
  std::string_view name;
  std::string_view summary;
  bool splits_backward = false;  // always, not by option
  std::span<const ScheduleOption> options = {};

  /// Throws RuleError for an invalid option. `prices` has each stage; it is empty when a policy is
  /// made only to check its options.
  std::unique_ptr<Policy> (*make)(const Placement& placement, const ScheduleOptions& options,
                                  std::span<const StagePrice> prices);
};

/// All policies, by name.
std::span<const PolicyEntry* const> policy_entries();

/// The options that a policy takes: those of all policies and its own.
std::vector<ScheduleOption> options_of_policy(const PolicyEntry& entry);

/// Makes a policy after checking its options. Throws RuleError.
std::unique_ptr<Policy> make_policy(const PolicyEntry& entry, const Placement& placement,
                                    const ScheduleOptions& options,
                                    std::span<const StagePrice> prices = {});

/// The placement of the stages under a policy: the option "placement", loop or vee.
Placement policy_placement(std::uint32_t ranks, std::uint32_t chunks,
                           const ScheduleOptions& options);
/// The actions to run, with backwards whole or split as the policy or its option "backward" says.
Schedule policy_work(const PolicyEntry& entry, const Placement& placement,
                     const ScheduleOptions& options);

/// Urgency of a pass when backwards go first: they unblock others, forwards start new work, and no
/// rank waits for W.
int urgency(Pass pass);

/// The most urgent candidate that `allowed` accepts; ties go to the one ready longest.
template <class Allowed>
std::optional<std::size_t> most_urgent(std::span<const Candidate> candidates, Allowed allowed) {
  std::optional<std::size_t> best;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const Action& action = candidates[c].action;
    if (!allowed(action)) continue;
    if (!best || urgency(action.pass) < urgency(candidates[*best].action.pass)) best = c;
  }
  return best;
}

}  // namespace penstock
