#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validate/backends/nccl/comm_channels.hpp"
#include "validate/backends/nccl/comm_plan.hpp"

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

/// What a call that lacks a partner holds up.
enum class Blocking : std::uint8_t {
  streams,  // its own stream, as on a GPU with room for all streams
  ranks,    // all that its rank issues later: also safe where streams share a hardware queue
};

/// Runs the calls of all ranks with NCCL's rules: a group starts when its stream and all that it
/// waits for has ended, and ends when all its partners have started; sends and receives match by
/// peer and order, collectives by order. Nothing when everything ends; else who waits for what, or
/// the first two calls that match and do not fit.
std::optional<std::string> why_it_hangs(const CommPlan& comms, const Plan& plan, Blocking blocking);

}  // namespace penstock
