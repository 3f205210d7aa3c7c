#pragma once

#include <cstdint>
#include <vector>

#include "validate/backends/nccl/comm_plan.hpp"

namespace penstock {

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
