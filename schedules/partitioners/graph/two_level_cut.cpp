#include "schedules/partitioners/graph/two_level_cut.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// The ideals within each ideal, without itself.
std::vector<std::vector<std::uint32_t>> ideals_within(const IdealSpace& space) {
  std::vector<std::vector<std::uint32_t>> within(space.size());
  for (std::uint32_t upto = 0; upto < space.size(); ++upto) {
    for (std::uint32_t before = 0; before < upto; ++before) {
      if (space.contains(upto, before)) within[upto].push_back(before);
    }
  }
  return within;
}

/// The cuts of everything behind one ideal over the devices of a group.
class GroupTable {
 public:
  GroupTable(const IdealSpace& space, const TwoLevels& levels)
      : space_(space),
        prices_(levels.inside),
        devices_(levels.devices),
        charges_twice_(levels.charges_twice),
        within_(ideals_within(space)) {}

  /// Fills the table for the ideals that hold `first`.
  void fill(std::uint32_t first) {
    first_ = first;
    open_.assign(std::size_t{space_.size()} * (devices_ + 1), {});
    closed_.assign(open_.size(), {});
    open_[cell(first, 0)].value = 0;
    held_.assign(space_.size(), false);
    held_[first] = true;
    for (std::uint32_t upto = first + 1; upto < space_.size(); ++upto) {
      if (std::ranges::binary_search(within_[upto], first)) fill_to(upto);
    }
  }

  double value(std::uint32_t upto) const { return closed_[cell(upto, devices_)].value; }

  std::vector<ReplicatedStage> traced(std::uint32_t upto) const {
    std::vector<ReplicatedStage> stages;
    std::uint32_t devices = devices_;
    const std::vector<Cell>* cells = &closed_;
    while (upto != first_) {
      const Cell& from = (*cells)[cell(upto, devices)];
      stages.push_back({from.before, upto, from.replicas});
      upto = from.before;
      devices -= from.replicas;
      cells = &open_;
    }
    std::ranges::reverse(stages);
    return stages;
  }

 private:
  struct Cell {
    double value = no_cut;
    std::uint32_t before = 0;
    std::uint32_t replicas = 0;
  };
  static void take(double value, const ReplicatedStage& stage, Cell& cell) {
    if (value < cell.value) cell = {value, stage.before, stage.replicas};
  }
  std::size_t cell(std::uint32_t ideal, std::uint32_t devices) const {
    return std::size_t{ideal} * (devices_ + 1) + devices;
  }

  /// The nearest ideals first: far ones make stages too long to help.
  void fill_to(std::uint32_t upto) {
    held_[upto] = true;
    for (std::uint32_t r = 1; r <= devices_; ++r) add({first_, upto, r});
    const std::vector<std::uint32_t>& before = within_[upto];
    for (std::size_t i = before.size(); i-- > 0 && before[i] > first_;) {
      if (!held_[before[i]]) continue;
      const double compute = space_.compute_s[upto] - space_.compute_s[before[i]];
      for (std::uint32_t r = 1; r < devices_; ++r) {
        if (compute < most(upto, r + 1) * r) add({before[i], upto, r});
      }
    }
  }

  /// The worst value so far with at least this many devices.
  double most(std::uint32_t upto, std::uint32_t devices) const {
    double most = 0;
    for (std::uint32_t n = devices; n <= devices_; ++n) {
      most = std::max({most, open_[cell(upto, n)].value, closed_[cell(upto, n)].value});
    }
    return most;
  }

  /// A stage has another one of its group behind it, or stands at the end of the group: what passes
  /// between groups is charged there.
  void add(const ReplicatedStage& stage) {
    const double compute = space_.compute_s[stage.upto] - space_.compute_s[stage.before];
    const bool first = stage.before == first_;
    const bool sends = stage.upto + 1 < space_.size() && (!first || prices_.counts_first_output);
    const double within = stage_time(space_, prices_, compute, stage, {!first, sends});
    const double ending = !sends || (charges_twice_ && !first)
                              ? within
                              : stage_time(space_, prices_, compute, stage, {!first, false});
    const Cell* before = &open_[cell(stage.before, 0)];
    Cell* open = &open_[cell(stage.upto, 0)];
    Cell* closed = &closed_[cell(stage.upto, 0)];
    for (std::uint32_t n = stage.replicas; n <= devices_; ++n) {
      const double value = before[n - stage.replicas].value;
      take(std::max(value, within), stage, open[n]);
      take(std::max(value, ending), stage, closed[n]);
    }
  }

  const IdealSpace& space_;
  const ReplicaPrices& prices_;
  std::uint32_t devices_;
  bool charges_twice_;
  std::vector<std::vector<std::uint32_t>> within_;
  std::uint32_t first_ = 0;
  std::vector<Cell> open_;    // by ideal and devices: with another stage of the group behind it
  std::vector<Cell> closed_;  // at the end of the group
  std::vector<bool> held_;    // ideals that hold the first
};

/// The table over groups, filled ideal by ideal as the values of groups that begin there are known.
class LevelTable {
 public:
  LevelTable(const IdealSpace& space, const TwoLevels& levels)
      : space_(space),
        levels_(levels),
        least_(std::size_t{space.size()} * (levels.groups + 1), no_cut),
        from_(least_.size()) {
    least_[0] = 0;
  }

  TwoLevelCut fill() {
    GroupTable group(space_, levels_);
    for (std::uint32_t before = 0; before + 1 < space_.size(); ++before) {
      if (!is_reached(before)) continue;
      group.fill(before);
      for (std::uint32_t upto = before + 1; upto < space_.size(); ++upto) {
        if (group.value(upto) == no_cut) continue;
        for (std::uint32_t r = 1; r <= levels_.groups; ++r) {
          add({before, upto, r}, group.value(upto));
        }
      }
    }
    return traced(group);
  }

 private:
  std::size_t cell(std::uint32_t ideal, std::uint32_t groups) const {
    return std::size_t{ideal} * (levels_.groups + 1) + groups;
  }

  /// Whether a stage can begin here with a group left for it.
  bool is_reached(std::uint32_t ideal) const {
    const double* values = &least_[cell(ideal, 0)];
    return std::any_of(values, values + levels_.groups, [](double v) { return v != no_cut; });
  }

  void add(const ReplicatedStage& stage, double group_s) {
    const double own = stage_time(space_, levels_.between, group_s, stage);
    for (std::uint32_t n = stage.replicas; n <= levels_.groups; ++n) {
      const double value = std::max(least_[cell(stage.before, n - stage.replicas)], own);
      if (value >= least_[cell(stage.upto, n)]) continue;
      least_[cell(stage.upto, n)] = value;
      from_[cell(stage.upto, n)] = stage;
    }
  }

  TwoLevelCut traced(GroupTable& group) const {
    TwoLevelCut cut;
    std::uint32_t ideal = space_.size() - 1;
    std::uint32_t groups = levels_.groups;
    cut.value = least_[cell(ideal, groups)];
    while (ideal > 0 && cut.value != no_cut) {
      const ReplicatedStage stage = from_[cell(ideal, groups)];
      group.fill(stage.before);
      cut.stages.push_back({stage, group.traced(ideal)});
      ideal = stage.before;
      groups -= stage.replicas;
    }
    std::ranges::reverse(cut.stages);
    return cut;
  }

  const IdealSpace& space_;
  const TwoLevels& levels_;
  std::vector<double> least_;
  std::vector<ReplicatedStage> from_;
};

}  // namespace

TwoLevelCut two_level_cut(const IdealSpace& space, const TwoLevels& levels) {
  return LevelTable(space, levels).fill();
}

}  // namespace penstock
