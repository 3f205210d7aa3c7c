#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validate/backends/nccl/comm_channels.hpp"

namespace penstock {

/// What ranks do together, or one alone: an action with what is fused to it, one transfer or two in
/// a group, or a collective with the transfers of all its ranks.
struct Meeting {
  TaskId order;               // all ranks issue meetings by this
  std::vector<TaskId> tasks;  // the first is the one that others joined
};

/// All meetings of a plan, in the order of issue.
struct Meetings {
  std::vector<Meeting> all;
  std::vector<std::uint32_t> of_task;  // index of its meeting
};

/// A collective comes at the place of its last transfer, when all ranks can have come to it. With
/// channels per pair, a transfer and the one before it of its pair share a group if they go
/// opposite ways and either can come at the other's place: the second waits for nothing in between,
/// or nothing in between reads the first.
Meetings meetings_of(const Plan& plan, const TaskChannels& channels, ChannelRule rule);

/// Ranks of a stage that do not reduce or gather equally often; nothing when all do.
std::optional<std::string> uneven_collectives(const Plan& plan, const TaskChannels& channels);

}  // namespace penstock
