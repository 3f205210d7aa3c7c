#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "schedules/partitioners/chain/bottleneck.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/random.hpp"

namespace penstock::interleaved_file {
namespace {

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

/// By rank. A boundary between chunks of one rank costs nothing.
std::vector<double> loads(const ChunkChain& chain, std::uint32_t ranks, const ChunkCut& cut) {
  std::vector<double> own(ranks, 0), in(ranks, 0), out(ranks, 0);
  const std::size_t chunks = cut.ranks.size();
  for (std::size_t c = 0; c < chunks; ++c) {
    own[cut.ranks[c]] += chain.prefix_s[cut.cuts[c + 1]] - chain.prefix_s[cut.cuts[c]];
    if (chain.boundary_s.empty() || c + 1 == chunks || cut.ranks[c] == cut.ranks[c + 1]) continue;
    out[cut.ranks[c]] += chain.boundary_s[cut.cuts[c + 1]];
    in[cut.ranks[c + 1]] += chain.boundary_s[cut.cuts[c + 1]];
  }
  for (std::uint32_t r = 0; r < ranks; ++r) {
    own[r] = chain.in_sequence ? own[r] + in[r] + out[r] : std::max({own[r], in[r], out[r]});
  }
  return own;
}

/// The busiest rank first; squares tell plateaus apart.
struct ChunkScore {
  double busiest = 0;
  double squares = 0;
  friend auto operator<=>(const ChunkScore&, const ChunkScore&) = default;
};

class ChunkSearch {
 public:
  ChunkSearch(const ChunkChain& chain, std::uint32_t ranks, bool fixed, std::uint64_t evaluations)
      : chain_(chain), ranks_(ranks), fixed_(fixed), left_(evaluations) {}

  bool is_spent() const { return left_ == 0; }
  ChunkScore score(const ChunkCut& cut) const {
    ChunkScore score;
    for (const double load : loads(chain_, ranks_, cut)) {
      score.busiest = std::max(score.busiest, load);
      score.squares += load * load;
    }
    return score;
  }

  void descend(ChunkCut& cut) {
    const auto size = std::uint32_t(chain_.prefix_s.size()) - 1;
    const auto chunks = std::uint32_t(cut.ranks.size());
    best_ = score(cut);
    for (std::uint32_t step = std::max(1U, size / (2 * chunks)); step > 0 && !is_spent();) {
      const bool shifted = shift_all(step, cut);
      const bool swapped = !fixed_ && swap_all(cut);
      if (!shifted && !swapped) step /= 2;
    }
  }

 private:
  bool take(ChunkCut& cut, ChunkCut changed) {
    if (left_ == 0) return false;
    --left_;
    const ChunkScore own = score(changed);
    if (own >= best_) return false;
    best_ = own;
    cut = std::move(changed);
    return true;
  }

  bool shift_all(std::uint32_t step, ChunkCut& cut) {
    bool any = false;
    for (std::size_t c = 1; c + 1 < cut.cuts.size(); ++c) {
      if (cut.cuts[c] >= cut.cuts[c - 1] + 1 + step) {
        ChunkCut changed = cut;
        changed.cuts[c] -= step;
        any = take(cut, std::move(changed)) || any;
      }
      if (cut.cuts[c] + 1 + step <= cut.cuts[c + 1]) {
        ChunkCut changed = cut;
        changed.cuts[c] += step;
        any = take(cut, std::move(changed)) || any;
      }
    }
    return any;
  }

  bool swap_all(ChunkCut& cut) {
    bool any = false;
    for (std::size_t a = 0; a < cut.ranks.size(); ++a) {
      for (std::size_t b = a + 1; b < cut.ranks.size(); ++b) {
        if (cut.ranks[a] == cut.ranks[b]) continue;
        ChunkCut changed = cut;
        std::swap(changed.ranks[a], changed.ranks[b]);
        any = take(cut, std::move(changed)) || any;
      }
    }
    return any;
  }

  const ChunkChain& chain_;
  std::uint32_t ranks_;
  bool fixed_;
  std::uint64_t left_;
  ChunkScore best_;
};

/// Some boundaries and, unless fixed, two ranks changed by chance.
ChunkCut changed_chunks(const ChunkCut& cut, bool fixed, std::uint64_t seed, std::uint32_t number) {
  ChunkCut changed = cut;
  const auto draw = [&](std::uint32_t what) {
    return philox({what, number, 1, 0},
                  {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  };
  for (std::uint32_t c = 1; c + 1 < cut.cuts.size(); ++c) {
    const auto bits = draw(c);
    if (bits[0] % 4 != 0) continue;
    const std::uint32_t room = changed.cuts[c + 1] - changed.cuts[c - 1] - 1;
    changed.cuts[c] = changed.cuts[c - 1] + 1 + bits[1] % room;
  }
  const auto bits = draw(0);
  const std::size_t chunks = cut.ranks.size();
  if (!fixed) std::swap(changed.ranks[bits[0] % chunks], changed.ranks[bits[1] % chunks]);
  return changed;
}

/// Moves boundaries, and swaps the ranks of chunks unless these are `fixed`, while the busiest rank
/// gets less to do or as much over fewer ranks; then from changes by chance, `evaluations` times in
/// all.
void improve_chunks(const ChunkChain& chain, std::uint32_t ranks, bool fixed,
                    std::uint64_t evaluations, std::uint64_t seed, ChunkCut& cut) {
  ChunkSearch search(chain, ranks, fixed, evaluations);
  search.descend(cut);
  constexpr std::uint32_t most_restarts = 10'000;
  for (std::uint32_t r = 0; r < most_restarts && !search.is_spent(); ++r) {
    ChunkCut other = changed_chunks(cut, fixed, seed, r);
    search.descend(other);
    if (search.score(other) < search.score(cut)) cut = std::move(other);
  }
  cut.value = search.score(cut).busiest;
}

/// Chunks on ranks in turn, cut at the least bottleneck of a chunk.
ChunkCut in_turn(const CutProblem& problem, const CutChain& chain, std::uint32_t chunks) {
  ChunkCut cut{.value = 0, .cuts = balanced_cuts(chain.compute_s, chunks).cuts, .ranks = {}};
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
      "cut may exist");
  return result;
}

}  // namespace

constinit extern const PartitionerEntry interleaved_entry{
    "interleaved", "several stages per rank: the least load of the busiest rank, local search", cut,
    "transfers, contiguous, evaluations, seed"};

}  // namespace penstock::interleaved_file
