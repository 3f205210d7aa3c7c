#pragma once

#include <cstdint>

#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// Devices of a layout: pipeline ranks times all other degrees.
std::uint64_t devices_of(const Layout& layout);

/// Model stages per rank, for one copy of the model.
std::uint32_t chunks_of(const Layout& layout);

/// Samples per iteration over all data replicas.
double global_batch_of(const Layout& layout);

}  // namespace penstock
