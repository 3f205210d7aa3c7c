#include "schedules/patterns/block_slots.hpp"

#include <algorithm>
#include <numeric>

namespace penstock {
namespace {

constexpr std::uint32_t period = 6;

/// The pass that hands an F or I its input; none for the first F of all.
std::optional<BlockAction> source_of(const BlockAction& action, std::uint32_t ranks) {
  const bool rises = action.pass == BlockPass::first_forward ||
                     action.pass == BlockPass::second_input;  // from rank to rank
  const std::uint32_t end = rises ? 0 : ranks - 1;
  if (action.rank != end) {
    return BlockAction{rises ? action.rank - 1 : action.rank + 1, action.pass, action.number};
  }
  if (action.pass == BlockPass::first_forward) return std::nullopt;
  const auto before = static_cast<BlockPass>(static_cast<std::uint8_t>(action.pass) - 1);
  return BlockAction{action.rank, before, action.number};
}

}  // namespace

BlockSlots::BlockSlots(OffsetsOfRank offsets, std::uint32_t ranks, std::uint32_t microbatches)
    : slots_(ranks) {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const BlockOffsets block = offsets(ranks, rank);
    for (std::size_t pass = 0; pass < block.size(); ++pass) {
      for (std::uint32_t m = 0; m < microbatches; ++m) {
        slots_[rank][pass].push_back(block[pass] + period * m);
      }
    }
  }
}

std::vector<BlockAction> BlockSlots::in_order() const {
  std::vector<std::size_t> begin;  // of each slot, shifted by one while they are counted
  const auto each = [this](auto visit) {
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
      for (const BlockPass pass : block_passes) {
        for (std::uint32_t n = 0; n < of(rank, pass).size(); ++n) visit(BlockAction{rank, pass, n});
      }
    }
  };
  each([&](const BlockAction& action) {
    const std::size_t after = std::size_t{at(action)} + 1;
    if (after >= begin.size()) begin.resize(after + 1);
    ++begin[after];
  });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<BlockAction> all(begin.empty() ? 0 : begin.back());
  each([&](const BlockAction& action) { all[begin[at(action)]++] = action; });
  return all;
}

BlockRow BlockSlots::row(std::uint32_t rank) const {
  BlockRow row;
  for (const BlockPass pass : block_passes) {
    for (std::uint32_t n = 0; n < of(rank, pass).size(); ++n) {
      const std::uint32_t slot = of(rank, pass)[n];
      if (slot >= row.size()) row.resize(slot + 1);
      row[slot] = BlockAction{rank, pass, n};
    }
  }
  return row;
}

std::uint32_t BlockSlots::ready(const BlockAction& action) const {
  const auto source = source_of(action, ranks());
  return source ? at(*source) + 1 : 0;
}

void BlockSlots::place_weights() {
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    const BlockRow filled = row(rank);
    std::vector<std::uint32_t>& weights = of(rank, BlockPass::weight);
    std::size_t inputs = 0;
    std::uint32_t slot = 0;
    for (; slot < filled.size() || weights.size() < inputs; ++slot) {
      if (slot < filled.size() && filled[slot]) {
        inputs += is_input(filled[slot]->pass);
      } else if (weights.size() < inputs) {
        weights.push_back(slot);
      }
    }
  }
}

void BlockSlots::remove_weights() {
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) of(rank, BlockPass::weight).clear();
}

void BlockSlots::squeeze() {
  std::vector<std::uint32_t> free_from(ranks());
  for (const BlockAction& action : in_order()) {
    std::uint32_t& next = free_from[action.rank];
    if (action.pass != BlockPass::weight) next = std::max(next, ready(action));
    at(action) = next++;
  }
}

}  // namespace penstock
