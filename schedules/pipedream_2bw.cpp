#include <fmt/format.h>

#include <array>

#include "schedules/patterns/alternation.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::pipedream_2bw_file {
namespace {

std::uint32_t versions_of(const ScheduleOptions& options) {
  const std::uint32_t versions = options.number("versions", 2);
  if (versions >= 2) return versions;
  throw RuleError("versions is 1: must be at least 2 without a flush");
}

/// 1F1B for a whole epoch without a flush. Weights change after each group of microbatches. A group
/// uses the version from `versions` - 1 groups earlier, which must exist when its first forward
/// starts.
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  const std::uint32_t stages = placement.stage_count();
  const std::uint32_t versions = versions_of(options);
  const std::uint32_t group = options.number("group", stages);
  if (std::uint64_t{group} * (versions - 1) < stages - 1) {
    throw RuleError(
        fmt::format("group {} is too small for {} stages and {} versions: group * (versions - 1) "
                    "must be at least p-1",
                    group, stages, versions));
  }
  Schedule schedule =
      one_f_one_b_order("pipedream-2bw", 1, placement, options.microbatch_count, group);
  schedule.set_weights({WeightUse::delayed, versions - 1});
  return schedule;
}

constexpr std::array two_bw_options{
    ScheduleOption{"versions", "weight versions per rank, at least 2, default 2"},
    ScheduleOption{"group", "microbatches from one update to the next, default p"},
};

}  // namespace

constinit extern const ScheduleEntry pipedream_2bw_entry{
    .name = "pipedream-2bw",
    .summary = "asynchronous 1f1b with one update per group: two weight versions, staleness 1",
    .needs = "group * (versions-1) >= p-1",
    .bubble = "(p-1)(f+b) once per epoch",
    .peak = "min(m, p-r)",
    .weights = WeightUse::delayed,
    .options = two_bw_options,
    .place = one_stage_a_rank,
    .make = make,
    .bubble_of_makespan = fill_and_drain_bubble,
};

}  // namespace penstock::pipedream_2bw_file
