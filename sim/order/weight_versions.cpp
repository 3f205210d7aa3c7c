#include "sim/order/weight_versions.hpp"

#include <algorithm>

#include "sim/order/schedule.hpp"

namespace penstock {
namespace {

/// Follows the weights of one slot through the row of its rank. Version v is the result of v
/// updates.
class Versions {
 public:
  Versions(const std::vector<Action>& row, Stage stage, WeightRule rule, std::uint32_t columns)
      : row_(row), stage_(stage), rule_(rule), used_(columns), users_(1) {}

  WeightVersions count(const MicrobatchColumns& columns) {
    WeightVersions found;
    assign(columns, found);
    follow(columns, found);
    return found;
  }

 private:
  template <class Visitor>
  void for_each_action(const MicrobatchColumns& columns, Visitor visit) const {
    for (const Action& action : row_) {
      if (action.stage == stage_) visit(action.pass, columns.column_of(action.microbatch));
    }
  }

  /// Sets the version of each microbatch, and the updates until its own.
  void assign(const MicrobatchColumns& columns, WeightVersions& found) {
    std::uint32_t newest = 0;
    for_each_action(columns, [&](Pass pass, std::uint32_t column) {
      if (pass == Pass::forward) used_[column] = newest;
      if (pass == Pass::update) users_.resize(++newest + 1);
      if (!ends_activation(pass)) return;
      std::uint32_t& used = used_[column];
      if (rule_.use == WeightUse::delayed) used = newest - std::min(newest, rule_.delay);
      found.staleness = std::max(found.staleness, newest - used);
      ++users_[used];
    });
  }

  void follow(const MicrobatchColumns& columns, WeightVersions& found) {
    std::uint32_t newest = 0, alive = 1;
    for_each_action(columns, [&](Pass pass, std::uint32_t column) {
      if (pass == Pass::update && users_[newest++] > 0) ++alive;
      if (ends_activation(pass) && --users_[used_[column]] == 0 && used_[column] != newest) --alive;
      found.versions = std::max(found.versions, alive);
    });
  }

  const std::vector<Action>& row_;
  Stage stage_;
  WeightRule rule_;
  std::vector<std::uint32_t> used_;   // by microbatch: its version
  std::vector<std::uint32_t> users_;  // by version: microbatches that still need it
};

}  // namespace

std::vector<WeightVersions> weight_versions(const Schedule& schedule, const Placement& placement) {
  std::vector<WeightVersions> found(placement.slots());
  if (schedule.weights().use == WeightUse::flushed) return found;
  const MicrobatchColumns columns(schedule);
  for (Stage stage : placement.stages()) {
    for (Microbatch replica : Numbers<Microbatch>(placement.replicas(stage))) {
      const std::uint32_t slot = placement.slot_of(stage, replica);
      found[slot] = Versions(schedule.on(placement.rank_of_slot(slot)), stage, schedule.weights(),
                             columns.count())
                        .count(columns);
    }
  }
  return found;
}

std::vector<WeightVersions> weight_versions_by_rank(const Schedule& schedule,
                                                    const Placement& placement) {
  const std::vector<WeightVersions> slots = weight_versions(schedule, placement);
  std::vector<WeightVersions> ranks(placement.ranks());
  for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
    WeightVersions& rank = ranks[index(placement.rank_of_slot(slot))];
    rank.versions = std::max(rank.versions, slots[slot].versions);
    rank.staleness = std::max(rank.staleness, slots[slot].staleness);
  }
  return ranks;
}

}  // namespace penstock
