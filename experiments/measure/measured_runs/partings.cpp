#include "experiments/measure/measured_runs/partings.hpp"

#include <fmt/format.h>

#include <optional>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Whether a tensor between a stage and its neighbour crosses ranks.
bool crosses(const Placement& placement, const Action& action, std::optional<Stage> neighbour) {
  return neighbour && placement.rank_of(*neighbour, action.microbatch) !=
                          placement.rank_of(action.stage, action.microbatch);
}

bool sends(const Placement& placement, const Action& action) {
  if (is_forward(action)) return crosses(placement, action, placement.after(action.stage));
  return gives_gradient(action.pass) && crosses(placement, action, placement.before(action.stage));
}

bool receives(const Placement& placement, const Action& action) {
  if (is_forward(action)) return crosses(placement, action, placement.before(action.stage));
  return gives_gradient(action.pass) && crosses(placement, action, placement.after(action.stage));
}

InputError told_apart_by_nothing(const Action& before, const Action& after, Rank rank) {
  return InputError(fmt::format(
      "{} and {} of rank {} cannot be told apart: no message lies between them{}; a trace with "
      "annotations can be read",
      text(before), text(after), index(rank),
      is_forward(before) == is_forward(after)
          ? ""
          : ", and the launches that would tell their threads are not in it"));
}

}  // namespace

std::vector<ActionGroup> action_groups(const Schedule& schedule, const Placement& placement,
                                       Rank rank, PartingFacts facts) {
  const std::vector<Action>& actions = schedule.on(rank);
  std::vector<ActionGroup> groups;
  for (std::uint32_t i = 0; i < actions.size(); ++i) {
    const bool sent = i > 0 && sends(placement, actions[i - 1]);
    const bool other_thread =
        i > 0 && facts.threads_known && is_forward(actions[i - 1]) != is_forward(actions[i]);
    if (i == 0 || (sent && facts.sends_named) || other_thread) {
      groups.push_back({i, 1});
    } else if (sent || receives(placement, actions[i])) {
      ++groups.back().count;
    } else {
      throw told_apart_by_nothing(actions[i - 1], actions[i], rank);
    }
  }
  return groups;
}

}  // namespace penstock
