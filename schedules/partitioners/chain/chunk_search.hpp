#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

/// A chain of chunks and the rank of each.
struct ChunkCut {
  double value = 0;  // the longest load of a rank
  std::vector<std::uint32_t> cuts;
  std::vector<std::uint32_t> ranks;  // by chunk
};

/// What a search of chunks knows of the chain.
struct ChunkChain {
  std::span<const double> prefix_s;    // compute
  std::span<const double> boundary_s;  // of a boundary between ranks; empty: free
  bool in_sequence = false;            // boundaries add to a rank's load, or run beside it
};

/// The load of the busiest rank. A boundary between chunks of one rank costs nothing.
double busiest(const ChunkChain& chain, std::uint32_t ranks, const ChunkCut& cut);

/// Moves boundaries, and swaps the ranks of chunks unless these are `fixed`, while the busiest rank
/// gets less to do or as much over fewer ranks; then from changes by chance, `evaluations` times in
/// all.
void improve_chunks(const ChunkChain& chain, std::uint32_t ranks, bool fixed,
                    std::uint64_t evaluations, std::uint64_t seed, ChunkCut& cut);

}  // namespace penstock
