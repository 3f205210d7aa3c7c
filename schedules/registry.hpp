#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/error.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// What a schedule is asked for.
struct ScheduleOptions {
  std::uint32_t microbatch_count = 1;
  std::map<std::string, std::string, std::less<>> settings;  // the options of the rule, as text

  Numbers<Microbatch> microbatches() const { return Numbers<Microbatch>(microbatch_count); }
  /// A positive whole number; `otherwise` when it was not given. Throws RuleError.
  std::uint32_t number(std::string_view name, std::uint32_t otherwise) const;
  /// One of `values`; the first of them when it was not given. Throws RuleError.
  std::string_view choice(std::string_view name, std::span<const std::string_view> values) const;
};

/// An option that a rule takes.
struct ScheduleOption {
  std::string_view name;
  std::string_view summary;  // its values and its default
};

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

/// A rule was given an option that it does not take.
class UnknownOption : public RuleError {
 public:
  UnknownOption(std::string name, const std::string& what)
      : RuleError(what), name_(std::move(name)) {}
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// All schedules, by name.
std::span<const ScheduleEntry* const> schedule_entries();

/// How many chunks a rank a schedule has when the user does not say. Throws RuleError.
std::uint32_t usual_chunks(const ScheduleEntry& entry, const ScheduleOptions& options);

/// Throws UnknownOption for an option that is not among the known ones.
void check_options(std::string_view rule, std::span<const ScheduleOption> known,
                   const ScheduleOptions& options);
/// Throws RuleError when there would be more actions than a schedule may have.
void check_size(const Placement& placement, const ScheduleOptions& options);

/// Calls the rule after checking sizes and that it takes every option given. Throws RuleError.
Schedule make_schedule(const ScheduleEntry& entry, const Placement& placement,
                       const ScheduleOptions& options);

}  // namespace penstock
