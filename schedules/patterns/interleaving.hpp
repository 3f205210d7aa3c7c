#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schedules/patterns/rules.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// Megatron's interleaved order. For each group of microbatches, each chunk in turn runs the whole
/// group; the last group takes the remainder. The warm-up is one group for each chunk but the
/// first, plus `spread` for each later rank. Backwards then alternate with forwards and follow the
/// same table with the chunks in reverse. Throws RuleError for an unsuitable placement or group.
Schedule interleaved_order(std::string_view rule, std::uint32_t spread, const Placement& placement,
                           const ScheduleOptions& options);

constexpr ScheduleOption group_option{
    "group", "consecutive microbatches of a chunk before the next chunk runs, default min(p, m)"};
constexpr std::string_view group_needs =
    "group >= p and m mod group is 0 or >= p; for m < p group = m";

/// The stages of a rank, first chunk first. Throws RuleError unless stage s is on rank s mod p and
/// all ranks hold equally many.
std::vector<Stage> looped_chunks(std::string_view rule, const Placement& placement, Rank rank);

/// (p-1)/(mv+p-1) for m >= p; NaN for fewer microbatches, where no closed form is known.
double interleaved_bubble(std::uint32_t ranks, std::uint32_t chunks, std::uint32_t microbatches);

}  // namespace penstock
