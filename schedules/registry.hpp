#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "schedules/patterns/rules.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// A schedule rule: one .cpp in this folder.
struct ScheduleEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view needs = "any ranks and microbatches";  // requirements on p, v and m
  std::string_view bubble;  // closed form of the bubble for equal stages and free links
  std::string_view peak;    // closed form of the most activations that rank r holds
  std::uint32_t default_chunks = 1;
  std::uint32_t copies = 1;  // of the model: 2 for bidirectional rules
  /// Chunks per rank that the options imply; null when they imply none.
  std::uint32_t (*chunks_for)(const ScheduleOptions& options) = nullptr;
  /// Cells per microbatch and stage; null for one.
  std::uint32_t (*slices_for)(const ScheduleOptions& options) = nullptr;
  WeightUse weights = WeightUse::flushed;  // the others are asynchronous: no flush in an epoch
  std::span<const ScheduleOption> options = {};

  /// The default placement. Throws RuleError for an unsupported number of chunks.
  Placement (*place)(std::uint32_t ranks, std::uint32_t chunks);
  /// The order. Throws RuleError for an unsupported placement or option.
  Schedule (*make)(const Placement& placement, const ScheduleOptions& options);
  /// `Bubble::of_makespan` in closed form for equal stages, f = i = w and free links; NaN for sizes
  /// it does not cover, null when unknown.
  double (*bubble_of_makespan)(std::uint32_t ranks, std::uint32_t chunks,
                               std::uint32_t microbatches) = nullptr;
};

/// All schedules, by name.
std::span<const ScheduleEntry* const> schedule_entries();

/// The schedule that another project's name stands for, such as PyTorch's ScheduleZBVZeroBubble or
/// its short form ZBVZeroBubble; the name itself if there is none.
std::string meant_schedule(std::string_view name);

/// The default number of chunks per rank. Throws RuleError.
std::uint32_t usual_chunks(const ScheduleEntry& entry, const ScheduleOptions& options);

/// The placement of a rule. For chunks that the rule does not support, throws RuleError that ends
/// with `remedy` and the usual number: "needs 1 chunk per rank, got 2: give --chunks 1".
Placement place_stages(const ScheduleEntry& entry, std::uint32_t ranks, std::uint32_t chunks,
                       const ScheduleOptions& options, std::string_view remedy);

/// Throws RuleError when a schedule would have no actions, or too many.
void check_size(const Placement& placement, const ScheduleOptions& options);

/// Makes the order after checking sizes and options. Throws RuleError.
Schedule make_schedule(const ScheduleEntry& entry, const Placement& placement,
                       const ScheduleOptions& options);

}  // namespace penstock
