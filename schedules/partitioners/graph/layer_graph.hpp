#pragma once

#include <cstdint>
#include <vector>

#include "schedules/partitioners/problem/cut_problem.hpp"

namespace penstock {

/// A set of layers as bits.
using LayerSet = std::vector<std::uint64_t>;

inline bool is_in(const std::uint64_t* set, std::uint32_t layer) {
  return (set[layer / 64] >> (layer % 64) & 1) != 0;
}
inline void put(LayerSet& set, std::uint32_t layer) {
  set[layer / 64] |= std::uint64_t{1} << (layer % 64);
}

/// Who reads whose output.
struct LayerGraph {
  std::vector<std::vector<std::uint32_t>> readers;
  std::vector<std::vector<std::uint32_t>> inputs;

  std::uint32_t size() const { return static_cast<std::uint32_t>(readers.size()); }
  std::uint32_t words() const { return (size() + 63) / 64; }
};

LayerGraph graph_of(const CutProblem& problem);

}  // namespace penstock
