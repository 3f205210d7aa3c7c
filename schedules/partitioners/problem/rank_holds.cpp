#include "schedules/partitioners/problem/rank_holds.hpp"

#include <algorithm>
#include <functional>

namespace penstock {
namespace {

using Counts = std::vector<std::uint32_t>;

bool is_below(const Counts& one, const Counts& other) {
  return std::equal(one.begin(), one.end(), other.begin(), std::less_equal<>());
}

void add_moment(const Counts& now, std::vector<Counts>& most) {
  const auto covers = [&](const Counts& one) { return is_below(now, one); };
  if (std::any_of(most.begin(), most.end(), covers)) return;
  std::erase_if(most, [&](const Counts& one) { return is_below(one, now); });
  most.push_back(now);
}

RankHolds holds_on(Rank rank, const Schedule& schedule, const Placement& placement) {
  RankHolds holds;
  for (const Stage stage : placement.stages_of(rank)) {
    holds.stages.push_back(placement.position(stage));
  }
  std::sort(holds.stages.begin(), holds.stages.end());
  holds.stages.erase(std::unique(holds.stages.begin(), holds.stages.end()), holds.stages.end());
  Counts now(holds.stages.size());
  holds.most.assign(now.size(), {now});
  if (!schedule.has_backward()) return holds;
  for (const Action& action : schedule.on(rank)) {
    const auto place = std::lower_bound(holds.stages.begin(), holds.stages.end(),
                                        placement.position(action.stage));
    const auto own = static_cast<std::size_t>(place - holds.stages.begin());
    if (action.pass == Pass::forward || action.pass == Pass::load) ++now[own];
    if (runs_layers(action.pass)) add_moment(now, holds.most[own]);
    const bool leaves = ends_activation(action.pass) || action.pass == Pass::evict;
    if (leaves && now[own] > 0) --now[own];
  }
  return holds;
}

}  // namespace

std::vector<RankHolds> holds_of(const Schedule& schedule, const Placement& placement) {
  std::vector<RankHolds> all;
  for (const Rank rank : Numbers<Rank>(placement.ranks())) {
    all.push_back(holds_on(rank, schedule, placement));
  }
  return all;
}

std::vector<std::uint32_t> most_cells(const std::vector<RankHolds>& holds) {
  std::vector<std::uint32_t> cells;
  for (const RankHolds& one : holds) {
    for (std::size_t i = 0; i < one.stages.size(); ++i) {
      cells.resize(std::max<std::size_t>(cells.size(), one.stages[i] + 1));
      for (const Counts& moment : one.most[i]) {
        cells[one.stages[i]] = std::max(cells[one.stages[i]], moment[i]);
      }
    }
  }
  return cells;
}

}  // namespace penstock
