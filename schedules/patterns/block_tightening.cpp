#include "schedules/patterns/block_tightening.hpp"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

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

void tighten(BlockSlots& slots) { Tightening(slots).run(); }

}  // namespace penstock
