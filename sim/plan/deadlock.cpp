#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/plan/lower.hpp"
#include "sim/plan/work_classes.hpp"

namespace penstock {
namespace {

/// The action of `rank`, which holds `stage`, that produces the input of an action;
/// `find_order_fault` guarantees that it exists.
Action producer_for(const Schedule& schedule, const Action& action, Stage stage, Rank rank) {
  const bool gradient = gives_gradient(action.pass);
  for (const Action& other : schedule.on(rank)) {
    if (other.stage == stage && other.microbatch == action.microbatch &&
        (gradient ? gives_gradient(other.pass) : other.pass == Pass::forward)) {
      return other;
    }
  }
  throw InputError(fmt::format("{} needs {} of stage {}, which no rank runs", text(action),
                               gradient ? "the gradient" : "the activation", index(stage)));
}

}  // namespace

std::string text(const Deadlock& deadlock) {
  std::string all = "deadlock: ";
  for (std::size_t i = 0; i < deadlock.circle.size(); ++i) {
    const Wait& wait = deadlock.circle[i];
    const Wait& next = deadlock.circle[(i + 1) % deadlock.circle.size()];
    if (i != 0) all += "; ";
    all += fmt::format("{} of rank {} waits for {} of rank {}", text(wait.action), index(wait.rank),
                       text(wait.needs), index(wait.needs_rank));
    const bool direct = next.action.stage == wait.needs.stage &&
                        next.action.pass == wait.needs.pass &&
                        next.action.microbatch == wait.needs.microbatch;
    if (!direct) all += fmt::format(", which follows {}", text(next.action));
  }
  return all;
}

/// Follows the waits from the first stuck rank until a rank repeats.
Deadlock find_deadlock(const Schedule& schedule, const Placement& placement,
                       const std::vector<const Action*>& stopped) {
  Rank rank{0};
  while (stopped[index(rank)] == nullptr) rank = Rank{index(rank) + 1};
  std::vector<Wait> path;
  const auto seen_at = [&](Rank wanted) {
    return std::find_if(path.begin(), path.end(), [&](const Wait& w) { return w.rank == wanted; });
  };
  while (seen_at(rank) == path.end()) {
    const Action& waits = *stopped[index(rank)];
    const Stage wanted = *source_of(placement, waits);
    const Rank other = placement.rank_of(wanted, waits.microbatch);
    path.push_back({rank, waits, producer_for(schedule, waits, wanted, other), other});
    rank = other;
  }
  return {{seen_at(rank), path.end()}};
}

}  // namespace penstock
