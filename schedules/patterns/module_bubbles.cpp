#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <utility>

#include "schedules/patterns/module_rows.hpp"

namespace penstock {
namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();

/// How a rank chooses between its other actions and those of the module.
struct Choice {
  std::uint32_t ahead = 1;  // forwards of the module before the first stage needs them
  double fitting = 0;       // of an action of the module, what must fit into a wait that is known
  bool backwards_last = false;
};

/// Runs an order with a module on its ranks, transfers without contention.
class BubbleRun {
 public:
  BubbleRun(const Schedule& first, const Placement& joined, const std::vector<StageTimes>& times,
            const Choice& choice);
  void run();

  double makespan() const { return makespan_; }
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
  double ready_us(const Action& action);
  double ready_us(std::span<const Action> cell);
  std::span<const Action> next_cell(const Row& row) const;
  bool is_due(const Row& row) const;
  bool start_module(Row& row, Rank rank, double now, double wait);
  void decide(Rank rank, double now);
  void start(Rank rank, const Action& action, double now);
  void hand_over(Rank rank, const Action& action, double end);
  void wake(Rank rank, double when) { events_.emplace(when, index(rank)); }

  const Placement& placement_;
  const std::vector<StageTimes>& times_;
  Choice choice_;
  std::uint32_t microbatches_ = 0;
  std::vector<std::vector<Action>> others_;
  std::vector<Row> rows_;
  std::vector<double> arrives_;           // what a stage reads, by stage, gradient and microbatch
  std::vector<std::uint32_t> needed_at_;  // by microbatch: its place in the first stage's forwards
  std::uint32_t used_ = 0;                // of these, begun
  Schedule done_;
  double makespan_ = 0;
  using Event = std::pair<double, std::uint32_t>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

/// `first` runs all forwards of the module first, and all backwards last.
BubbleRun::BubbleRun(const Schedule& first, const Placement& joined,
                     const std::vector<StageTimes>& times, const Choice& choice)
    : placement_(joined),
      times_(times),
      choice_(choice),
      microbatches_(MicrobatchColumns(first).count()),
      others_(first.ranks()),
      rows_(first.ranks()),
      arrives_(std::size_t{2} * joined.stage_count() * microbatches_, unknown),
      needed_at_(microbatches_),
      done_(first.ranks()) {
  std::uint32_t place = 0;
  for (const Rank rank : Numbers<Rank>(first.ranks())) {
    Row& row = rows_[index(rank)];
    for (const Action& action : first.on(rank)) {
      if (action.stage != module) {
        others_[index(rank)].push_back(action);
        const bool needs = action.stage == *joined.after(module) && action.pass == Pass::forward;
        if (needs) needed_at_[index(action.microbatch)] = place++;
      } else {
        (action.pass == Pass::forward ? row.forwards : row.backwards).push_back(action.microbatch);
      }
    }
    row.others = others_[index(rank)];
  }
}

std::span<const Action> BubbleRun::next_cell(const Row& row) const {
  if (row.others.empty()) return {};
  return row.others.first(row.others.front().with_next ? 2 : 1);
}

/// When what an action reads is there; it may be unknown yet.
double BubbleRun::ready_us(const Action& action) {
  if (action.pass == Pass::forward) return at(false, action.stage, action.microbatch);
  const bool reads = gives_gradient(action.pass) && placement_.after(action.stage);
  return reads ? at(true, action.stage, action.microbatch) : 0;
}

double BubbleRun::ready_us(std::span<const Action> cell) {
  double ready = cell.empty() ? unknown : 0;
  for (const Action& action : cell) ready = std::max(ready, ready_us(action));
  return ready;
}

/// Whether the first stage is about to lack what the next forward of the module puts out.
bool BubbleRun::is_due(const Row& row) const {
  return !row.forwards.empty() && needed_at_[index(row.forwards.front())] < used_ + choice_.ahead;
}

/// Starts a forward of the module, else a backward, if enough of it fits into a wait.
bool BubbleRun::start_module(Row& row, Rank rank, double now, double wait) {
  const auto fits = [&](Pass pass) {
    return times_[index(module)].of(pass) * choice_.fitting <= wait;
  };
  if (!row.forwards.empty() && fits(Pass::forward)) {
    const Action action(Pass::forward, module, row.forwards.front());
    row.forwards.pop_front();
    start(rank, action, now);
    return true;
  }
  if (row.backwards.empty() || (choice_.backwards_last && !row.others.empty())) return false;
  const Action action(Pass::backward, module, row.backwards.front());
  if (ready_us(action) > now || !fits(Pass::backward)) return false;
  row.backwards.pop_front();
  start(rank, action, now);
  return true;
}

void BubbleRun::decide(Rank rank, double now) {
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

void BubbleRun::start(Rank rank, const Action& action, double now) {
  Row& row = rows_[index(rank)];
  const double end = now + times_[index(action.stage)].of(action.pass);
  row.free_us = end;
  makespan_ = std::max(makespan_, end);
  done_.on(rank).push_back(action);
  if (action.stage == *placement_.after(module) && action.pass == Pass::forward) ++used_;
  hand_over(rank, action, end);
  wake(rank, end);
}

void BubbleRun::hand_over(Rank rank, const Action& action, double end) {
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

void BubbleRun::run() {
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

std::vector<Choice> choices(std::uint32_t microbatches) {
  std::vector<Choice> all;
  for (std::uint32_t ahead = 1; ahead < 2 * microbatches; ahead *= 2) {
    for (const bool last : {false, true}) {
      for (const double fitting : {0.0, 0.5, 1.0}) {
        all.push_back({std::min(ahead, microbatches), fitting, last});
      }
    }
  }
  return all;
}

}  // namespace

Schedule with_module_in_bubbles(const Schedule& order, const Placement& placement,
                                const ModuleRows& module, const std::vector<StageTimes>& times) {
  const Schedule first = with_module(order, placement, module);
  const Placement joined = with_module(placement, module);
  Schedule best;
  double least = unknown;
  for (const Choice& choice : choices(MicrobatchColumns(order).count())) {
    BubbleRun run(first, joined, times, choice);
    run.run();
    if (run.makespan() >= least) continue;
    least = run.makespan();
    best = run.schedule();
  }
  return best;
}

}  // namespace penstock
