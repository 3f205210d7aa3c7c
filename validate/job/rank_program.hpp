#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/plan/plan.hpp"
#include "validate/job/message.hpp"

namespace penstock {

/// A tensor that an action reads: its transfer and its expected identity.
struct Reading {
  TaskId transfer;
  TensorLabel expected;
};

/// A tensor that an action sends: to another rank, or an eviction and its return.
struct TensorSend {
  TaskId transfer;
  std::uint32_t link;
  std::uint32_t reader;  // a rank
  TaskId brings_back;    // the transfer whose tensor comes back; no_task: the action's own output
};

/// An action with everything its rank must know to run it.
struct Step {
  TaskId task;
  TensorLabel makes;
  std::vector<Reading> reads;
  std::vector<TensorSend> sends;
};

/// The steps of each rank, in order. Readings follow from the action itself, not from its inputs in
/// the plan, so that a plan with wrong dependencies is detected.
using RankProgram = std::vector<Step>;

/// Splits a plan by rank. The plan must have no obstacle.
std::vector<RankProgram> rank_programs(const Plan& plan);

/// What a plan has beyond ranks that pass tensors to each other; nothing otherwise.
std::optional<std::string> why_no_programs(const Plan& plan);

}  // namespace penstock
