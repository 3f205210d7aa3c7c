#include "schedules/search/building_blocks.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace penstock {
namespace {

constexpr std::uint32_t chunks = 2;
constexpr std::int64_t slots = SearchPass::count * chunks;
constexpr std::uint32_t longest_hop = slots - 1;

/// What a rank runs of one microbatch: slots of F, I and W of both its chunks.
struct RankSlots {
  std::array<std::array<std::int64_t, SearchPass::count>, chunks> of{};
};

bool is_split_vee(const OrderProblem& problem) {
  const std::uint32_t ranks = problem.ranks();
  if (ranks < 2 || problem.stage_count() != chunks * ranks) return false;
  for (std::uint32_t s = 0; s < problem.stage_count(); ++s) {
    const std::uint32_t rank = s < ranks ? s : chunks * ranks - 1 - s;
    if (problem.stages[s].rank != rank || !problem.stages[s].splits) return false;
  }
  return true;
}

std::uint32_t stage_of_chunk(const OrderProblem& problem, std::uint32_t rank, std::uint32_t chunk) {
  return chunk == 0 ? rank : chunks * problem.ranks() - 1 - rank;
}

/// Each W takes the first slot behind its I that is free in every period; false if passes meet.
bool place_weights(RankSlots& rank) {
  std::array<bool, slots> taken{};
  for (const auto& chunk : rank.of) {
    for (const std::uint32_t pass : {SearchPass::forward, SearchPass::input}) {
      bool& slot = taken[static_cast<std::size_t>(chunk[pass] % slots)];
      if (slot) return false;
      slot = true;
    }
  }
  for (const std::uint32_t c : {1U, 0U}) {
    std::int64_t at = rank.of[c][SearchPass::input] + 1;
    while (taken[static_cast<std::size_t>(at % slots)]) ++at;
    taken[static_cast<std::size_t>(at % slots)] = true;
    rank.of[c][SearchPass::weight] = at;
  }
  return true;
}

/// By rank; empty if passes meet.
std::vector<RankSlots> slots_of(const BuildingBlock& block, std::uint32_t ranks) {
  std::vector<std::int64_t> out(ranks, 0);
  for (std::uint32_t r = 1; r < ranks; ++r) {
    out[r] = out[r - 1] + (r <= block.turn_rank ? block.hop : block.late_hop);
  }
  const std::int64_t back = ranks - 1;
  const std::int64_t second = out.back() + 1 + block.first_wait;
  const std::int64_t input = second + back + 1 + block.middle_wait;
  const std::int64_t last = input + out.back() + 1 + block.last_wait;
  std::vector<RankSlots> all(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    auto& [near, far] = all[r].of;
    near[SearchPass::forward] = out[r];
    far[SearchPass::forward] = second + back - r;
    far[SearchPass::input] = input + out[r];
    near[SearchPass::input] = last + back - r;
    if (!place_weights(all[r])) return {};
  }
  return all;
}

/// The most bytes that the repetition holds on a rank.
std::int64_t peak_of(const OrderProblem& problem, std::uint32_t rank, const RankSlots& own) {
  std::int64_t peak = 0;
  // A start behind all slots of the first microbatch, so that nothing below is negative.
  const std::int64_t begin = own.of[0][SearchPass::weight] / slots * slots + slots;
  for (std::int64_t at = begin; at < begin + slots; ++at) {
    std::int64_t held = 0;
    for (std::uint32_t c = 0; c < chunks; ++c) {
      const OrderStage& stage = problem.stages[stage_of_chunk(problem, rank, c)];
      const auto begun = [&](std::uint32_t pass, std::int64_t by) {
        return (by - own.of[c][pass] + slots * slots) / slots - slots;
      };
      const std::int64_t forwards = begun(SearchPass::forward, at);
      const std::int64_t weights = begun(SearchPass::weight, at - 1);
      held += (forwards - weights) * stage.change[SearchPass::forward];
    }
    peak = std::max(peak, held);
  }
  return peak;
}

/// What an activation of a rank takes at most; 1 where none takes anything.
std::int64_t bytes_of(const OrderProblem& problem, std::uint32_t rank) {
  std::int64_t bytes = 1;
  for (std::uint32_t c = 0; c < chunks; ++c) {
    const OrderStage& stage = problem.stages[stage_of_chunk(problem, rank, c)];
    bytes = std::max(bytes, stage.change[SearchPass::forward]);
  }
  return bytes;
}

/// The memory of a rank as a number of activations. More than two for each rank save nothing.
std::int64_t room_of(const OrderProblem& problem, std::uint32_t rank) {
  return std::min<std::int64_t>(problem.capacity[rank] / bytes_of(problem, rank),
                                chunks * problem.ranks());
}

/// Whether the repetition fits every rank; fills in how full they are.
bool fits(const OrderProblem& problem, BuildingBlock& block) {
  const auto all = slots_of(block, problem.ranks());
  if (all.empty()) return false;
  block.fullness = 0;
  for (std::uint32_t r = 0; r < problem.ranks(); ++r) {
    const std::int64_t peak = peak_of(problem, r, all[r]);
    const std::int64_t room = room_of(problem, r) * bytes_of(problem, r);
    if (peak > room) return false;
    block.fullness += static_cast<double>(peak) / static_cast<double>(room) / problem.ranks();
  }
  return true;
}

/// A rank's passes of the repeated block, by slot.
std::vector<CellClass> repeated(const OrderProblem& problem, std::uint32_t rank,
                                const RankSlots& own) {
  std::vector<std::pair<std::int64_t, CellClass>> passes;
  for (std::uint32_t c = 0; c < chunks; ++c) {
    for (std::uint32_t pass = 0; pass < SearchPass::count; ++pass) {
      const CellClass cell = cell_class(stage_of_chunk(problem, rank, c), pass);
      for (std::uint32_t m = 0; m < problem.microbatches; ++m) {
        passes.emplace_back(own.of[c][pass] + slots * m, cell);
      }
    }
  }
  std::sort(passes.begin(), passes.end());
  std::vector<CellClass> sequence;
  for (const auto& [slot, cell] : passes) sequence.push_back(cell);
  return sequence;
}

}  // namespace

std::vector<BuildingBlock> building_blocks(const OrderProblem& problem) {
  std::vector<BuildingBlock> blocks;
  if (!is_split_vee(problem)) return blocks;
  const auto add = [&](BuildingBlock block) {
    for (std::uint32_t waits = 0; waits < slots * slots * slots; ++waits) {
      block.first_wait = waits % slots;
      block.middle_wait = waits / slots % slots;
      block.last_wait = waits / (slots * slots);
      if (fits(problem, block)) blocks.push_back(block);
    }
  };
  for (std::uint32_t hop = 1; hop <= longest_hop; ++hop) {
    add({.hop = hop, .late_hop = hop});
    for (std::uint32_t late = 1; late < hop; ++late) {
      for (std::uint32_t turn = 1; turn + 1 < problem.ranks(); ++turn) {
        add({.hop = hop, .late_hop = late, .turn_rank = turn});
      }
    }
  }
  std::stable_sort(
      blocks.begin(), blocks.end(),
      [](const BuildingBlock& a, const BuildingBlock& b) { return a.fullness > b.fullness; });
  return blocks;
}

RankSequences sequences_of_block(const OrderProblem& problem, const BuildingBlock& block) {
  RankSequences sequences;
  const auto all = slots_of(block, problem.ranks());
  for (std::uint32_t r = 0; r < all.size(); ++r) {
    sequences.push_back(repeated(problem, r, all[r]));
  }
  return sequences;
}

}  // namespace penstock
