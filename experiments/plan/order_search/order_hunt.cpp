#include "experiments/plan/order_search/order_hunt.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/plan/order_search/search_problem.hpp"
#include "experiments/run/layout/exchanges.hpp"
#include "experiments/run/layout/training.hpp"
#include "schedules/search/draws.hpp"
#include "schedules/search/exhaustive.hpp"
#include "schedules/search/form_choice.hpp"
#include "schedules/search/local_search.hpp"
#include "schedules/search/order_search.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

/// The share of the budget for a first look at every placement, which also shows memory that the
/// search does not see.
constexpr double first_look_end = 0.4;
/// How often memory that the search does not see is taken off the capacity.
constexpr int most_corrections = 3;
/// Branch and bound whose orders the engine times is tried on so many passes.
constexpr std::size_t most_cells_to_branch = 72;
/// A run on the engine takes at least as long as this many orders that a search times itself.
constexpr std::uint64_t evaluations_of_run = 100;

/// One placement of the stages, its problem, and the named orders for it.
struct PlacementToSearch {
  const Layout* layout;
  SearchProblem problem;
  OrderSearchOptions options = {};
  FoundOrder found = {};
  bool corrected = false;  // its capacity
  bool overfull = false;   // what was found needs memory that the search did not see
  bool looked_at = false;  // all its orders, by the engine
};

bool recomputes_some(const Layout& layout) {
  const std::vector<bool> stages = extras_of(layout).recomputing.stages;
  return std::find(stages.begin(), stages.end(), true) != stages.end();
}

void check_searchable(const Scenario& scenario, const RunResult& base, bool chooses) {
  const Layout& layout = base.layout;
  const auto refuse = [&](const std::string& text) {
    throw in_file(layout.source, InputError("/schedule", text));
  };
  if (layout.schedule.weights().use != WeightUse::flushed) {
    refuse("a search orders one iteration with a flush; asynchronous schedules have none");
  }
  if (scenario.offload && scenario.offload->keep) {
    throw in_file(layout.source, InputError("/offload/keep",
                                            "a search orders passes, and moves no activations "
                                            "to host memory; state \"layers\" instead"));
  }
  if (layout.documents && chooses) {
    throw in_file(layout.source, InputError("/batch",
                                            "which activations to recompute is chosen for equal "
                                            "microbatches; leave out --recompute, or /batch"));
  }
  if (layout.communication.written()) {
    refuse(
        "a search moves actions, and its orders have implicit communication; leave "
        "\"communication\" out, or search --communication to move RECVs and UNSHARDs");
  }
  if (!exchanges_of(layout).empty()) {
    refuse("a search orders whole stages; leave \"exchanges\" and exchange_us out");
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

/// An order on a layout, with the activations recomputed that it chose, if it was left the choice.
RunResult run_with(const Layout& layout, const OrderProblem& problem, const SearchedOrder& order) {
  Layout changed = layout;
  if (chooses_recomputation(problem)) {
    changed.recompute.mode = mode_with_choice(layout.recompute.mode);
    changed.recompute.microbatches = microbatches_of(order.forms, layout);
  }
  changed.schedule = schedule_of(order, layout, problem);
  changed.name = "searched";
  changed.rule = nullptr;
  changed.policy = nullptr;
  return compared_run(std::move(changed));
}

class Hunt {
 public:
  Hunt(const Scenario& scenario, const HuntOptions& options)
      : scenario_(scenario), options_(options) {}

  HuntResult run() {
    const RunResult base = base_run();
    check_searchable(scenario_, base, options_.chooses_recomputation);
    result_.named = named_orders(scenario_, base);
    if (options_.keeps_placement) {
      std::erase_if(result_.named, [&](const ComparedOrder& order) {
        return !(order.layout.placement == base.layout.placement);
      });
    }
    unsure_bytes_ = base.layout.memory.unsure_bytes;
    take_memory(0);
    if (options_.on_prepared) options_.on_prepared();
    begin_ = Clock::now();
    hunt();
    if (!result_.fits && unsure_bytes_ > 0) hunt_unsure();
    conclude();
    return std::move(result_);
  }

 private:
  void hunt() {
    search_all();
    for (PlacementToSearch& placement : placements_) {
      if (!result_.fits || !options_.asks_to_stop()) judge(placement);
    }
    if (!result_.fits || !options_.asks_to_stop()) compare_with_named();
    use_rest();
  }

  /// The same with all memory that may be there.
  void hunt_unsure() {
    result_.unsure = true;
    used_before_ = used();
    take_memory(unsure_bytes_);
    hunt();
  }

  /// Prices the placements, with so much memory beyond what is surely there.
  void take_memory(double unsure_bytes) {
    placements_.clear();
    bound_ = never;
    for (ComparedOrder& order : result_.named) order.layout.memory.unsure_bytes = unsure_bytes;
    collect_placements();
  }

  /// A policy decides an order for each draw of documents; that of the first is an order like
  /// others.
  RunResult base_run() const {
    RunResult base = ended_run(compared_run(settle(scenario_)));
    if (!base.report || base.layout.policy == nullptr) return base;
    Layout decided = std::move(base.layout);
    decided.policy = nullptr;
    return ended_run(compared_run(std::move(decided)));
  }

  /// The placement of a layout; a new one is priced.
  PlacementToSearch& placement_of_layout(const Layout& layout) {
    for (PlacementToSearch& known : placements_) {
      if (known.layout->placement == layout.placement) return known;
    }
    PlacementToSearch& added = placements_.emplace_back(
        PlacementToSearch{&layout, search_problem(layout, options_.chooses_recomputation)});
    added.options.seed = options_.seed;
    bound_ = std::min(bound_, added.problem.bound);
    return added;
  }

  void collect_placements() {
    for (const ComparedOrder& order : result_.named) {
      const Layout& layout = order.layout;
      PlacementToSearch& placement = placement_of_layout(layout);
      if (auto seed = searched_order_of(layout.schedule, layout, placement.problem.orders)) {
        placement.options.seeds.push_back(
            {order.name, std::move(seed->sequences), std::move(seed->forms)});
      }
    }
  }

  /// Searches until a share of the whole budget is used.
  void search(PlacementToSearch& placement, double end) {
    const double begin = spent();
    before_ = result_.evaluations;
    if (begin >= end) return;
    placement.options.spent = [&, begin](const OrderSearchState& state) {
      result_.evaluations = before_ + state.evaluations;
      if (state.evaluations % 64 == 0) report(state.best);
      return std::min(1.0, (spent() - begin) / (end - begin));
    };
    FoundOrder found = search_order(placement.problem.orders, placement.options);
    result_.evaluations = before_ + found.state.evaluations;
    const bool better = found.sequences && (!placement.found.sequences ||
                                            found.state.best <= placement.found.state.best);
    if (better) placement.found = std::move(found);
  }

  /// Every placement for a while, then the best one first, from what was found.
  void search_all() {
    const auto count = static_cast<double>(placements_.size());
    for (std::size_t n = 0; n < placements_.size(); ++n) {
      search(placements_[n], first_look_end * static_cast<double>(n + 1) / count);
      placements_[n].overfull = !judge_once(placements_[n]);
    }
    std::stable_sort(placements_.begin(), placements_.end(), [](const auto& a, const auto& b) {
      return a.found.state.best < b.found.state.best;
    });
    for (PlacementToSearch& placement : placements_) {
      const FoundOrder& found = placement.found;
      if (!found.sequences || placement.problem.bound >= best()) continue;
      if (placement.overfull || !found.proven) search_on(placement, 1);
    }
  }

  /// Searches from what was found; where that does not fit, something else is found.
  void search_on(PlacementToSearch& placement, double end) {
    FoundOrder& found = placement.found;
    placement.options.seeds.push_back({found.origin, *found.sequences, found.forms});
    placement.options.seed = ~placement.options.seed;
    if (placement.overfull) found = {};
    search(placement, end);
  }

  void judge(PlacementToSearch& placement) {
    for (int correction = 0; correction < most_corrections; ++correction) {
      placement.overfull = !judge_once(placement);
      if (!placement.overfull) return;
      const double left = std::max(0.0, 1 - spent());
      search_on(placement, spent() + (options_.evaluations > 0 ? 0.2 : left + 0.2));
    }
    judge_once(placement);
  }

  /// Runs what was found; false if a rank needs memory that the search did not see. That is then
  /// taken off its capacity.
  bool judge_once(PlacementToSearch& placement) {
    if (!placement.found.sequences) return true;
    const RunResult run = ended_run(run_with(*placement.layout, placement.problem.orders,
                                             {*placement.found.sequences, placement.found.forms}));
    if (take(run, placement.found.origin) || !run.report || run.findings.empty()) return true;
    bool tighter = false;
    const std::uint64_t capacity =
        placement.layout->memory.largest_peak_bytes().value_or(UINT64_MAX);
    for (std::size_t r = 0; r < run.report->ranks.size(); ++r) {
      const std::uint64_t peak = run.report->ranks[r].memory.bytes;
      if (peak <= capacity) continue;
      placement.problem.orders.capacity[r] -= static_cast<std::int64_t>(peak - capacity);
      tighter = placement.corrected = true;
    }
    return !tighter;
  }

  /// A named order may still be the shortest: the engine knows more than the search.
  void compare_with_named() {
    const ComparedOrder* named = result_.best_named();
    if (named == nullptr) return;
    if (result_.fits && step_of(result_.run) <= named->makespan) return;
    result_.fits = false;
    take(compared_run(named->layout), named->name);
  }

  /// What is left of the budget, where the engine runs orders otherwise than the searches reckon
  /// with and these have nothing left to find.
  void use_rest() {
    for (PlacementToSearch& placement : placements_) {
      const OrderProblem& problem = placement.problem.orders;
      const bool small = problem.cells() <= most_cells_to_branch && !options_.chooses_recomputation;
      if (!small || !placement.problem.exact) continue;
      if (spent() < 1 && bound_of(placement) < best()) branch_judged(placement);
    }
    if (!result_.fits || options_.chooses_recomputation) return;
    for (PlacementToSearch& placement : placements_) {
      if (!(placement.layout->placement == result_.run.layout.placement)) continue;
      if (spent() < 1 && bound_of(placement) < best()) improve_judged(placement);
    }
  }

  /// Times every order on the engine that the problem does not exclude.
  void branch_judged(PlacementToSearch& placement) {
    const OrderProblem problem = search_problem(*placement.layout).orders;  // with all its capacity
    const auto judge = [&](const SearchedOrder& order) {
      return judged(placement, order, "branch and bound");
    };
    placement.looked_at =
        branch_and_bound(problem,
                         {.below = best(), .go_on = [this] { return count_one(); }, .judge = judge})
            .complete;
  }

  /// Random steps from the best order of a placement, timed on the engine.
  void improve_judged(PlacementToSearch& placement) {
    auto from = searched_order_of(result_.order, *placement.layout, placement.problem.orders);
    if (!from) return;
    LocalSearch local(placement.problem.orders);
    Draws draws(options_.seed);
    const std::string origin = "local search from " + result_.origin;
    local.improve_judged(
        *from, best(), bound_of(placement),
        [&](const SearchedOrder& order) { return judged(placement, order, origin); }, draws,
        [this] { return count_one(); });
  }

  /// The makespan of an order on the engine, which is taken over if it is the shortest; `never` if
  /// it does not fit.
  SearchTime judged(const PlacementToSearch& placement, const SearchedOrder& order,
                    const std::string& origin) {
    const RunResult run = run_with(*placement.layout, placement.problem.orders, order);
    const std::uint64_t draws = run.repeated ? run.repeated->makespans.size() : 1;
    result_.evaluations += evaluations_of_run * draws - 1;
    const auto step = compared_step(run);
    if (!step) return never;
    take(run, origin);
    return step->picoseconds;
  }

  bool count_one() {
    if (++result_.evaluations % 64 == 0) report(best());
    return spent() < 1;
  }

  SearchTime best() const { return result_.fits ? step_of(result_.run).picoseconds : never; }

  /// No order of a placement is shorter: what was proven of it, or its bound.
  SearchTime bound_of(const PlacementToSearch& placement) const {
    if (placement.looked_at) return best();
    const bool holds = placement.found.proven && placement.problem.exact && !placement.corrected;
    return holds ? std::max(placement.found.state.best, placement.problem.bound)
                 : placement.problem.bound;
  }

  void conclude() {
    bound_ = never;
    for (const PlacementToSearch& placement : placements_) {
      bound_ = std::min(bound_, bound_of(placement));
    }
    result_.bound = {bound_ < never ? bound_ : 0};
    result_.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    result_.interrupted = options_.asks_to_stop();
    if (!result_.fits) return;
    result_.proven = bound_ > 0 && step_of(result_.run) <= result_.bound;
    if (result_.unsure || unsure_bytes_ == 0) return;
    Layout as_asked = result_.run.layout;
    as_asked.memory.unsure_bytes = unsure_bytes_;
    result_.run = compared_run(std::move(as_asked));
  }

  /// Takes a run over if it fits and is the shortest so far.
  bool take(const RunResult& run, const std::string& origin) {
    const auto step = compared_step(run);
    if (!step || step->picoseconds >= best()) return false;
    result_.run = run;
    result_.order = run.layout.schedule;
    result_.origin = origin;
    result_.fits = true;
    return true;
  }

  /// After a stop no share of the budget is left, however large.
  double spent() const { return options_.asks_to_stop() ? HUGE_VAL : used() - used_before_; }
  double used() const { return options_.used(result_.evaluations, begin_); }

  void report(SearchTime best) {
    if (!options_.on_progress) return;
    options_.on_progress({std::min(1.0, spent()), {best}, {bound_}});
  }

  const Scenario& scenario_;
  const HuntOptions& options_;
  Clock::time_point begin_ = Clock::now();
  std::vector<PlacementToSearch> placements_;
  HuntResult result_;
  SearchTime bound_ = never;  // of all placements
  std::uint64_t before_ = 0;  // evaluations of earlier searches
  double unsure_bytes_ = 0;   // that communication libraries may take
  double used_before_ = 0;    // of budgets, by an earlier hunt
};

}  // namespace

double HuntOptions::used(std::uint64_t timed, Clock::time_point begin) const {
  if (evaluations > 0) return static_cast<double>(timed) / static_cast<double>(evaluations);
  return std::chrono::duration<double>(Clock::now() - begin).count() / budget_s;
}

double HuntResult::gap() const {
  if (!run.report || bound.picoseconds <= 0) return 0;
  return to_us(step_of(run)) / to_us(bound) - 1;
}

HuntResult hunt_order(const Scenario& scenario, const HuntOptions& options) {
  return Hunt(scenario, options).run();
}

}  // namespace penstock
