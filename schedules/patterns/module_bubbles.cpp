#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <span>
#include <utility>

#include "schedules/patterns/module_rows.hpp"

namespace penstock {
namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();

/// How a rank chooses between its other actions and those of the module.
struct RankChoice {
  double fitting = 0;  // of an action of the module, what must fit into a wait that is known
  bool backwards_last = false;
};

struct Choice {
  std::uint32_t ahead = 1;  // forwards of the module before the first stage needs them
  std::vector<RankChoice> ranks;
};

/// Runs an order with a module on its ranks, transfers without contention.
class BubbleRun {
 public:
  /// `first` runs all forwards of the module first, and all backwards last.
  BubbleRun(const Schedule& first, const Placement& joined,
            const std::vector<StageDurations>& times, const Choice& choice)
      : placement_(joined),
        times_(times),
        choice_(choice),
        microbatches_(MicrobatchColumns(first).count()),
        others_(first.ranks()),
        rows_(first.ranks()),
        arrives_(std::size_t{2} * joined.stage_count() * microbatches_, unknown),
        needed_at_(microbatches_),
        done_(first.ranks()),
        others_end_(first.ranks()) {
    std::uint32_t place = 0;
    for (const Rank rank : Numbers<Rank>(first.ranks())) {
      Row& row = rows_[index(rank)];
      for (const Action& action : first.on(rank)) {
        if (action.stage != module) {
          others_[index(rank)].push_back(action);
          const bool needs = action.stage == *joined.after(module) && action.pass == Pass::forward;
          if (needs) needed_at_[index(action.microbatch)] = place++;
        } else {
          (action.pass == Pass::forward ? row.forwards : row.backwards)
              .push_back(action.microbatch);
        }
      }
      row.others = others_[index(rank)];
    }
  }

  void run() {
    for (const Stage stage : placement_.stages()) {
      if (placement_.before(stage)) continue;
      for (const Microbatch one : Numbers<Microbatch>(microbatches_)) at(false, stage, one) = 0;
    }
    for (const Rank rank : Numbers<Rank>(done_.ranks())) wake(rank, 0);
    while (!events_.empty()) {
      const auto [now, rank] = events_.top();
      events_.pop();
      decide(Rank{rank}, now);
    }
  }

  /// The makespan, then when the ranks have run all but the module, added up.
  std::pair<double, double> length() const {
    return {makespan_, std::accumulate(others_end_.begin(), others_end_.end(), 0.0)};
  }

  const Schedule& schedule() const { return done_; }

 private:
  struct Row {
    std::span<const Action> others;    // to come, of all other stages
    std::deque<Microbatch> forwards;   // of the module, to come
    std::deque<Microbatch> backwards;  // the same, in order
    double free_us = 0;
  };

  static constexpr Stage module{0};
  double& at(bool gradient, Stage stage, Microbatch microbatch) {
    const std::size_t row = std::size_t{index(stage)} * 2 + (gradient ? 1 : 0);
    return arrives_[row * microbatches_ + index(microbatch)];
  }

  /// When what an action reads is there; it may be unknown yet.
  double ready_us(const Action& action) {
    if (action.pass == Pass::forward) return at(false, action.stage, action.microbatch);
    const bool reads = gives_gradient(action.pass) && placement_.after(action.stage);
    return reads ? at(true, action.stage, action.microbatch) : 0;
  }

  double ready_us(std::span<const Action> cell) {
    double ready = cell.empty() ? unknown : 0;
    for (const Action& action : cell) ready = std::max(ready, ready_us(action));
    return ready;
  }

  std::span<const Action> next_cell(const Row& row) const {
    if (row.others.empty()) return {};
    return row.others.first(row.others.front().with_next ? 2 : 1);
  }

  /// Whether the first stage is about to lack what the next forward of the module puts out.
  bool is_due(const Row& row) const {
    return !row.forwards.empty() && needed_at_[index(row.forwards.front())] < used_ + choice_.ahead;
  }

  /// Starts a forward of the module, else a backward, if enough of it fits into a wait.
  bool start_module(Row& row, Rank rank, double now, double wait) {
    const RankChoice& choice = choice_.ranks[index(rank)];
    const auto fits = [&](Pass pass) {
      return times_[index(module)].of(pass) * choice.fitting <= wait;
    };
    if (!row.forwards.empty() && fits(Pass::forward)) {
      const Action action(Pass::forward, module, row.forwards.front());
      row.forwards.pop_front();
      start(rank, action, now);
      return true;
    }
    if (row.backwards.empty() || (choice.backwards_last && !row.others.empty())) return false;
    const Action action(Pass::backward, module, row.backwards.front());
    if (ready_us(action) > now || !fits(Pass::backward)) return false;
    row.backwards.pop_front();
    start(rank, action, now);
    return true;
  }

  void decide(Rank rank, double now) {
    Row& row = rows_[index(rank)];
    if (row.free_us > now) return;
    if (is_due(row)) {
      start_module(row, rank, now, unknown);
      return;
    }
    const auto cell = next_cell(row);
    const double ready = ready_us(cell);
    if (ready > now) {
      start_module(row, rank, now, ready - now);
      return;
    }
    row.others = row.others.subspan(cell.size());
    for (const Action& action : cell) start(rank, action, std::max(now, row.free_us));
  }

  void start(Rank rank, const Action& action, double now) {
    Row& row = rows_[index(rank)];
    const double end = now + times_[index(action.stage)].of(action.pass);
    row.free_us = end;
    makespan_ = std::max(makespan_, end);
    if (action.stage != module) others_end_[index(rank)] = end;
    done_.on(rank).push_back(action);
    if (action.stage == *placement_.after(module) && action.pass == Pass::forward) ++used_;
    hand_over(rank, action, end);
    wake(rank, end);
  }

  void hand_over(Rank rank, const Action& action, double end) {
    const bool gradient = gives_gradient(action.pass);
    if (!gradient && action.pass != Pass::forward) return;
    const auto reader = gradient ? placement_.before(action.stage) : placement_.after(action.stage);
    if (!reader) return;
    const Rank to = placement_.rank_of(*reader, action.microbatch);
    // A gradient has the size of what it is the gradient of, which the reader put out.
    const Stage writer = gradient ? *reader : action.stage;
    const double there = to == rank ? end : end + times_[index(writer)].handed_us;
    at(gradient, *reader, action.microbatch) = there;
    if (to != rank) wake(to, there);
  }

  void wake(Rank rank, double when) { events_.emplace(when, index(rank)); }

  const Placement& placement_;
  const std::vector<StageDurations>& times_;
  Choice choice_;
  std::uint32_t microbatches_ = 0;
  std::vector<std::vector<Action>> others_;
  std::vector<Row> rows_;
  std::vector<double> arrives_;           // what a stage reads, by stage, gradient and microbatch
  std::vector<std::uint32_t> needed_at_;  // by microbatch: its place in the first stage's forwards
  std::uint32_t used_ = 0;                // of these, begun
  Schedule done_;
  double makespan_ = 0;
  std::vector<double> others_end_;  // by rank
  using Event = std::pair<double, std::uint32_t>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

constexpr std::array rank_choices{RankChoice{0, false},  RankChoice{0.5, false},
                                  RankChoice{1, false},  RankChoice{0, true},
                                  RankChoice{0.5, true}, RankChoice{1, true}};

/// Finds the choice with the shortest makespan.
class BubbleSearch {
 public:
  BubbleSearch(const Schedule& first, const Placement& joined,
               const std::vector<StageDurations>& times)
      : first_(first), joined_(joined), times_(times) {}

  /// All forwards first and all backwards last; all ranks alike; then one rank after the other.
  void search(std::uint32_t microbatches) {
    attempt({microbatches, std::vector(first_.ranks(), RankChoice{0, true})});
    for (std::uint32_t ahead = 1; ahead < 2 * microbatches && left_ > 0; ahead *= 2) {
      for (const RankChoice& one : rank_choices) {
        attempt({std::min(ahead, microbatches), std::vector(first_.ranks(), one)});
      }
    }
    for (std::pair before{unknown, unknown}; least_ < before && left_ > 0;) {
      before = least_;
      try_each_rank(microbatches);
    }
  }
  const Schedule& best() const { return best_; }

 private:
  void try_each_rank(std::uint32_t microbatches) {
    for (std::uint32_t rank = 0; rank < first_.ranks() && left_ > 0; ++rank) {
      for (const RankChoice& one : rank_choices) {
        Choice choice = choice_;
        choice.ranks[rank] = one;
        for (const std::uint32_t ahead : {choice_.ahead, 2 * choice_.ahead}) {
          choice.ahead = std::min(ahead, microbatches);
          attempt(choice);
        }
      }
    }
  }

  void attempt(const Choice& choice) {
    left_ -= static_cast<std::int64_t>(first_.actions());
    BubbleRun run(first_, joined_, times_, choice);
    run.run();
    if (run.length() >= least_) return;
    least_ = run.length();
    best_ = run.schedule();
    choice_ = choice;
  }

  const Schedule& first_;
  const Placement& joined_;
  const std::vector<StageDurations>& times_;
  Schedule best_;
  Choice choice_;
  std::pair<double, double> least_{unknown, unknown};
  std::int64_t left_ = 20'000'000;  // actions to run; those of the choice at hand are more
};

}  // namespace

Schedule with_module_in_bubbles(const Schedule& order, const Placement& placement,
                                const ModuleRows& module,
                                const std::vector<StageDurations>& times) {
  const Schedule first = with_module(order, placement, module);
  const Placement joined = with_module(placement, module);
  BubbleSearch search(first, joined, times);
  search.search(MicrobatchColumns(order).count());
  return search.best();
}

}  // namespace penstock
