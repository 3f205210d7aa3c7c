#pragma once

#include <cstdint>
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

}  // namespace penstock
