#include "schedules/partitioners/problem/rank_holds.hpp"

#include <algorithm>
#include <functional>

#include "sim/order/weight_versions.hpp"

namespace penstock {
namespace {

using Counts = std::vector<std::uint32_t>;

bool is_below(const Counts& one, const Counts& other) {
  return std::equal(one.begin(), one.end(), other.begin(), std::less_equal<>());
}

void add_moment(const Counts& now, std::vector<Counts>& most) {
  const auto covers = [&](const Counts& one) { return is_below(now, one); };
  if (std::ranges::any_of(most, covers)) return;
  std::erase_if(most, [&](const Counts& one) { return is_below(one, now); });
  most.push_back(now);
}

/// Where a rank lists a model stage that it holds.
std::size_t place_of(std::uint32_t stage, const RankHolds& rank) {
  const auto place = std::lower_bound(rank.stages.begin(), rank.stages.end(), stage);
  return static_cast<std::size_t>(place - rank.stages.begin());
}

RankHolds holds_on(Rank rank, const Schedule& schedule, const Placement& placement) {
  RankHolds holds;
  for (const Stage stage : placement.stages_of(rank)) {
    holds.stages.push_back(placement.position(stage));
  }
  std::ranges::sort(holds.stages);
  holds.stages.erase(std::unique(holds.stages.begin(), holds.stages.end()), holds.stages.end());
  Counts now(holds.stages.size());
  holds.most.assign(now.size(), {now});
  if (!schedule.has_backward()) return holds;
  for (const Action& action : schedule.on(rank)) {
    const std::size_t own = place_of(placement.position(action.stage), holds);
    if (action.pass == Pass::forward || action.pass == Pass::load) ++now[own];
    if (runs_layers(action.pass)) add_moment(now, holds.most[own]);
    const bool leaves = ends_activation(action.pass) || action.pass == Pass::evict;
    if (leaves && now[own] > 0) --now[own];
  }
  return holds;
}

void add_older(const Schedule& schedule, const Placement& placement, std::vector<RankHolds>& all) {
  for (RankHolds& rank : all) rank.older.resize(rank.stages.size());
  const std::vector<WeightVersions> weights = weight_versions(schedule, placement);
  for (const Stage stage : placement.stages()) {
    for (const Microbatch replica : Numbers<Microbatch>(placement.replicas(stage))) {
      RankHolds& rank = all[index(placement.rank_of(stage, replica))];
      rank.older[place_of(placement.position(stage), rank)] +=
          weights[placement.slot_of(stage, replica)].versions - 1;
    }
  }
}

void keep_most(std::uint32_t stage, std::uint32_t count, std::vector<std::uint32_t>& most) {
  most.resize(std::max<std::size_t>(most.size(), stage + 1));
  most[stage] = std::max(most[stage], count);
}

}  // namespace

std::vector<RankHolds> holds_of(const Schedule& schedule, const Placement& placement) {
  std::vector<RankHolds> all;
  for (const Rank rank : Numbers<Rank>(placement.ranks())) {
    all.push_back(holds_on(rank, schedule, placement));
  }
  add_older(schedule, placement, all);
  return all;
}

std::vector<std::uint32_t> most_cells(const std::vector<RankHolds>& holds) {
  std::vector<std::uint32_t> cells;
  for (const RankHolds& one : holds) {
    for (std::size_t i = 0; i < one.stages.size(); ++i) {
      for (const Counts& moment : one.most[i]) keep_most(one.stages[i], moment[i], cells);
    }
  }
  return cells;
}

std::vector<std::uint32_t> most_older(const std::vector<RankHolds>& holds) {
  std::vector<std::uint32_t> older;
  for (const RankHolds& one : holds) {
    for (std::size_t i = 0; i < one.stages.size(); ++i)
      keep_most(one.stages[i], one.older[i], older);
  }
  return older;
}

}  // namespace penstock
