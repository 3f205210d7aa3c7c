#include "tests/support/naive_run.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "tests/support/naive_system.hpp"

namespace penstock::testing {
namespace {

class NaiveRunner : NaiveSystem {
 public:
  NaiveRunner(const System& system, const Disturbance& disturbance)
      : NaiveSystem(system), disturbance_(disturbance) {
    for (Rank rank : ranks()) {
      for (const Action& action : system.schedule.on(rank)) {
        if (ends_activation(action.pass)) ++gradients_left_[slot_of(action)];
      }
    }
    makes_gradients_ = gradients_left_;
    find_early_slots();
  }

  NaiveRun run() {
    for (Rank rank : ranks()) cells_[rank] = cells_of(rank);
    start_what_can();
    while (!agenda_.empty()) {
      const auto next = agenda_.begin();
      now_ = next->first;
      const auto happens = next->second;
      agenda_.erase(next);
      happens();
      start_what_can();
    }
    result_.finished = true;
    for (Rank rank : ranks()) {
      if (next_[rank] < cells_[rank].size()) result_.finished = false;
    }
    for (Rank rank : ranks()) result_.peak_bytes.push_back(peak_of(rank));
    return result_;
  }

 private:
  static Time disturbed(const std::map<std::string, Time>& times, const std::string& task,
                        Time otherwise) {
    const auto found = times.find(task);
    return found == times.end() ? otherwise : found->second;
  }

  Time length_of(const Action& action, bool in_cell) const {
    const double own = stated_us(action, in_cell), carried = carrying_us(action, in_cell);
    const bool beside = system_.training.overlaps_sums;
    return disturbed(disturbance_.duration, text(action),
                     from_us(beside ? std::max(own, carried) : own + carried));
  }

  bool may_start(const Action& action) const {
    if (action.pass == Pass::update) {
      return arriving_.at(slot_of(action)) == 0 && is_summed(action.stage);
    }
    if (action.pass == Pass::recompute && !early() && !again_is_listed(action)) {
      const auto gradient = read_by(Action(Pass::backward, action.stage, action.microbatch));
      if (gradient && there_.count(*gradient) == 0) return false;
    }
    const auto input = read_by(action);
    if (input && there_.count(*input) == 0) return false;
    if (reads_activation(action.pass) && away_.count(activation_of(action)) != 0) return false;
    if (action.pass == Pass::forward || action.pass > Pass::recompute) return true;
    const Pass needs = action.pass == Pass::backward_weight ? Pass::backward_input : Pass::forward;
    return done_.count(text(Action(needs, action.stage, action.microbatch))) != 0;
  }

  void start_what_can() {
    for (Rank rank : ranks()) {
      const std::size_t next = next_[rank];
      if (busy_[rank] || next == cells_[rank].size()) continue;
      const Cell& cell = cells_[rank][next];
      start_early(rank, cell);
      if (const Time launched = next_launch(rank); launched > now_) {
        agenda_.emplace(launched, [] {});
        continue;
      }
      if (std::all_of(cell.begin(), cell.end(), [&](const Action& a) { return may_start(a); })) {
        start(rank, cell);
      }
    }
  }

  /// Slots with an early sum.
  void find_early_slots() {
    const Tail& tail = system_.extras.tail;
    const bool behind =
        tail.summing == Summing::behind_stage || tail.summing == Summing::behind_each;
    if (!behind || tail.early.empty()) return;
    for (const Stage stage : system_.placement.stages()) {
      if (!reduces(stage) || !tail.early[system_.placement.position(stage)]) continue;
      for (const Microbatch m : Numbers<Microbatch>(system_.placement.replicas(stage))) {
        const std::uint32_t slot = system_.placement.slot_of(stage, m);
        if (gradients_left_.count(slot) != 0) early_slots_.insert(slot);
      }
    }
  }

  bool ends_early(const Action& action) const {
    if (!ends_activation(action.pass) || early_slots_.count(slot_of(action)) == 0) return false;
    const bool each = system_.extras.tail.summing == Summing::behind_each;
    return each || gradients_left_.at(slot_of(action)) == 1;
  }

  /// Early sums start as soon as their action could, whether or not the host has launched it: with
  /// the cell, or with the second part of a serial one.
  void start_early(Rank rank, const Cell& cell) {
    if (early_at_[rank] > next_[rank]) return;
    if (!std::all_of(cell.begin(), cell.end(), [&](const Action& a) { return may_start(a); })) {
      return;
    }
    early_at_[rank] = next_[rank] + 1;
    const bool fused = system_.overlap == Overlap::fused;
    for (std::size_t part = 0; part < cell.size(); ++part) {
      if ((part == 0 || fused) && ends_early(cell[part])) sum_early(rank, cell[part]);
    }
  }

  void sum_early(Rank rank, const Action& action) {
    const std::uint32_t buckets = buckets_of(action.stage);
    sum_bytes(rank, action, Pass::reduce_early, double(buckets - 1) / buckets, buckets - 1);
  }

  /// When the host of a rank has launched its next action.
  Time next_launch(Rank rank) {
    Time at = disturbance_.launch;
    for (std::uint32_t k = 0; k <= launches_[rank]; ++k) at += disturbance_.issue;
    return at;
  }

  void start(Rank rank, const Cell& cell) {
    busy_[rank] = true;
    ++next_[rank];
    const bool in_cell = cell.size() == 2;
    Time longest{};
    for (const Action& action : cell) longest = std::max(longest, length_of(action, in_cell));
    Time at = now_;
    for (std::size_t part = 0; part < cell.size(); ++part) {
      const Action action = cell[part];
      const bool fused = in_cell && system_.overlap == Overlap::fused;
      if (!fused || part == 0) {
        at = std::max(at, next_launch(rank));
        ++launches_[rank];
      }
      const Span span{fused ? now_ : at, fused ? now_ + longest : at + length_of(action, in_cell)};
      at = span.end;
      result_.span[text(action)] = span;
      take_memory(rank, action, span, part, in_cell);
      const bool last = part + 1 == cell.size();
      if (!last && !fused && ends_early(cell[part + 1])) {
        const Action next = cell[part + 1];
        agenda_.emplace(span.end, [=, this] { sum_early(rank, next); });
      }
      agenda_.emplace(span.end, [=, this] { finish(rank, action, last); });
    }
  }

  void finish(Rank rank, const Action& action, bool last_of_cell) {
    done_.insert(text(action));
    result_.makespan = std::max(result_.makespan, now_);
    if (last_of_cell) busy_[rank] = false;
    if (moves_stash(action.pass)) move_stash(rank, action);
    hand_over(rank, action);
    if (ends_activation(action.pass)) finish_gradient(rank, action);
    if (action.pass == Pass::update && system_.extras.tail.gathers && reduces(action.stage)) {
      gather(rank, action);
    }
    if (next_[rank] < cells_[rank].size() || busy_[rank]) return;
    std::vector<Action> held_back = std::exchange(held_back_[rank], {});
    std::sort(held_back.begin(), held_back.end(),
              [](const Action& a, const Action& b) { return a.stage < b.stage; });
    for (const Action& last : held_back) {
      sum_gradients(rank, last);
      tie(rank, last);
    }
    for (const Action& update : std::exchange(updates_[rank], {})) cells_[rank].push_back({update});
  }

  void finish_gradient(Rank rank, const Action& action) {
    const Tail& tail = system_.extras.tail;
    const std::uint32_t slot = slot_of(action);
    const bool last = --gradients_left_[slot] == 0;
    arriving_.emplace(slot, 0);
    if (last && tail.summing == Summing::behind_row) held_back_[rank].push_back(action);
    if ((last && tail.summing == Summing::behind_stage) || tail.summing == Summing::behind_each) {
      sum_gradients(rank, action);
    }
    if (!last) return;
    if (tail.summing != Summing::behind_row) tie(rank, action);
    if (tail.updates) updates_[rank].emplace_back(Pass::update, action.stage, action.microbatch);
  }

  void hand_over(Rank rank, const Action& action) {
    std::optional<Stage> to;
    if (action.pass == Pass::forward) to = system_.placement.after(action.stage);
    if (gives_gradient(action.pass)) to = system_.placement.before(action.stage);
    if (!to) return;
    const Output output{action.stage, gives_gradient(action.pass), action.microbatch};
    const Rank target = system_.placement.rank_of(*to, action.microbatch);
    if (target != rank || is_exchanged(output, *to)) return send(output, rank, target, *to);
    there_.insert(output);
  }

  void send(const Output& output, Rank from, Rank to, Stage reader) {
    const double bytes = costs_of(output.gradient ? reader : output.stage).activation_bytes;
    const Pass pass = output.gradient ? Pass::send_gradient : Pass::send_activation;
    const Action sent(pass, output.stage, output.microbatch);
    const auto stated = costs_of(output.gradient ? reader : output.stage).exchange_us;
    const std::optional<Time> own =
        from == to ? std::optional(from_us(stated.value_or(0))) : std::nullopt;
    std::string what = text(sent);
    if (own) what.replace(what.find("SEND"), 4, "EXCHANGE");
    const Span way = travel(what, from, to, bytes, own ? 0 : 1, now_, own);
    agenda_.emplace(way.end, [=, this] { there_.insert(output); });
    if (!output.gradient) received_[{to, output}] = {way.begin, std::llrint(bytes)};
  }

  /// Puts a message on a link from `ready` on. Returns its span, from its start until it has
  /// arrived after this many latencies.
  /// `stated`: how long it takes the link, whatever its bytes.
  Span travel(const std::string& what, Rank from, Rank to, double bytes, double latencies,
              Time ready, std::optional<Time> stated = std::nullopt) {
    const HardwareSpec& hardware = system_.hardware;
    Time occupies = stated.value_or(Time{});
    if (hardware.bandwidth_bytes_per_s && !stated) {
      occupies = from_us(bytes / *hardware.bandwidth_bytes_per_s * 1e6);
    }
    Time late = from_us(latencies * hardware.latency_us.value_or(hardware.transfer_us));
    occupies = disturbed(disturbance_.duration, what, occupies);
    late = disturbed(disturbance_.latency, what, late);
    Time& free = link_free_[{from, to}];
    const Time begin = std::max(ready, free);
    free = begin + occupies;
    result_.span[what] = {begin, free + late};
    result_.makespan = std::max(result_.makespan, free + late);
    return {begin, free + late};
  }

  /// Evicts an activation to the host, or fetches it once it is there and requested.
  void move_stash(Rank rank, const Action& action) {
    const Output key = activation_of(action);
    const double bytes = costs_of(action.stage).stash_bytes;
    if (action.pass == Pass::evict) {
      const Action away(Pass::send_evicted, action.stage, action.microbatch);
      away_[key] = travel(text(away), rank, host_memory, bytes, 1, now_).end;
      changes_[rank].push_back({away_[key], 0, 0, -std::llrint(bytes)});
      return;
    }
    const Action home(Pass::send_loaded, action.stage, action.microbatch);
    const Time ready = std::max(now_, away_[key]);
    const Span back = travel(text(home), host_memory, rank, bytes, 1, ready);
    changes_[rank].push_back({back.begin, 4, 0, std::llrint(bytes)});
    agenda_.emplace(back.end, [=, this] { away_.erase(key); });
  }

  /// How many sums a slot takes part in.
  std::uint32_t sums_of(std::uint32_t slot) const {
    const auto found = makes_gradients_.find(slot);
    const std::uint32_t gradients = found == makes_gradients_.end() ? 0 : found->second;
    const bool each = system_.extras.tail.summing == Summing::behind_each;
    const std::uint32_t parts = early_slots_.count(slot) != 0 ? 2 : 1;
    return parts * (each ? gradients : std::min(gradients, 1U));
  }

  /// Whether all replicas of the stages joined to one have sent their sums and all have arrived.
  bool is_summed(Stage stage) const {
    for (const Stage other : system_.placement.stages()) {
      if (are_joined(stage, other) && !is_summed_alone(other)) return false;
    }
    return true;
  }

  bool is_summed_alone(Stage stage) const {
    if (!reduces(stage) || system_.extras.tail.summing == Summing::in_passes) return true;
    std::uint32_t sums = 0;
    for (const std::uint32_t slot : slots_with(stage)) sums += sums_of(slot);
    const auto found = summed_.find(system_.placement.position(stage));
    return (found == summed_.end() ? 0 : found->second) == sums;
  }

  /// The part of a sum that follows its action: all of it, or the last bucket.
  void sum_gradients(Rank rank, const Action& action) {
    if (!reduces(action.stage)) return;
    sum_bytes(rank, action, Pass::reduce_gradient, 1.0 / buckets_of(action.stage), 1);
  }

  /// Part of a sum, in so many collectives in sequence.
  void sum_bytes(Rank rank, const Action& action, Pass pass, double share, double times) {
    const auto [once, steps] = summed_around(action.stage);
    const auto bytes = static_cast<double>(std::llrint(share * once));
    const Action what(pass, action.stage, action.microbatch);
    const Time there =
        travel(text(what), rank, beyond(rank, action.stage), bytes, times * steps, now_).end;
    agenda_.emplace(there, [=, this] { ++summed_[system_.placement.position(action.stage)]; });
  }

  void tie(Rank rank, const Action& action) {
    const Microbatch last = action.microbatch;
    const auto other = tied_with(action);
    if (!other) return;
    const Rank to = system_.placement.rank_of(other->stage, last);
    if (to == rank) return;
    const Time there = travel(text(Action(Pass::tie_gradient, action.stage, last)), rank, to,
                              system_.training.tied_embedding_bytes, 1, now_)
                           .end;
    agenda_.emplace(there, [=, this] { --arriving_[slot_of(*other)]; });
    if (makes_gradients_[slot_of(*other)] != 0) ++arriving_[slot_of(action)];
  }

  void gather(Rank rank, const Action& update) {
    const auto [once, steps] = around(update.stage, 1);
    travel(text(Action(Pass::gather_weights, update.stage, update.microbatch)), rank,
           beyond(rank, update.stage), static_cast<double>(std::llrint(once)), steps, now_);
  }

  void take_memory(Rank rank, const Action& action, const Span& span, std::size_t part,
                   bool in_cell) {
    const Layer& costs = costs_of(action.stage);
    const std::int64_t stash = std::llrint(costs.stash_bytes);
    const std::int64_t again =
        has(BufferKind::recomputed) ? std::llrint(costs.recomputed_bytes) : 0;
    const double gathered = gathered_bytes(action.stage);
    const double whole =
        gathered > 0 ? system_.training.gathered_bytes.value_or(gathered) : gathered;
    const std::int64_t workspace =
        has(BufferKind::workspace) ? std::llrint(costs.workspace_bytes + whole) : 0;
    const std::int64_t pending =
        has(BufferKind::pending_weight) ? std::llrint(costs.pending_weight_bytes) : 0;
    auto& changes = changes_[rank];
    changes.push_back({span.begin, 3, 0, workspace});
    changes.push_back({span.end, 0, part, -workspace});
    if (action.pass == Pass::recompute) changes.push_back({span.begin, 3, 0, again});
    if (in_cell && !early() && again_is_added(action)) {
      changes.push_back({span.begin, 3, 0, again});
    }
    if (action.pass == Pass::forward && !is_made_again(action)) {
      changes.push_back({span.begin, 3, 0, again});
    }
    if (action.pass == Pass::backward_input) changes.push_back({span.end, 0, part, pending});
    if (action.pass == Pass::backward_weight) changes.push_back({span.end, 0, part, -pending});
    if (action.pass == Pass::forward) {
      changes.push_back({span.begin, 3, 0, stash});
      const auto input = read_by(action);
      const auto received = input ? received_.find({rank, *input}) : received_.end();
      if (received != received_.end()) {
        const auto [begins, bytes] = received->second;
        changes.push_back({begins, begins == span.begin ? 1 : 4, 0, bytes});
        changes.push_back({span.begin, 2, 0, -bytes});
      }
    }
    const bool ends = has_backward() ? ends_activation(action.pass) : action.pass == Pass::forward;
    if (ends) changes.push_back({span.end, 0, part, -stash - again});
  }

  std::uint64_t peak_of(Rank rank) {
    std::int64_t held = held_at_rest(rank);
    auto& changes = changes_[rank];
    std::sort(changes.begin(), changes.end());
    std::int64_t peak = held;
    for (const Change& change : changes) {
      held += change.bytes;
      peak = std::max(peak, held);
    }
    return static_cast<std::uint64_t>(peak);
  }

  const Disturbance& disturbance_;
  NaiveRun result_;
  Time now_{};
  std::multimap<Time, std::function<void()>> agenda_;  // of one moment in insertion order
  std::map<Rank, std::vector<Cell>> cells_;
  std::map<Rank, std::size_t> next_;
  std::map<Rank, bool> busy_;
  std::map<Rank, std::uint32_t> launches_;  // so far
  std::map<Rank, std::size_t> early_at_;    // the next cell whose early sums have not started
  std::set<std::uint32_t> early_slots_;
  std::set<std::string> done_;
  std::set<Output> there_;                                  // on the rank that reads it
  std::map<std::uint32_t, std::uint32_t> gradients_left_;   // by slot
  std::map<std::uint32_t, std::uint32_t> makes_gradients_;  // by slot
  std::map<std::uint32_t, std::int64_t> arriving_;  // by slot: arrivals that its update waits for
  std::map<Rank, std::vector<Action>> updates_;
  std::map<Rank, std::vector<Action>> held_back_;  // last gradients of its stages
  std::map<std::uint32_t, std::uint32_t> summed_;  // by model stage: sums that have arrived
  std::map<Output, Time> away_;                    // evicted activations: arrival time at the host
  std::map<std::pair<Rank, Rank>, Time> link_free_;
  std::map<std::pair<Rank, Output>, std::pair<Time, std::int64_t>> received_;
  std::map<Rank, std::vector<Change>> changes_;
};

}  // namespace

NaiveRun run_naively(const System& system, const Disturbance& disturbance) {
  return NaiveRunner(system, disturbance).run();
}

}  // namespace penstock::testing
