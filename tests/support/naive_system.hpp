#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/system.hpp"

namespace penstock::testing {

/// An output of an action for another stage.
struct Output {
  Stage stage;
  bool gradient;
  Microbatch microbatch;
  friend auto operator<=>(const Output&, const Output&) = default;
};

/// Actions that a rank starts together.
using Cell = std::vector<Action>;

/// A change of a rank's memory. Order within one moment: ended actions free and then allocate (0),
/// one half of a cell after the other; a tensor read at this moment arrives (1); the reader swaps
/// it for its activation (2, 3); other arrivals follow (4).
struct Change {
  Time time;
  int turn;
  std::size_t part;
  std::int64_t bytes;
  friend auto operator<=>(const Change&, const Change&) = default;
};

/// What a system says of its order, costs, replicas and memory, straight from the documented rules:
/// all that a naive run asks of it and that does not change while it runs.
class NaiveSystem {
 protected:
  explicit NaiveSystem(const System& system) : system_(system) {
    for (Rank rank : ranks()) {
      for (const Action& action : system.schedule.on(rank)) {
        if (action.pass == Pass::recompute) listed_again_.insert(text(action));
        std::uint32_t& last = last_of_chain_[chain_of(action)];
        last = std::max(last, index(action.microbatch));
      }
    }
  }

  Numbers<Rank> ranks() const { return Numbers<Rank>(system_.schedule.ranks()); }

  std::vector<Cell> cells_of(Rank rank) const {
    std::vector<Cell> cells;
    bool open = false;
    for (const Action& action : system_.schedule.on(rank)) {
      if (!open) cells.emplace_back();
      cells.back().push_back(action);
      open = action.with_next;
    }
    std::vector<Cell> with_again;
    for (const Cell& cell : cells) {
      for (const Action& action : cell) {
        if (!again_is_added(action) || (cell.size() == 2 && !early())) continue;
        with_again.push_back({Action(Pass::recompute, action.stage, action.microbatch)});
      }
      with_again.push_back(cell);
    }
    return with_again;
  }

  bool early() const { return system_.extras.recomputing.early; }
  std::uint32_t chain_of(const Action& action) const {
    return system_.placement.chain_of(action.stage);
  }
  std::uint32_t slot_of(const Action& action) const {
    return system_.placement.slot_of(action.stage, action.microbatch);
  }
  bool again_is_listed(const Action& action) const {
    return listed_again_.count(text(Action(Pass::recompute, action.stage, action.microbatch))) != 0;
  }
  /// Whether a boundary of the model is one where tokens change places.
  bool is_exchanged(const Output& output, Stage reader) const {
    const Stage upper = output.gradient ? reader : output.stage;
    const std::uint32_t place = system_.placement.position(upper);
    return place < system_.extras.exchanges.size() && system_.extras.exchanges[place];
  }
  /// Whether an exchange joins a stage to the one before it.
  bool is_further_piece(Stage stage) const {
    const std::uint32_t place = system_.placement.position(stage);
    return place > 0 && !system_.extras.exchanges.empty() && system_.extras.exchanges[place - 1];
  }
  /// Whether two stages are updated as one.
  bool are_joined(Stage one, Stage other) const {
    const auto [low, high] =
        std::minmax({system_.placement.position(one), system_.placement.position(other)});
    for (std::uint32_t place = low; place < high; ++place) {
      if (system_.extras.exchanges.empty() || !system_.extras.exchanges[place]) return false;
    }
    return true;
  }
  /// Whether the activation of an action is recomputed, for any reason.
  bool is_made_again(const Action& action) const {
    if (again_is_listed(action)) return true;
    const Recomputing& recomputing = system_.extras.recomputing;
    const bool last = last_of_chain_.at(chain_of(action)) == index(action.microbatch);
    return has_backward() && !recomputing.stages.empty() &&
           recomputing.stages[system_.placement.position(action.stage)] &&
           !(recomputing.except_last && last);
  }
  bool again_is_added(const Action& action) const {
    return gives_gradient(action.pass) && is_made_again(action) && !again_is_listed(action);
  }

  const Layer& costs_of(Stage stage) const {
    return system_.stages[system_.placement.position(stage)];
  }

  double carrying_us(const Action& action, bool in_cell) const {
    if (action.pass > Pass::recompute) return 0;
    const int sums = ends_activation(action.pass) ? 1 : 0;
    if (system_.extras.tail.summing == Summing::in_passes && !in_shares()) {
      return carrying_us(action.stage, 0, sums);
    }
    if (!in_shares()) return 0;
    const bool again_within = in_cell && !early() && again_is_added(action);
    const int gathers = (action.pass == Pass::backward_weight ? 0 : 1) + (again_within ? 1 : 0);
    return carrying_us(action.stage, gathers, sums);
  }

  double stated_us(const Action& action, bool in_cell) const {
    const Layer& costs = costs_of(action.stage);
    const bool again_within = in_cell && !early() && again_is_added(action);
    const double again = again_within ? costs.recompute_us : 0;
    switch (action.pass) {
      case Pass::recompute:
        return costs.recompute_us;
      case Pass::update:
        return is_further_piece(action.stage) ? 0 : system_.training.optimizer_us;
      case Pass::forward:
        return *costs.forward_us;
      case Pass::backward_input:
        return *costs.backward_input_us + again;
      case Pass::backward_weight:
        return *costs.backward_weight_us;
      case Pass::evict:
      case Pass::load:
        return 0;
      default:
        break;
    }
    const double backward = costs.backward_us
                                ? *costs.backward_us
                                : *costs.backward_input_us + *costs.backward_weight_us;
    return backward + again;
  }

  /// The output of another stage that an action reads.
  std::optional<Output> read_by(const Action& action) const {
    std::optional<Stage> from;
    if (action.pass == Pass::forward) from = system_.placement.before(action.stage);
    if (gives_gradient(action.pass)) from = system_.placement.after(action.stage);
    if (!from) return std::nullopt;
    return Output{*from, gives_gradient(action.pass), action.microbatch};
  }

  std::uint32_t buckets_of(Stage stage) const {
    const auto& buckets = system_.training.buckets;
    return buckets.empty() ? 1 : buckets[system_.placement.position(stage)];
  }

  static Output activation_of(const Action& action) {
    return {action.stage, false, action.microbatch};
  }

  bool reduces(Stage stage) const {
    const auto& stages = system_.extras.tail.reduces;
    return !stages.empty() && stages[system_.placement.position(stage)];
  }
  double copies_of(Stage stage) const {
    return static_cast<double>(ranks_with(stage).size()) * system_.training.data;
  }
  /// The slots of all replicas of a stage.
  std::set<std::uint32_t> slots_with(Stage stage) const {
    std::set<std::uint32_t> slots;
    for (Stage other : system_.placement.stages()) {
      if (system_.placement.position(other) != system_.placement.position(stage)) continue;
      for (const Microbatch m : Numbers<Microbatch>(system_.placement.replicas(other))) {
        slots.insert(system_.placement.slot_of(other, m));
      }
    }
    return slots;
  }
  std::set<Rank> ranks_with(Stage stage) const {
    std::set<Rank> ranks;
    for (const std::uint32_t slot : slots_with(stage)) {
      ranks.insert(system_.placement.rank_of_slot(slot));
    }
    return ranks;
  }
  /// The destination of a rank's gradient sum of a stage.
  Rank beyond(Rank rank, Stage stage) const {
    const std::set<Rank> ranks = ranks_with(stage);
    if (!system_.extras.tail.across_ranks || ranks.size() == 1) return data_replicas;
    const auto next = ranks.upper_bound(rank);
    return next == ranks.end() ? *ranks.begin() : *next;
  }
  /// Parameter bytes of a device, by the number of devices of its group with the same parameters.
  std::map<double, double> holders_of(Stage stage) const {
    const Layer& costs = costs_of(stage);
    const double copies = copies_of(stage) / system_.training.shard_groups;
    std::map<double, double> bytes;
    bytes[costs.copies * copies] += costs.parameter_bytes - costs.expert_parameter_bytes;
    bytes[costs.expert_copies * copies] += costs.expert_parameter_bytes;
    std::erase_if(bytes, [](const auto& one) { return one.second == 0; });
    return bytes;
  }
  /// Bytes of a device for one round of the rings, and the number of steps.
  std::pair<double, double> around(Stage stage, double factor) const {
    double bytes = 0, steps = 0;
    for (const auto& [n, held] : holders_of(stage)) {
      bytes += factor * held * (n - 1) / n;
      steps += n - 1;
    }
    return {bytes, steps};
  }
  /// The same for a sum: twice around all, or once around a group and twice around what one device
  /// keeps of it in each.
  std::pair<double, double> summed_around(Stage stage) const {
    const double factor = system_.training.gradient_factor, groups = system_.training.shard_groups;
    auto [bytes, steps] = around(stage, factor);
    if (system_.training.zero == 0) return {2 * bytes, 2 * steps};
    for (const auto& [n, held] : holders_of(stage)) {
      bytes += 2 * factor * held / n * (groups - 1) / groups;
      steps += 2 * (groups - 1);
    }
    return {bytes, steps};
  }
  double shared(Stage stage, std::uint32_t from_level) const {
    double kept = 0;
    for (const auto& [n, held] : holders_of(stage)) {
      kept += held / (system_.training.zero >= from_level ? n : 1);
    }
    return kept;
  }
  bool in_shares() const { return system_.training.zero == 3; }
  /// Parameter bytes of a stage that passes gather: those of which others keep a share.
  double gathered_bytes(Stage stage) const {
    double bytes = 0;
    for (const auto& [n, held] : holders_of(stage)) bytes += in_shares() && n > 1 ? held : 0;
    return bytes;
  }
  /// Additional time of a pass with sharded parameters: this many gathers and sums.
  double carrying_us(Stage stage, int gathers, int sums) const {
    const auto [weights, steps] = around(stage, 1);
    const auto [gradients, more_steps] = summed_around(stage);
    const HardwareSpec& hardware = system_.hardware;
    const double bytes = gathers * weights + sums * gradients;
    const double latency = hardware.latency_us.value_or(hardware.transfer_us);
    const double on_link =
        hardware.bandwidth_bytes_per_s ? bytes / *hardware.bandwidth_bytes_per_s * 1e6 : 0;
    return on_link + (gathers * steps + sums * more_steps) * latency;
  }

  /// The action at the other end of the chain that shares tied weights; only if both ends have the
  /// same number of replicas.
  std::optional<Action> tied_with(const Action& action) const {
    const auto& chain = system_.placement.chains()[chain_of(action)];
    if (!system_.extras.tail.ties || chain.size() == 1) return std::nullopt;
    if (action.stage == chain.front()) return Action(Pass::update, chain.back(), action.microbatch);
    if (action.stage == chain.back()) return Action(Pass::update, chain.front(), action.microbatch);
    return std::nullopt;
  }

  bool has(BufferKind kind) const { return system_.extras.has(kind); }

  bool has_backward() const {
    for (Rank rank : ranks()) {
      for (const Action& action : system_.schedule.on(rank)) {
        if (gives_gradient(action.pass)) return true;
      }
    }
    return false;
  }

  /// Bytes that a rank holds through the whole iteration.
  std::int64_t held_at_rest(Rank rank) const {
    std::int64_t held = 0;
    for (Stage stage : system_.placement.stages_of(rank)) {
      const Training& training = system_.training;
      held += std::llrint(shared(stage, 3));
      if (has(BufferKind::weight_gradients)) {
        held += std::llrint(shared(stage, 2) * training.gradient_factor);
      }
      if (has(BufferKind::optimizer)) {
        held += std::llrint(shared(stage, 1) * training.optimizer_factor);
      }
    }
    if (has(BufferKind::context)) held += std::llrint(system_.training.context_bytes);
    return held;
  }

  const System& system_;

 private:
  std::set<std::string> listed_again_;  // R's of the order
  std::map<std::uint32_t, std::uint32_t> last_of_chain_;
};

}  // namespace penstock::testing
