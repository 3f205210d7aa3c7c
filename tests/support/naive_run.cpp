#include "tests/support/naive_run.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace penstock::testing {
namespace {

/// What one action hands to another stage.
struct Output {
  Stage stage;
  bool gradient;
  Microbatch microbatch;
  friend auto operator<=>(const Output&, const Output&) = default;
};

using Cell = std::vector<Action>;

/// A change of what a rank holds. Within one moment: what ended gives back (0), what is read in
/// this very moment arrives (1), the reader swaps it for its activation (2, 3), other arrivals
/// follow (4).
struct Change {
  Time time;
  int turn;
  std::int64_t bytes;
  friend auto operator<=>(const Change&, const Change&) = default;
};

class NaiveRunner {
 public:
  NaiveRunner(const System& system, const Disturbance& disturbance)
      : system_(system), disturbance_(disturbance) {}

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
  Numbers<Rank> ranks() const { return Numbers<Rank>(system_.schedule.ranks()); }

  std::vector<Cell> cells_of(Rank rank) const {
    std::vector<Cell> cells;
    bool open = false;
    for (const Action& action : system_.schedule.on(rank)) {
      if (!open) cells.emplace_back();
      cells.back().push_back(action);
      open = action.with_next;
    }
    return cells;
  }

  const Layer& costs_of(Stage stage) const {
    return system_.stages[system_.placement.position(stage)];
  }

  static Time disturbed(const std::map<std::string, Time>& times, const std::string& task,
                        Time otherwise) {
    const auto found = times.find(task);
    return found == times.end() ? otherwise : found->second;
  }

  Time length_of(const Action& action) const {
    return disturbed(disturbance_.duration, text(action), stated_length_of(action));
  }

  Time stated_length_of(const Action& action) const {
    const Layer& costs = costs_of(action.stage);
    switch (action.pass) {
      case Pass::forward:
        return from_us(*costs.forward_us);
      case Pass::backward_input:
        return from_us(*costs.backward_input_us + costs.recompute_us);
      case Pass::backward_weight:
        return from_us(*costs.backward_weight_us);
      case Pass::update:
      case Pass::evict:
      case Pass::load:
        return {};
      default:
        break;
    }
    const double backward = costs.backward_us
                                ? *costs.backward_us
                                : *costs.backward_input_us + *costs.backward_weight_us;
    return from_us(backward + costs.recompute_us);
  }

  /// What an action reads from another stage.
  std::optional<Output> read_by(const Action& action) const {
    std::optional<Stage> from;
    if (action.pass == Pass::forward) from = system_.placement.before(action.stage);
    if (gives_gradient(action.pass)) from = system_.placement.after(action.stage);
    if (!from) return std::nullopt;
    return Output{*from, gives_gradient(action.pass), action.microbatch};
  }

  bool may_start(const Action& action) const {
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
      if (const Time launched = next_launch(rank); launched > now_) {
        agenda_.emplace(launched, [] {});
        continue;
      }
      if (std::all_of(cell.begin(), cell.end(), [&](const Action& a) { return may_start(a); })) {
        start(rank, cell);
      }
    }
  }

  /// When the host of a rank will have launched the next of its actions.
  Time next_launch(Rank rank) {
    Time at = disturbance_.launch;
    for (std::uint32_t k = 0; k <= launches_[rank]; ++k) at += disturbance_.issue;
    return at;
  }

  void start(Rank rank, const Cell& cell) {
    busy_[rank] = true;
    ++next_[rank];
    Time longest{};
    for (const Action& action : cell) longest = std::max(longest, length_of(action));
    Time at = now_;
    for (std::size_t part = 0; part < cell.size(); ++part) {
      const Action action = cell[part];
      const bool fused = cell.size() == 2 && system_.overlap == Overlap::fused;
      if (!fused || part == 0) {
        at = std::max(at, next_launch(rank));
        ++launches_[rank];
      }
      const Span span{fused ? now_ : at, fused ? now_ + longest : at + length_of(action)};
      at = span.end;
      result_.span[text(action)] = span;
      take_memory(rank, action, span);
      const bool last = part + 1 == cell.size();
      agenda_.emplace(span.end, [=, this] { finish(rank, action, last); });
    }
  }

  void finish(Rank rank, const Action& action, bool last_of_cell) {
    done_.insert(text(action));
    result_.makespan = std::max(result_.makespan, now_);
    if (last_of_cell) busy_[rank] = false;
    if (moves_stash(action.pass)) move_stash(rank, action);
    std::optional<Stage> to;
    if (action.pass == Pass::forward) to = system_.placement.after(action.stage);
    if (gives_gradient(action.pass)) to = system_.placement.before(action.stage);
    if (!to) return;
    const Output output{action.stage, gives_gradient(action.pass), action.microbatch};
    const Rank target = system_.placement.rank_of(*to, action.microbatch);
    if (target == rank) {
      there_.insert(output);
    } else {
      send(output, rank, target, *to);
    }
  }

  /// When a tensor travels that could leave at some time.
  Span travels(const std::string& name, double bytes, Rank from, Rank to, Time ready) {
    const HardwareSpec& hardware = system_.hardware;
    Time occupies{};
    if (hardware.bandwidth_bytes_per_s) {
      occupies = from_us(bytes / *hardware.bandwidth_bytes_per_s * 1e6);
    }
    Time late = from_us(hardware.latency_us.value_or(hardware.transfer_us));
    occupies = disturbed(disturbance_.duration, name, occupies);
    late = disturbed(disturbance_.latency, name, late);
    Time& free = link_free_[{from, to}];
    const Time begin = std::max(ready, free);
    free = begin + occupies;
    return {begin, free + late};
  }

  static Output activation_of(const Action& action) {
    return {action.stage, false, action.microbatch};
  }

  /// An activation goes to the host, or comes back once it is there and asked for.
  void move_stash(Rank rank, const Action& action) {
    const Output key = activation_of(action);
    const double bytes = costs_of(action.stage).stash_bytes;
    if (action.pass == Pass::evict) {
      const std::string name = text(Action(Pass::send_evicted, action.stage, action.microbatch));
      const Span out = travels(name, bytes, rank, host_memory, now_);
      away_[key] = out.end;
      changes_[rank].push_back({out.end, 0, -std::llrint(bytes)});
      result_.span[name] = out;
      return;
    }
    const std::string name = text(Action(Pass::send_loaded, action.stage, action.microbatch));
    const Span back = travels(name, bytes, host_memory, rank, std::max(now_, away_[key]));
    changes_[rank].push_back({back.begin, 4, std::llrint(bytes)});
    result_.span[name] = back;
    agenda_.emplace(back.end, [=, this] { away_.erase(key); });
  }

  void send(const Output& output, Rank from, Rank to, Stage reader) {
    const double bytes = costs_of(output.gradient ? reader : output.stage).activation_bytes;
    const Pass pass = output.gradient ? Pass::send_gradient : Pass::send_activation;
    const std::string name = text(Action(pass, output.stage, output.microbatch));
    const auto [begin, arrives] = travels(name, bytes, from, to, now_);
    result_.span[name] = {begin, arrives};
    agenda_.emplace(arrives, [=, this] { there_.insert(output); });
    if (!output.gradient) received_[{to, output}] = {arrives, std::llrint(bytes)};
  }

  void take_memory(Rank rank, const Action& action, const Span& span) {
    const std::int64_t stash = std::llrint(costs_of(action.stage).stash_bytes);
    auto& changes = changes_[rank];
    if (action.pass == Pass::forward) {
      changes.push_back({span.begin, 3, stash});
      const auto input = read_by(action);
      const auto received = input ? received_.find({rank, *input}) : received_.end();
      if (received != received_.end()) {
        const auto [arrived, bytes] = received->second;
        changes.push_back({arrived, arrived == span.begin ? 1 : 4, bytes});
        changes.push_back({span.begin, 2, -bytes});
      }
    }
    const bool ends = has_backward() ? ends_activation(action.pass) : action.pass == Pass::forward;
    if (ends) changes.push_back({span.end, 0, -stash});
  }

  bool has_backward() const {
    for (Rank rank : ranks()) {
      for (const Action& action : system_.schedule.on(rank)) {
        if (gives_gradient(action.pass)) return true;
      }
    }
    return false;
  }

  std::uint64_t peak_of(Rank rank) {
    std::int64_t held = 0;
    for (Stage stage : system_.placement.stages_of(rank)) {
      held += std::llrint(costs_of(stage).parameter_bytes);
    }
    auto& changes = changes_[rank];
    std::sort(changes.begin(), changes.end());
    std::int64_t peak = held;
    for (const Change& change : changes) {
      held += change.bytes;
      peak = std::max(peak, held);
    }
    return static_cast<std::uint64_t>(peak);
  }

  const System& system_;
  const Disturbance& disturbance_;
  NaiveRun result_;
  Time now_{};
  std::multimap<Time, std::function<void()>> agenda_;  // of one moment in the order they were added
  std::map<Rank, std::vector<Cell>> cells_;
  std::map<Rank, std::size_t> next_;
  std::map<Rank, bool> busy_;
  std::map<Rank, std::uint32_t> launches_;  // so far
  std::set<std::string> done_;
  std::set<Output> there_;       // on the rank that reads it
  std::map<Output, Time> away_;  // activations, since when they are at the host
  std::map<std::pair<Rank, Rank>, Time> link_free_;
  std::map<std::pair<Rank, Output>, std::pair<Time, std::int64_t>> received_;
  std::map<Rank, std::vector<Change>> changes_;
};

}  // namespace

NaiveRun run_naively(const System& system, const Disturbance& disturbance) {
  return NaiveRunner(system, disturbance).run();
}

}  // namespace penstock::testing
