#pragma once

#include <cstdint>
#include <optional>

#include "experiments/layout/degrees.hpp"
#include "experiments/scenario/scenario.hpp"
#include "sim/order/placement.hpp"

namespace penstock {

/// The number of model stages where the scenario settles it.
std::optional<std::uint32_t> stages_given(const Scenario& scenario);

/// How many pipeline ranks a rule or policy gets: as stated, else by the devices, the ranks of the
/// partition, or the stages. Throws InputError with a pointer into the scenario.
std::uint32_t ranks_for(const Scenario& scenario, const Degrees& degrees, std::uint32_t chunks,
                        std::uint32_t copies);

/// Throws InputError where the number of devices is stated and these ranks take another one.
void check_devices(const Scenario& scenario, const Degrees& degrees, std::uint32_t ranks);

/// Throws InputError for more ranks or stages than there can be.
void check_sizes(std::uint32_t ranks, std::uint64_t chunks);

/// A placement by the user's own list of ranks.
Placement given_placement(const Scenario& scenario, std::uint32_t ranks);

}  // namespace penstock
