#pragma once

#include <cstdint>
#include <vector>

#include "schedules/partitioners/graph/graph_cut.hpp"

namespace penstock {

/// Devices in equal groups, with another bandwidth between groups.
struct TwoLevels {
  ReplicaPrices inside;
  ReplicaPrices between;
  std::uint32_t devices = 1;  // of a group
  std::uint32_t groups = 1;
  // A group's last stage, unless it is the only one, is also charged for its output at the price
  // inside the group, as PipeDream does.
  bool charges_twice = false;
};

/// A stage of groups, and how each of its groups cuts it.
struct GroupStage {
  ReplicatedStage stage;                // replicas are groups
  std::vector<ReplicatedStage> inside;  // replicas are devices of one group
};

struct TwoLevelCut {
  double value = std::numeric_limits<double>::infinity();
  std::vector<GroupStage> stages;
};

/// Cuts for all devices of one group first, whatever a group begins and ends with; then cuts over
/// groups, as PipeDream does level by level. Takes O(size^3 x devices^2) time.
TwoLevelCut two_level_cut(const IdealSpace& space, const TwoLevels& levels);

}  // namespace penstock
