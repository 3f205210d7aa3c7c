#include "schedules/patterns/offload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Where an activation is.
enum class Place : std::uint8_t { nowhere, here, away };

struct Activation {
  Stage stage;
  Microbatch microbatch;
  std::size_t read_at = SIZE_MAX;  // index of the action that first reads it
  Place place = Place::nowhere;
};

using ActivationId = std::uint32_t;

/// Walks a row cell by cell and inserts evictions and loads before the cells.
class Walk {
 public:
  Walk(const std::vector<Action>& row, Offload offload) : row_(row), offload_(offload) {
    for (std::size_t at = 0; at < row.size(); ++at) {
      const auto [known, is_new] = ids_.try_emplace({row[at].stage, row[at].microbatch},
                                                    static_cast<ActivationId>(activations_.size()));
      if (is_new) activations_.push_back({row[at].stage, row[at].microbatch});
      of_action_.push_back(known->second);
      Activation& activation = activations_[known->second];
      if (!reads_activation(row[at].pass) || activation.read_at != SIZE_MAX) continue;
      activation.read_at = at;
      reads_.push_back(known->second);
    }
  }

  /// The new row; nothing when an action has no room for its result.
  std::optional<std::vector<Action>> run() {
    for (at_ = 0; at_ < row_.size();) {
      const std::size_t length = row_[at_].with_next ? 2 : 1;
      if (!move_for({&row_[at_], length})) return std::nullopt;
      for (std::size_t end = at_ + length; at_ < end; ++at_) finish();
    }
    return std::move(moved_);
  }
  const Action& stuck_at() const { return row_[at_]; }

 private:
  /// Makes sure that a cell's inputs are present and its outputs have room.
  bool move_for(std::span<const Action> cell) {
    std::uint32_t forwards = 0;
    bool reads = false;
    for (std::size_t i = 0; i < cell.size(); ++i) {
      const ActivationId id = of_action_[at_ + i];
      if (cell[i].pass == Pass::forward) ++forwards;
      if (activations_[id].read_at != at_ + i) continue;
      reads = true;
      ++next_read_;
      may_leave_.erase({at_ + i, id});
    }
    for (std::size_t i = 0; i < cell.size(); ++i) {
      const ActivationId id = of_action_[at_ + i];
      const bool needed = activations_[id].read_at == at_ + i;
      if (needed && activations_[id].place == Place::away && !call_back(id, forwards)) return false;
    }
    if (!make_room(forwards, 0)) return false;
    if (reads) call_ahead(forwards);
    return true;
  }

  /// Loads what the next backwards read, while there is room.
  void call_ahead(std::uint32_t forwards) {
    const std::size_t end = std::min(reads_.size(), next_read_ + offload_.ahead);
    for (std::size_t next = next_read_; next < end; ++next) {
      const bool away = activations_[reads_[next]].place == Place::away;
      if (away && !call_back(reads_[next], forwards)) return;
    }
  }

  bool call_back(ActivationId id, std::uint32_t forwards) {
    if (!make_room(forwards + 1, activations_[id].read_at)) return false;
    move(Pass::load, id, Place::here);
    return true;
  }

  /// Evicts until `more` activations fit; only activations first read after `later_than`.
  bool make_room(std::uint32_t more, std::size_t later_than) {
    while (held_ + more > offload_.keep) {
      if (may_leave_.empty()) return false;
      const auto [read_at, id] = *may_leave_.rbegin();
      if (read_at <= later_than) return false;
      may_leave_.erase({read_at, id});
      move(Pass::evict, id, Place::away);
    }
    return true;
  }

  void move(Pass pass, ActivationId id, Place place) {
    Activation& activation = activations_[id];
    activation.place = place;
    held_ += place == Place::here ? 1 : -1;
    moved_.emplace_back(pass, activation.stage, activation.microbatch);
  }

  void finish() {
    const Action& action = row_[at_];
    const ActivationId id = of_action_[at_];
    moved_.push_back(action);
    if (ends_activation(action.pass)) --held_;
    if (action.pass != Pass::forward) return;
    ++held_;
    activations_[id].place = Place::here;
    may_leave_.insert({activations_[id].read_at, id});
  }

  const std::vector<Action>& row_;
  Offload offload_;
  std::map<std::pair<Stage, Microbatch>, ActivationId> ids_;
  std::vector<Activation> activations_;
  std::vector<ActivationId> of_action_;
  std::vector<ActivationId> reads_;                           // the activations in reading order
  std::size_t next_read_ = 0;                                 // the first one not read so far
  std::set<std::pair<std::size_t, ActivationId>> may_leave_;  // by time of reading
  std::uint32_t held_ = 0;
  std::size_t at_ = 0;
  std::vector<Action> moved_;
};

}  // namespace

std::vector<Action> offloaded_row(const std::vector<Action>& row, Rank rank, Offload offload) {
  // An early load may take room needed later: try shorter look-ahead too.
  for (Offload trial = offload;; --trial.ahead) {
    Walk walk(row, trial);
    if (auto moved = walk.run()) return *std::move(moved);
    if (trial.ahead > 0) continue;
    throw RuleError(
        fmt::format("rank {} cannot run with keep = {}: at {} all that it holds is in use or "
                    "has been evicted before; keep more",
                    index(rank), offload.keep, text(walk.stuck_at())));
  }
}

Schedule offloaded(const Schedule& schedule, Offload offload) {
  if (!schedule.has_backward()) {
    throw RuleError("the order has no backwards: no activation to offload");
  }
  if (schedule.has(Pass::evict)) {
    throw RuleError("the order already evicts activations: only one rule may move them");
  }
  Schedule moved = schedule;
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    moved.on(rank) = offloaded_row(schedule.on(rank), rank, offload);
  }
  return moved;
}

}  // namespace penstock
