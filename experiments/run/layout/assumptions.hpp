#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// Assumptions that affect the result where the scenario leaves a choice open: the number of data
/// replicas, and whether gradient reduction overlaps with compute.
std::vector<std::string> assumptions_of(const Scenario& scenario, const Layout& layout);

/// Devices of a layout: pipeline ranks times all other degrees.
std::uint64_t devices_of(const Layout& layout);

/// Model stages per rank, for one copy of the model.
std::uint32_t chunks_of(const Layout& layout);

/// Samples per iteration over all data replicas.
double global_batch_of(const Layout& layout);

}  // namespace penstock
