#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/plan/comm_rows.hpp"
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

/// The tensor from another rank that a cell waits for, if any.
std::optional<Crossing> crossing_for(const Placement& placement, const RowCell& cell, Rank rank) {
  if (const auto* comm = std::get_if<CommCell>(&cell)) return crossing_of(*comm, placement);
  const Action& action = std::get<Action>(cell);
  const Stage source = *source_of(placement, action);
  if (placement.rank_of(source, action.microbatch) == rank) return std::nullopt;
  return Crossing{gives_gradient(action.pass), source, action.stage, action.microbatch};
}

}  // namespace

std::string text(const RowCell& cell) {
  return std::visit([](const auto& one) { return text(one); }, cell);
}

std::string text(const Deadlock& deadlock) {
  std::string all = "deadlock: ";
  for (std::size_t i = 0; i < deadlock.circle.size(); ++i) {
    const Wait& wait = deadlock.circle[i];
    const Wait& next = deadlock.circle[(i + 1) % deadlock.circle.size()];
    if (i != 0) all += "; ";
    const std::string needs = text(wait.needs);
    const std::string follows = text(next.cell);
    all += fmt::format("{} of rank {} waits for {} of rank {}", text(wait.cell), index(wait.rank),
                       needs, index(wait.needs_rank));
    if (needs != follows) all += fmt::format(", which follows {}", follows);
  }
  return all;
}

/// Follows the waits from the first stuck rank until a cell repeats. A cell lacks an action that
/// its rank has not come to; a tensor lacks a SEND or RECV that its rank has not come to, or that
/// stands behind another one in its stream.
Deadlock find_deadlock(const Schedule& schedule, const Placement& placement,
                       const std::vector<std::optional<RowCell>>& stopped, const CommRows* comms) {
  Rank rank{0};
  while (!stopped[index(rank)]) rank = Rank{index(rank) + 1};
  RowCell cell = *stopped[index(rank)];
  std::vector<Wait> path;
  const auto seen = [&] {
    return std::ranges::find_if(
        path, [&](const Wait& wait) { return wait.rank == rank && wait.cell == cell; });
  };
  while (seen() == path.end()) {
    const auto crossing = comms == nullptr ? std::nullopt : crossing_for(placement, cell, rank);
    std::optional<RowCell> next;
    if (crossing) {
      const CommRows::Missing missing = comms->missing(*crossing);
      path.push_back({rank, cell, missing.cell, missing.rank});
      if (missing.behind) next = *missing.behind;
    } else {
      const Action& waits = std::get<Action>(cell);
      const Stage wanted = *source_of(placement, waits);
      const Rank other = placement.rank_of(wanted, waits.microbatch);
      path.push_back({rank, cell, producer_for(schedule, waits, wanted, other), other});
    }
    rank = path.back().needs_rank;
    cell = next ? *next : *stopped[index(rank)];
  }
  return {{seen(), path.end()}};
}

}  // namespace penstock
