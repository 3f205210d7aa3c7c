#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/partitioners/problem/cut_problem.hpp"

namespace penstock {

/// Down-closed sets of layers (ideals): what the first stages of a cut can hold together. Sorted by
/// compute, then by size, so that a set comes after all of its subsets; the first is empty, the
/// last whole.
struct IdealSpace {
  bool nested = false;              // each set holds those before it
  std::uint32_t words = 0;          // of a set
  std::vector<std::uint64_t> bits;  // by set: layers, as bits
  std::vector<double> compute_s;
  std::vector<double> parameter_bytes;
  std::vector<double> boundary_bytes;  // outputs that layers outside read, each once

  std::uint32_t size() const { return static_cast<std::uint32_t>(compute_s.size()); }
  const std::uint64_t* set(std::uint32_t number) const {
    return bits.data() + std::size_t{number} * words;
  }
  bool has(std::uint32_t number, std::uint32_t layer) const {
    return (set(number)[layer / 64] >> (layer % 64) & 1) != 0;
  }
  bool contains(std::uint32_t larger, std::uint32_t smaller) const {
    if (nested) return smaller <= larger;
    const std::uint64_t* a = set(smaller);
    const std::uint64_t* b = set(larger);
    for (std::uint32_t w = 0; w < words; ++w) {
      if ((a[w] & ~b[w]) != 0) return false;
    }
    return true;
  }
};

/// All ideals of a model; nothing when there are more than `most`.
std::optional<IdealSpace> ideals_of(const CutProblem& problem, std::uint64_t most);

/// The ideals of one topological order: its prefixes.
IdealSpace ideals_of_order(const CutProblem& problem, const std::vector<std::uint32_t>& order);

/// Outputs as the optimizer of PipeDream counts them: those of the last layers of a set, and of
/// every ancestor of one of these that another layer reads, even inside the set.
std::vector<double> published_boundaries(const CutProblem& problem, const IdealSpace& space);

/// Topological orders of a model: the given one, breadth first, depth first, and the one that adds
/// the layer with the least boundary each time.
std::vector<std::vector<std::uint32_t>> several_orders(const CutProblem& problem);

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
