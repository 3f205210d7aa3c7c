#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {

/// A communicator, with a stream of its own on each of its ranks.
struct Channel {
  std::string name;                    // "0>1", "0-1" or "stage 2"
  std::vector<std::uint32_t> members;  // ranks of the plan, ascending
  bool is_collective = false;

  /// The rank of a member in the communicator. It must be one.
  std::uint32_t position_of(std::uint32_t rank) const;
  bool has(std::uint32_t rank) const;
};

/// How tensors between two ranks share communicators.
enum class ChannelRule : std::uint8_t {
  per_direction,  // one each way: the links of the simulator
  per_pair,       // one for both ways; what crosses shares a group
};

/// Communicators of a plan, and which of them a task uses.
struct TaskChannels {
  std::vector<Channel> channels;
  std::vector<std::uint32_t> of_task;  // no_channel for actions
};
constexpr std::uint32_t no_channel = UINT32_MAX;

TaskChannels task_channels(const Plan& plan, ChannelRule rule);

/// Whether all ranks that hold a stage take part in a transfer.
constexpr bool is_collective(Pass pass) {
  return reduces_gradient(pass) || pass == Pass::gather_weights;
}

/// Calls of `ncclCommSplit` by all ranks that make all channels: those of one call have no rank in
/// common. The color of a rank is its channel, its key the position there.
std::vector<std::vector<std::uint32_t>> split_rounds(const std::vector<Channel>& channels);

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
