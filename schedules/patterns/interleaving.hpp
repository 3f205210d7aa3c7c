#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schedules/patterns/options.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// Megatron's interleaved order. For each group of microbatches, each chunk in turn runs the whole
/// group; the last group takes what is left. Backwards follow the same table with the chunks in
/// reverse, in turn with the forwards after a warm-up of one group for each chunk but the first and
/// `spread` more for each rank behind. Throws RuleError for a placement or group that does not fit.
Schedule interleaved_order(std::string_view rule, std::uint32_t spread, const Placement& placement,
                           const ScheduleOptions& options);

constexpr ScheduleOption group_option{
    "group", "microbatches that pass a chunk before the next chunk's turn, default min(p, m)"};
constexpr std::string_view group_needs =
    "group >= p and m mod group is 0 or >= p; for m < p group = m";

/// The stages of a rank, first chunk first. Throws RuleError unless stage s is on rank s mod p and
/// all ranks hold equally many.
std::vector<Stage> looped_chunks(std::string_view rule, const Placement& placement, Rank rank);

/// (p-1)/(mv+p-1) for m >= p; with fewer microbatches no closed form is known, and the result is
/// NaN.
double interleaved_bubble(std::uint32_t ranks, std::uint32_t chunks, std::uint32_t microbatches);

}  // namespace penstock
