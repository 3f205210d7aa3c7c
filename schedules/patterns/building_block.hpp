#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/patterns/rules.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The slots in which a rank of a V starts the passes of one microbatch: F of its first stage, F of
/// its second, I of the second, I of the first. Each takes one slot.
using BlockOffsets = std::array<std::uint32_t, 4>;
using OffsetsOfRank = BlockOffsets (*)(std::uint32_t ranks, std::uint32_t rank);

/// The passes of a rank of a V, those of the block in its order.
enum class BlockPass : std::uint8_t {
  first_forward,
  second_forward,
  second_input,
  first_input,
  weight,  // of either stage
};
constexpr std::array block_passes{BlockPass::first_forward, BlockPass::second_forward,
                                  BlockPass::second_input, BlockPass::first_input,
                                  BlockPass::weight};

constexpr bool is_forward(BlockPass pass) { return pass <= BlockPass::second_forward; }
constexpr bool is_input(BlockPass pass) {
  return pass == BlockPass::second_input || pass == BlockPass::first_input;
}

/// The n-th pass of its kind on a rank. Of all but W, n is the microbatch.
struct BlockAction {
  std::uint32_t rank;
  BlockPass pass;
  std::uint32_t number;
};

/// What a rank runs in each slot, up to its last pass.
using BlockRow = std::vector<std::optional<BlockAction>>;

/// The slots of all passes of all ranks. On a rank, those of one kind ascend.
class BlockSlots {
 public:
  /// The block, repeated every six slots, without W.
  BlockSlots(OffsetsOfRank offsets, std::uint32_t ranks, std::uint32_t microbatches);

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t& at(const BlockAction& action) {
    return of(action.rank, action.pass)[action.number];
  }
  std::uint32_t at(const BlockAction& action) const {
    return of(action.rank, action.pass)[action.number];
  }

  /// All actions by slot; in one slot, by rank.
  std::vector<BlockAction> in_order() const;
  BlockRow row(std::uint32_t rank) const;
  /// The first slot after the input of an F or I is there.
  std::uint32_t ready(const BlockAction& action) const;

  /// Puts each W into the first free slot after its I.
  void place_weights();
  void remove_weights();
  /// Starts each action as soon as its input is there and its rank is free.
  void squeeze();

 private:
  std::vector<std::uint32_t>& of(std::uint32_t rank, BlockPass pass) {
    return slots_[rank][static_cast<std::size_t>(pass)];
  }
  const std::vector<std::uint32_t>& of(std::uint32_t rank, BlockPass pass) const {
    return slots_[rank][static_cast<std::size_t>(pass)];
  }

  std::vector<std::array<std::vector<std::uint32_t>, block_passes.size()>> slots_;
};

/// A V order that repeats a block every six slots, built as in "Pipeline Parallelism with
/// Controllable Memory" (2024): W fills free slots, the second stage first, so that in the steady
/// phase it is next to an I; warm-up and drain are tightened within the memory of the steady phase.
Schedule grow(OffsetsOfRank offsets, std::uint32_t ranks, const ScheduleOptions& options);

/// Moves the passes before and after the steady phase to earlier free slots, as far as no rank then
/// holds more than the most that any rank holds now. With W in the slots, W moves too. Without,
/// only the drain is moved, and each free slot counts as a W of an earlier I.
void tighten(BlockSlots& slots);

}  // namespace penstock
