#include "schedules/patterns/building_block.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace penstock {
namespace {

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

/// The slots of all passes of all ranks. On a rank, those of one kind ascend.
class BlockSlots {
 public:
  /// The block, repeated every six slots, without W.
  BlockSlots(OffsetsOfRank offsets, std::uint32_t ranks, std::uint32_t microbatches)
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

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t& at(const BlockAction& action) {
    return of(action.rank, action.pass)[action.number];
  }
  std::uint32_t at(const BlockAction& action) const {
    return of(action.rank, action.pass)[action.number];
  }

  /// All actions by slot; in one slot, by rank.
  std::vector<BlockAction> in_order() const {
    std::vector<std::size_t> begin;  // of each slot, shifted by one while they are counted
    const auto each = [this](auto visit) {
      for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
        for (const BlockPass pass : block_passes) {
          for (std::uint32_t n = 0; n < of(rank, pass).size(); ++n)
            visit(BlockAction{rank, pass, n});
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

  BlockRow row(std::uint32_t rank) const {
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

  /// The first slot after the input of an F or I is there.
  std::uint32_t ready(const BlockAction& action) const {
    const auto source = source_of(action, ranks());
    return source ? at(*source) + 1 : 0;
  }

  /// Puts each W into the first free slot after its I.
  void place_weights() {
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

  void remove_weights() {
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) of(rank, BlockPass::weight).clear();
  }

  /// Starts each action as soon as its input is there and its rank is free.
  void squeeze() {
    std::vector<std::uint32_t> free_from(ranks());
    for (const BlockAction& action : in_order()) {
      std::uint32_t& next = free_from[action.rank];
      if (action.pass != BlockPass::weight) next = std::max(next, ready(action));
      at(action) = next++;
    }
  }

 private:
  std::vector<std::uint32_t>& of(std::uint32_t rank, BlockPass pass) {
    return slots_[rank][static_cast<std::size_t>(pass)];
  }
  const std::vector<std::uint32_t>& of(std::uint32_t rank, BlockPass pass) const {
    return slots_[rank][static_cast<std::size_t>(pass)];
  }

  std::vector<std::array<std::vector<std::uint32_t>, block_passes.size()>> slots_;
};

/// The order of a rank: its slots, with W in the free ones, that of the second stage first.
std::vector<Action> order_of(const BlockRow& row, Stage first, Stage second) {
  std::vector<Action> order;
  std::deque<Action> of_second, of_first;  // pending W
  const auto take = [&order](std::deque<Action>& pending) {
    order.push_back(pending.front());
    pending.pop_front();
  };
  for (const auto& action : row) {
    if (!action) {
      if (!of_second.empty()) {
        take(of_second);
      } else if (!of_first.empty()) {
        take(of_first);
      }
      continue;
    }
    const Microbatch m{action->number};
    const bool of_other =
        action->pass == BlockPass::second_forward || action->pass == BlockPass::second_input;
    const Stage stage = of_other ? second : first;
    if (is_forward(action->pass)) order.emplace_back(Pass::forward, stage, m);
    if (!is_input(action->pass)) continue;
    order.emplace_back(Pass::backward_input, stage, m);
    (of_other ? of_second : of_first).emplace_back(Pass::backward_weight, stage, m);
  }
  while (!of_second.empty()) take(of_second);
  while (!of_first.empty()) take(of_first);
  return order;
}

/// What a rank holds slot by slot.
class HeldByRank {
 public:
  HeldByRank(BlockRow row, bool has_weights) : row_(std::move(row)), has_weights_(has_weights) {
    State state;
    for (const auto& action : row_) after_.push_back(state = next(state, action));
  }

  std::int64_t peak() const {
    std::int64_t most = 0;
    for (const State& state : after_) most = std::max(most, state.held);
    return most;
  }

  /// Moves a pass to an earlier slot, if that is free and the rank never holds more than `cap`.
  bool move(std::uint32_t from, std::uint32_t to, std::int64_t cap) {
    if (row_[to]) return false;
    std::swap(row_[from], row_[to]);
    if (follow(from, to, cap)) return true;
    std::swap(row_[from], row_[to]);
    return false;
  }

 private:
  struct State {
    std::int64_t held = 0;
    std::int64_t pending = 0;  // W
    friend bool operator==(const State&, const State&) = default;
  };

  State next(State state, const std::optional<BlockAction>& action) const {
    if (action && is_forward(action->pass)) return {state.held + 1, state.pending};
    if (action && is_input(action->pass)) return {state.held, state.pending + 1};
    if (action || (!has_weights_ && state.pending > 0)) --state.held, --state.pending;
    return state;
  }

  /// Works out the states again from slot `to` on, up to where nothing changes.
  bool follow(std::uint32_t from, std::uint32_t to, std::int64_t cap) {
    std::vector<State> changed;
    State state = to == 0 ? State{} : after_[to - 1];
    for (std::size_t slot = to; slot < row_.size(); ++slot) {
      state = next(state, row_[slot]);
      if (state.held > cap) return false;
      if (slot >= from && state == after_[slot]) break;
      changed.push_back(state);
    }
    std::copy(changed.begin(), changed.end(), after_.begin() + to);
    return true;
  }

  BlockRow row_;
  bool has_weights_;
  std::vector<State> after_;  // each slot
};

/// Moves the passes before and after the steady phase to earlier free slots, as far as no rank then
/// holds more than the most that any rank holds now. With W in the slots, W moves too. Without,
/// only the drain is moved, and each free slot counts as a W of an earlier I.
class Tightening {
 public:
  explicit Tightening(BlockSlots& slots)
      : slots_(slots), order_(slots.in_order()), inputs_(slots.ranks()) {
    for (const BlockAction& action : order_) {
      has_weights_ = has_weights_ || action.pass == BlockPass::weight;
      if (is_forward(action.pass)) last_number_ = std::max(last_number_, action.number);
    }
    for (std::uint32_t rank = 0; rank < slots.ranks(); ++rank) {
      held_.emplace_back(slots.row(rank), has_weights_);
      cap_ = std::max(cap_, held_.back().peak());
    }
  }

  void run() {
    for (const BlockAction& action : order_) {
      if (is_movable(action)) pull(action);
      if (is_input(action.pass)) {
        std::vector<std::uint32_t>& inputs = inputs_[action.rank];
        const std::uint32_t slot = slots_.at(action);
        inputs.insert(std::upper_bound(inputs.begin(), inputs.end(), slot), slot);
      }
    }
  }

 private:
  enum class Phase : std::uint8_t { warm_up, steady, drain };

  /// The steady phase begins when the first microbatch ends and ends when the last one begins.
  bool is_movable(const BlockAction& action) {
    const bool ends = action.rank == 0 && action.pass == BlockPass::first_input;
    if (phase_ == Phase::warm_up && ends) phase_ = Phase::steady;
    if (phase_ != Phase::steady) return has_weights_ || phase_ == Phase::drain;
    const bool begins = action.pass == BlockPass::first_forward;
    if (begins && action.number == last_number_) phase_ = Phase::drain;
    return false;
  }

  std::uint32_t earliest(const BlockAction& action) const {
    const std::uint32_t input = action.pass == BlockPass::weight
                                    ? inputs_[action.rank][action.number] + 1
                                    : slots_.ready(action);
    if (action.number == 0) return input;
    return std::max(input, slots_.at({action.rank, action.pass, action.number - 1}) + 1);
  }

  void pull(const BlockAction& action) {
    const std::uint32_t slot = slots_.at(action);
    for (std::uint32_t to = earliest(action); to < slot; ++to) {
      if (!held_[action.rank].move(slot, to, cap_)) continue;
      slots_.at(action) = to;
      return;
    }
  }

  BlockSlots& slots_;
  std::vector<BlockAction> order_;
  std::vector<std::vector<std::uint32_t>> inputs_;  // by rank: slots of I so far, ascending
  std::vector<HeldByRank> held_;
  bool has_weights_ = false;
  std::uint32_t last_number_ = 0;
  std::int64_t cap_ = 0;
  Phase phase_ = Phase::warm_up;
};

}  // namespace

Schedule grow(OffsetsOfRank offsets, std::uint32_t ranks, const ScheduleOptions& options) {
  BlockSlots slots(offsets, ranks, options.microbatch_count);
  slots.place_weights();
  Tightening(slots).run();
  slots.squeeze();
  slots.remove_weights();
  Tightening(slots).run();
  slots.place_weights();
  slots.squeeze();
  slots.remove_weights();
  Schedule schedule(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    schedule.on(Rank{rank}) = order_of(slots.row(rank), Stage{rank}, Stage{2 * ranks - 1 - rank});
  }
  return schedule;
}

}  // namespace penstock
