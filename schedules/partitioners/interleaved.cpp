#include <algorithm>
#include <span>
#include <utility>

#include "schedules/partitioners/chain/bottleneck.hpp"
#include "schedules/partitioners/chain/chunk_search.hpp"
#include "schedules/partitioners/registry.hpp"

namespace penstock {
namespace {

/// Chunks on ranks in turn, cut at the least bottleneck of a chunk.
ChunkCut in_turn(const CutProblem& problem, const CutChain& chain, std::uint32_t chunks) {
  Bottleneck balanced = least_bottleneck(chain.compute_s, chunks);
  split_to(chunks, balanced.value, chain.compute_s, {}, balanced.cuts);
  ChunkCut cut{.value = 0, .cuts = std::move(balanced.cuts), .ranks = {}};
  for (std::uint32_t c = 0; c < chunks; ++c) cut.ranks.push_back(c % std::max(1U, problem.ranks));
  return cut;
}

/// The load of a rank is that of all its chunks, so that uneven chunks may make even ranks.
Cut cut(const CutProblem& problem) {
  const std::uint32_t chunks = stages_to_fill(problem);
  const CutChain chain = chain_of(problem);
  const bool free = problem.transfers == CutTransfers::none || !problem.bandwidth_bytes_per_s;
  const ChunkChain view{
      .prefix_s = chain.compute_s,
      .boundary_s = free ? std::span<const double>() : std::span<const double>(chain.boundary_s),
      .in_sequence = problem.transfers == CutTransfers::serial};
  const CutSettings& settings = problem.settings;
  ChunkCut best = in_turn(problem, chain, chunks);
  improve_chunks(view, problem.ranks, true, settings.evaluations, settings.seed, best);
  if (!settings.contiguous && chunks > problem.ranks) {
    improve_chunks(view, problem.ranks, false, settings.evaluations, settings.seed, best);
  }
  Cut result = cut_at(problem, chain, std::move(best.cuts), best.value);
  for (std::uint32_t c = 0; c < chunks; ++c) result.stages[c].rank = best.ranks[c];
  result.notes.emplace_back(
      "the value is the load of the busiest rank over all of its stages; local search: a better "
      "cut "
      "may exist");
  return result;
}

}  // namespace

constinit extern const PartitionerEntry interleaved_entry{
    "interleaved", "several stages per rank: the least load of the busiest rank, local search", cut,
    "contiguous, evaluations, seed"};

}  // namespace penstock
