#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/plan/plan.hpp"
#include "validate/job/message.hpp"

namespace penstock {

/// A tensor that an action reads: the transfer that brings it, and what it has to be.
struct Reading {
  TaskId transfer;
  TensorLabel expected;
};

/// A tensor that an action has sent: its own to another rank, or an activation out and back again.
struct TensorSending {
  TaskId transfer;
  std::uint32_t link;
  std::uint32_t reader;  // a rank
  TaskId brings_back;    // the transfer whose tensor it is; no_task: what the action makes
};

/// An action with all that a rank must know to run it.
struct Step {
  TaskId task;
  TensorLabel makes;
  std::vector<Reading> reads;
  std::vector<TensorSending> sends;
};

/// What each rank does, in its order. What a step reads is told from what the action itself needs,
/// not from what its inputs are, so that a plan that ties the wrong tasks together is found out.
using RankProgram = std::vector<Step>;

/// Takes a plan apart, rank by rank. The plan must have no obstacle.
std::vector<RankProgram> rank_programs(const Plan& plan);

/// Why a plan holds more than ranks that hand tensors to each other; nothing when it does not.
std::optional<std::string> why_no_programs(const Plan& plan);

}  // namespace penstock
