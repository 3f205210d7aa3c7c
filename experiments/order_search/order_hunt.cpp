#include "experiments/order_search/order_hunt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "experiments/files/files.hpp"
#include "experiments/layout/training.hpp"
#include "experiments/order_search/search_problem.hpp"
#include "experiments/run/run.hpp"
#include "schedules/search/order_search.hpp"
#include "schedules/search/order_search.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

/// Shares of the budget: every placement at first, then the best one.
constexpr double each_placement_end = 0.4;
/// How often memory that the search does not see is taken off the capacity.
constexpr int most_corrections = 3;

/// One placement of the stages, its problem, and the named orders for it.
struct PlacementToSearch {
  const Layout* layout;
  SearchProblem problem;
  OrderSearchOptions options = {};
  FoundOrder found = {};
  bool corrected = false;  // its capacity
};

bool recomputes_some(const Layout& layout) {
  const std::vector<bool> stages = extras_of(layout).recomputing.stages;
  return std::find(stages.begin(), stages.end(), true) != stages.end();
}

void check_searchable(const RunResult& base, bool chooses) {
  const Layout& layout = base.layout;
  const auto refuse = [&](const std::string& text) {
    throw in_file(layout.source, InputError("/schedule", text));
  };
  if (layout.schedule.weights().use != WeightUse::flushed) {
    refuse("a search orders one iteration with a flush; asynchronous schedules have none");
  }
  if (layout.slices > 1) refuse("a search orders whole microbatches, not slices of sequences");
  if (layout.placement.chains().size() > 1) {
    refuse("a search orders one copy of the model; bidirectional schedules have two");
  }
  if (layout.placement.slots() != layout.placement.stage_count()) {
    refuse("a search needs each stage on one rank; here a stage has replicas");
  }
  if (!layout.schedule.has_backward()) refuse("a search needs a schedule with a backward");
  if (chooses && !recomputes_some(layout)) {
    throw in_file(layout.source, InputError("/recompute",
                                            "nothing is recomputed, so there is nothing to choose; "
                                            "set mode=full, and recompute_us of stages"));
  }
  if (!base.report)
    refuse("the scenario's own order does not finish: " + base.findings.front().text);
}

class Hunt {
 public:
  Hunt(const Scenario& scenario, const HuntOptions& options)
      : scenario_(scenario), options_(options) {}

  HuntResult run();

 private:
  PlacementToSearch& placement_of_layout(const Layout& layout);
  void collect_placements();
  void search(PlacementToSearch& placement, double end);
  void search_all();
  void judge(PlacementToSearch& placement);
  bool judge_once(PlacementToSearch& placement);
  void join_backwards(PlacementToSearch& placement);
  void compare_with_named();
  void conclude();
  bool take(const RunResult& run, const std::string& origin);
  double spent() const;
  void report(SearchTime best);

  const Scenario& scenario_;
  const HuntOptions& options_;
  Clock::time_point begin_ = Clock::now();
  std::vector<PlacementToSearch> placements_;
  HuntResult result_;
  SearchTime bound_ = never;  // of all placements
  std::uint64_t before_ = 0;  // evaluations of earlier searches
};

double Hunt::spent() const {
  if (options_.asked_to_stop && options_.asked_to_stop()) return 1;
  if (options_.evaluations > 0) {
    return static_cast<double>(result_.evaluations) / static_cast<double>(options_.evaluations);
  }
  return std::chrono::duration<double>(Clock::now() - begin_).count() / options_.budget_s;
}

void Hunt::report(SearchTime best) {
  if (!options_.on_progress) return;
  options_.on_progress({spent(), {best}, {bound_}});
}

/// The placement of a layout; a new one is priced.
PlacementToSearch& Hunt::placement_of_layout(const Layout& layout) {
  for (PlacementToSearch& known : placements_) {
    if (known.layout->placement == layout.placement) return known;
  }
  PlacementToSearch& added = placements_.emplace_back(
      PlacementToSearch{&layout, search_problem(layout, options_.chooses_recomputation)});
  added.options.seed = options_.seed;
  bound_ = std::min(bound_, added.problem.bound);
  return added;
}

void Hunt::collect_placements() {
  for (const ComparedOrder& order : result_.named) {
    const Layout& layout = order.layout;
    PlacementToSearch& placement = placement_of_layout(layout);
    if (auto sequences = sequences_of(layout.schedule, layout, placement.problem.orders)) {
      placement.options.seeds.push_back({order.name, std::move(*sequences)});
    }
  }
}

/// Searches until a share of the whole budget is used.
void Hunt::search(PlacementToSearch& placement, double end) {
  const double begin = spent();
  before_ = result_.evaluations;
  if (begin >= end) return;
  placement.options.spent = [&, begin](const OrderSearchState& state) {
    result_.evaluations = before_ + state.evaluations;
    if (state.evaluations % 64 == 0) report(state.best);
    return (spent() - begin) / (end - begin);
  };
  FoundOrder found = search_order(placement.problem.orders, placement.options);
  result_.evaluations = before_ + found.state.evaluations;
  const bool better = found.sequences && (!placement.found.sequences ||
                                          found.state.best <= placement.found.state.best);
  if (better) placement.found = std::move(found);
}

/// Every placement for a while, then the one that came out best, from what was found.
void Hunt::search_all() {
  const auto count = static_cast<double>(placements_.size());
  if (placements_.size() == 1) return search(placements_.front(), 1);
  for (std::size_t n = 0; n < placements_.size(); ++n) {
    search(placements_[n], each_placement_end * static_cast<double>(n + 1) / count);
  }
  std::stable_sort(placements_.begin(), placements_.end(), [](const auto& a, const auto& b) {
    return a.found.state.best < b.found.state.best;
  });
  PlacementToSearch& best = placements_.front();
  if (best.found.proven || !best.found.sequences) return;
  best.options.seeds.push_back({best.found.origin, *best.found.sequences});
  best.options.seed = ~options_.seed;
  search(best, 1);
}

/// Takes a run over if it fits and is the shortest so far.
bool Hunt::take(const RunResult& run, const std::string& origin) {
  if (!run.report || !run.findings.empty()) return false;
  const bool first = !result_.fits;
  if (!first && run.report->makespan >= result_.run.report->makespan) return false;
  result_.run = run;
  result_.order = run.layout.schedule;
  result_.origin = origin;
  result_.fits = true;
  return true;
}

/// An order on a layout, with the activations recomputed that it chose, if it was left the choice.
RunResult run_with(const Layout& layout, Schedule order, const Recomputed& recomputed) {
  Layout changed = layout;
  if (!recomputed.empty()) {
    changed.recompute.mode = mode_with_choice(layout.recompute.mode);
    changed.recompute.microbatches = microbatches_of(recomputed, layout);
  }
  changed.schedule = std::move(order);
  changed.name = "searched";
  changed.rule = nullptr;
  changed.policy = nullptr;
  return run(std::move(changed));
}

/// Runs what was found; false if a rank needs memory that the search did not see. That is then
/// taken off its capacity.
bool Hunt::judge_once(PlacementToSearch& placement) {
  if (!placement.found.sequences) return true;
  const RunResult run =
      run_with(*placement.layout,
               schedule_of(*placement.found.sequences, *placement.layout, placement.problem.orders),
               placement.found.recomputed);
  if (take(run, placement.found.origin) || !run.report || run.findings.empty()) return true;
  bool tighter = false;
  const std::uint64_t capacity = placement.layout->memory.capacity_bytes.value_or(UINT64_MAX);
  for (std::size_t r = 0; r < run.report->ranks.size(); ++r) {
    const std::uint64_t peak = run.report->ranks[r].memory.bytes;
    if (peak <= capacity) continue;
    placement.problem.orders.capacity[r] -= static_cast<std::int64_t>(peak - capacity);
    tighter = placement.corrected = true;
  }
  return !tighter;
}

void Hunt::judge(PlacementToSearch& placement) {
  for (int correction = 0; !judge_once(placement) && correction < most_corrections; ++correction) {
    placement.found = {};
    const double left = std::max(0.0, 1 - spent());
    const double more = options_.evaluations > 0 ? 0.2 : left + 0.2;
    search(placement, spent() + more);
  }
}

/// Where a B is shorter than its I and W, stages run as B what the order runs in one go, if that is
/// no longer.
void Hunt::join_backwards(PlacementToSearch& placement) {
  if (!placement.problem.whole_saves || !placement.found.sequences || !result_.fits) return;
  std::vector<bool> whole(placement.problem.orders.stages.size(), false);
  for (std::size_t s = 0; s < whole.size(); ++s) {
    if (options_.asked_to_stop && options_.asked_to_stop()) return;
    whole[s] = true;
    try {
      const RunResult run = run_with(*placement.layout,
                                     schedule_of(*placement.found.sequences, *placement.layout,
                                                 placement.problem.orders, whole),
                                     placement.found.recomputed);
      whole[s] = take(run, placement.found.origin);
    } catch (const InputError&) {  // no price of the whole backward
      return;
    }
  }
}

/// A named order may still be the shortest: the engine knows more than the search.
void Hunt::compare_with_named() {
  const ComparedOrder* named = result_.best_named();
  if (named == nullptr) return;
  if (result_.fits && result_.run.report->makespan <= named->makespan) return;
  result_.fits = false;
  take(penstock::run(named->layout), named->name);
}

/// No order of a placement is shorter: what was proven of it, or its bound.
SearchTime bound_of(const PlacementToSearch& placement) {
  const bool holds = placement.found.proven && placement.problem.exact && !placement.corrected;
  return holds ? std::max(placement.found.state.best, placement.problem.bound)
               : placement.problem.bound;
}

void Hunt::conclude() {
  bound_ = never;
  for (const PlacementToSearch& placement : placements_) {
    bound_ = std::min(bound_, bound_of(placement));
  }
  result_.bound = {bound_};
  result_.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  result_.interrupted = options_.asked_to_stop && options_.asked_to_stop();
  if (!result_.fits) return;
  const Time makespan = result_.run.report->makespan;
  result_.proven = bound_ > 0 && makespan <= result_.bound;
}

HuntResult Hunt::run() {
  const RunResult base = penstock::run(scenario_);
  check_searchable(base, options_.chooses_recomputation);
  result_.named = named_orders(scenario_, base);
  if (options_.keeps_placement) {
    std::erase_if(result_.named, [&](const ComparedOrder& order) {
      return !(order.layout.placement == base.layout.placement);
    });
  }
  collect_placements();
  search_all();
  for (PlacementToSearch& placement : placements_) judge(placement);
  join_backwards(placements_.front());
  compare_with_named();
  conclude();
  return std::move(result_);
}

}  // namespace

double HuntResult::gap() const {
  if (!run.report || bound.picoseconds <= 0) return 0;
  return static_cast<double>(run.report->makespan.picoseconds) /
             static_cast<double>(bound.picoseconds) -
         1;
}

HuntResult hunt_order(const Scenario& scenario, const HuntOptions& options) {
  return Hunt(scenario, options).run();
}

}  // namespace penstock
