#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace penstock::testing {

/// A small random scenario that matches the schema; the same for a seed on every machine. Rules and
/// policies on 1 to 4 ranks; models by stages, layers and kinds; recomputation, offloading, codecs,
/// ZeRO, capacities, links, chance and overheads in any combination. Some combinations are refused
/// when read or settled.
nlohmann::json random_scenario(std::uint64_t seed);

}  // namespace penstock::testing
