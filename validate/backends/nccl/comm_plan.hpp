#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/costs/priced_plan.hpp"
#include "sim/plan/plan.hpp"
#include "validate/backends/cuda/nccl_calls.hpp"
#include "validate/backends/nccl/comm_channels.hpp"

namespace penstock {

/// One call of NCCL.
struct CommOp {
  CommKind kind;
  TaskId task;         // the transfer
  std::uint32_t peer;  // of a send or receive: a rank of the plan
  std::uint64_t bytes;
};

/// What a rank issues as one: an action, or a group of calls.
struct RankItem {
  TaskId action = no_task;  // with `beside`, the second part of a fused cell
  TaskId beside = no_task;
  std::uint32_t channel = 0;              // of a group
  std::vector<CommOp> group = {};         // empty: an action
  std::vector<std::uint32_t> waits = {};  // items of the rank in other streams that must have ended

  bool is_action() const { return group.empty(); }
};

/// A plan as calls of NCCL. Each rank issues its items in this order; a stream runs its own ones in
/// turn.
struct CommPlan {
  std::vector<Channel> channels;
  std::vector<std::vector<RankItem>> ranks;
};

/// What a plan has that ranks cannot do by NCCL; nothing otherwise.
std::optional<std::string> why_no_comm_plan(const Plan& plan);

/// The calls of a plan. All ranks follow one order, so that no call waits for a later one: see
/// README. There must be no obstacle.
CommPlan comm_plan(const PricedPlan& priced, ChannelRule rule);

}  // namespace penstock
