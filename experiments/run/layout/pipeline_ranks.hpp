#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/degrees.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/order/placement.hpp"

namespace penstock {

/// The number of model stages, if the scenario determines it.
std::optional<std::uint32_t> stages_given(const Scenario& scenario);

/// Number of pipeline ranks for a rule or policy: as stated, else from the devices, the ranks of
/// the partition, or the stages, in this order. Throws InputError with a pointer into the scenario.
std::uint32_t ranks_for(const Scenario& scenario, const Degrees& degrees, std::uint32_t chunks,
                        std::uint32_t copies);

/// Throws InputError if the stated number of devices differs from what these ranks need.
void check_devices(const Scenario& scenario, const Degrees& degrees, std::uint32_t ranks);

/// What gives stages the ranks that they need, after `lead`: ": set /hardware/devices=8". Empty
/// where they do not divide, or where neither ranks nor devices are stated.
std::string remedy_for_stages(const Scenario& scenario, const Degrees& degrees,
                              std::uint32_t stages, std::uint32_t per_rank,
                              std::string_view lead = ": set ");

/// Throws InputError for more ranks or stages than the limit.
void check_sizes(std::uint32_t ranks, std::uint64_t chunks);

/// A placement from the user's list of ranks.
Placement given_placement(const Scenario& scenario, std::uint32_t ranks);

/// Tells the hardware of a layout its ranks, the devices per rank, and the distance between
/// replicas; then seats devices that do not fill their machines evenly, with tensor, context and
/// expert groups together where a machine holds them. A stated size of machines stays as it is.
void spread_ranks(const Scenario& scenario, Layout& layout);

}  // namespace penstock
