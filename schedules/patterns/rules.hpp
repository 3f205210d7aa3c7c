#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/numbers.hpp"
#include "sim/order/placement.hpp"

namespace penstock {

/// The loop placement for rules with one stage per rank. Throws RuleError unless there is one
/// chunk.
Placement one_stage_a_rank(std::uint32_t ranks, std::uint32_t chunks);

/// The V placement of two chunks per rank. Throws RuleError for other numbers of chunks.
Placement vee_of_two(std::uint32_t ranks, std::uint32_t chunks);
/// Two copies of the model in opposite directions. Throws RuleError unless there are two chunks.
Placement two_directions(std::uint32_t ranks, std::uint32_t chunks);

/// Throws RuleError unless the stages snake over the ranks with this many on each.
void require_vee(std::string_view rule, const Placement& placement, std::uint32_t chunks = 2);
/// Throws RuleError unless the placement is the one that `two_directions` makes.
void require_two_directions(std::string_view rule, const Placement& placement);
/// Throws RuleError unless every rank holds at most one stage.
void require_one_stage_a_rank(std::string_view rule, const Placement& placement);
/// Throws RuleError when a stage has replicas.
void require_no_replicas(std::string_view rule, const Placement& placement);

/// The bubble as a share of the makespan: `idle` / (`idle` + `work`).
constexpr double share_idle(double idle, double work) { return idle / (work + idle); }

/// (p-1)/(m+p-1): the bubble when the pipeline fills and drains once, as a share of the makespan.
double fill_and_drain_bubble(std::uint32_t ranks, std::uint32_t chunks, std::uint32_t microbatches);

/// What a schedule is asked for: microbatches and the options of its rule.
struct ScheduleOptions {
  std::uint32_t microbatch_count = 1;
  std::map<std::string, std::string, std::less<>> settings;  // the options of the rule, as text

  Numbers<Microbatch> microbatches() const { return Numbers<Microbatch>(microbatch_count); }
  /// A positive whole number, or `otherwise` when the option is missing. Throws RuleError.
  std::uint32_t number(std::string_view name, std::uint32_t otherwise) const;
  /// One of `values`, the first by default. Throws RuleError.
  std::string_view choice(std::string_view name, std::span<const std::string_view> values) const;
};

/// An option of a rule.
struct ScheduleOption {
  std::string_view name;
  std::string_view summary;                      // its values and its default
  std::span<const std::string_view> words = {};  // its values, where they are words
};

/// The rule does not take this option.
class UnknownOption : public RuleError {
 public:
  UnknownOption(std::string name, const std::string& what)
      : RuleError(what), name_(std::move(name)) {}
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// Throws UnknownOption for an option that is not in the list.
void check_options(std::string_view rule, std::span<const ScheduleOption> known,
                   const ScheduleOptions& options);

}  // namespace penstock
