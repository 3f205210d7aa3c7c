#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "schedules/patterns/options.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// One schedule rule. A rule is one .cpp of this folder.
struct ScheduleEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view needs = "any ranks and microbatches";  // what it needs of p, v and m
  std::string_view bubble;  // closed form of the bubble, equal stages and free links
  std::string_view peak;    // closed form of the most activations that rank r holds
  std::uint32_t default_chunks = 1;
  std::uint32_t copies = 1;  // of the model: 2 for bidirectional rules
  /// The chunks a rank that options ask for, where they do.
  std::uint32_t (*chunks_for)(const ScheduleOptions& options) = nullptr;
  /// How many cells of a stage one microbatch is cut into; null for one.
  std::uint32_t (*slices_for)(const ScheduleOptions& options) = nullptr;
  WeightUse weights = WeightUse::flushed;  // the others are asynchronous: no flush in an epoch
  std::span<const ScheduleOption> options = {};

  /// Where the stages lie when the scenario does not say. Throws RuleError for chunks it cannot
  /// have.
  Placement (*place)(std::uint32_t ranks, std::uint32_t chunks);
  /// The order. Throws RuleError when the rule does not allow the placement or the options.
  Schedule (*make)(const Placement& placement, const ScheduleOptions& options);
  /// `Bubble::of_makespan` in closed form for equal stages, f = i = w and free links; NaN for sizes
  /// that it does not hold for, null where none is known.
  double (*bubble_of_makespan)(std::uint32_t ranks, std::uint32_t chunks,
                               std::uint32_t microbatches) = nullptr;
};

/// All schedules, by name.
std::span<const ScheduleEntry* const> schedule_entries();

/// How many chunks a rank a schedule has when the user does not say. Throws RuleError.
std::uint32_t usual_chunks(const ScheduleEntry& entry, const ScheduleOptions& options);

/// Throws RuleError when there would be more actions than a schedule may have.
void check_size(const Placement& placement, const ScheduleOptions& options);

/// Calls the rule after checking sizes and that it takes every option given. Throws RuleError.
Schedule make_schedule(const ScheduleEntry& entry, const Placement& placement,
                       const ScheduleOptions& options);

}  // namespace penstock
