#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/costs/priced_plan.hpp"
#include "sim/plan/plan.hpp"
#include "validate/job/message.hpp"

namespace penstock {

/// A tensor that an action reads: its transfer, its box, and its expected identity.
struct Reading {
  TaskId transfer;
  std::size_t box;
  TensorLabel expected;
};

/// A rank that reads a sent tensor, from a box of its own.
struct TensorReader {
  std::uint32_t rank;
  std::size_t box;
};

/// A tensor that an action sends: to other ranks, or an eviction and its return.
struct TensorSend {
  TaskId transfer;
  std::uint32_t link;
  TensorLabel label;
  std::vector<TensorReader> readers;  // none: nobody looks at it
  TaskId brings_back;  // the transfer whose tensor comes back; no_task: the action's own output
};

/// An action, or both parts of a fused cell, with everything its rank must know to run it.
struct Step {
  TaskId task;
  TaskId beside;  // the second part of a fused cell, or no_task
  std::vector<Reading> reads;
  std::vector<TaskId> awaits;     // where communication is written: all that it waits for
  std::vector<TensorSend> early;  // sent once all that it reads is there, before it starts
  std::vector<TensorSend> sends;
};

/// The steps of each rank, in order. Readings follow from the action itself, not from its inputs in
/// the plan, so that a plan with wrong dependencies is detected.
using RankProgram = std::vector<Step>;

/// Splits a plan by rank. The plan must have no obstacle.
std::vector<RankProgram> rank_programs(const Plan& plan);

/// The transfer of each box of these programs. The first box of a transfer has its number.
std::vector<TaskId> transfers_of_boxes(const Plan& plan, const std::vector<RankProgram>& programs);

/// What a plan has beyond ranks that pass tensors to each other; nothing otherwise.
std::optional<std::string> why_no_programs(const Plan& plan);

/// That a plan exchanges tensors within a rank, which threads alone do; nothing otherwise.
std::optional<std::string> why_only_threads(const Plan& plan);

/// Whether transfers of several ranks meet on a link, so that nobody knows alone when his own
/// arrives.
bool shares_links(const PricedPlan& priced);

/// What a plan has beyond actions and tensors that each take their time; nothing otherwise.
std::optional<std::string> why_not_plain(const PricedPlan& priced);

}  // namespace penstock
