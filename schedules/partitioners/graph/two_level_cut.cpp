#include "schedules/partitioners/graph/two_level_cut.hpp"

#include <algorithm>

namespace penstock {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// The cuts of everything behind one ideal over the devices of a group.
class GroupTable {
 public:
  GroupTable(const IdealSpace& space, const ReplicaPrices& prices, std::uint32_t devices)
      : space_(space), prices_(prices), devices_(devices) {}

  /// Fills the table for the ideals that hold `first`.
  void fill(std::uint32_t first) {
    first_ = first;
    least_.assign(std::size_t{space_.size()} * (devices_ + 1), never);
    from_.assign(least_.size(), {});
    least_[std::size_t{first} * (devices_ + 1)] = 0;
    held_.assign(1, first);
    for (std::uint32_t upto = first + 1; upto < space_.size(); ++upto) {
      if (!space_.contains(upto, first)) continue;
      fill_to(upto);
      held_.push_back(upto);
    }
  }

  double value(std::uint32_t upto) const { return least_[cell(upto, devices_)]; }

  std::vector<ReplicatedStage> traced(std::uint32_t upto) const {
    std::vector<ReplicatedStage> stages;
    std::uint32_t devices = devices_;
    while (upto != first_) {
      const ReplicatedStage& from = from_[cell(upto, devices)];
      stages.push_back({from.before, upto, from.replicas});
      upto = from.before;
      devices -= from.replicas;
    }
    std::reverse(stages.begin(), stages.end());
    return stages;
  }

 private:
  std::size_t cell(std::uint32_t ideal, std::uint32_t devices) const {
    return std::size_t{ideal} * (devices_ + 1) + devices;
  }

  void fill_to(std::uint32_t upto) {
    for (const std::uint32_t before : held_) {
      if (before != first_ && !space_.contains(upto, before)) continue;
      for (std::uint32_t r = 1; r <= devices_; ++r) add({before, upto, r});
    }
  }

  /// The first stage of a group is a first stage wherever the group begins.
  double time_of(const ReplicatedStage& stage) const {
    const double compute = space_.compute_s[stage.upto] - space_.compute_s[stage.before];
    if (stage.before != first_ || first_ == 0) return stage_time(space_, prices_, compute, stage);
    const double parameters =
        space_.parameter_bytes[stage.upto] - space_.parameter_bytes[stage.before];
    const double replicas = stage.replicas;
    return (compute + 4 * (replicas - 1) * parameters * prices_.seconds_per_byte / replicas) /
           replicas;
  }

  void add(const ReplicatedStage& stage) {
    const double own = time_of(stage);
    const double* before = &least_[cell(stage.before, 0)];
    double* values = &least_[cell(stage.upto, 0)];
    for (std::uint32_t n = stage.replicas; n <= devices_; ++n) {
      const double value = std::max(before[n - stage.replicas], own);
      if (value >= values[n]) continue;
      values[n] = value;
      from_[cell(stage.upto, n)] = stage;
    }
  }

  const IdealSpace& space_;
  const ReplicaPrices& prices_;
  std::uint32_t devices_;
  std::uint32_t first_ = 0;
  std::vector<double> least_;
  std::vector<ReplicatedStage> from_;
  std::vector<std::uint32_t> held_;
};

/// The table over groups, filled ideal by ideal as the values of groups that begin there are known.
class LevelTable {
 public:
  LevelTable(const IdealSpace& space, const TwoLevels& levels)
      : space_(space),
        levels_(levels),
        least_(std::size_t{space.size()} * (levels.groups + 1), never),
        from_(least_.size()) {
    least_[0] = 0;
  }

  TwoLevelCut fill() {
    GroupTable group(space_, levels_.inside, levels_.devices);
    for (std::uint32_t before = 0; before + 1 < space_.size(); ++before) {
      if (!is_reached(before)) continue;
      group.fill(before);
      for (std::uint32_t upto = before + 1; upto < space_.size(); ++upto) {
        if (group.value(upto) == never) continue;
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
    return std::any_of(values, values + levels_.groups, [](double v) { return v != never; });
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
    while (ideal > 0 && cut.value != never) {
      const ReplicatedStage stage = from_[cell(ideal, groups)];
      group.fill(stage.before);
      cut.stages.push_back({stage, group.traced(ideal)});
      ideal = stage.before;
      groups -= stage.replicas;
    }
    std::reverse(cut.stages.begin(), cut.stages.end());
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
