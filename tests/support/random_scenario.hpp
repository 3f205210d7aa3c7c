#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace penstock::testing {

/// A small random scenario as a document that fits the schema: the same for a seed on every
/// machine. Rules and policies on 1 to 4 ranks; models by stages, by layers and by kinds;
/// recomputation, offloading, codecs, ZeRO, capacities, links, chance and overheads in any mixture.
/// Some mixtures are refused when they are read or settled.
nlohmann::json random_scenario(std::uint64_t seed);

}  // namespace penstock::testing
