#include "experiments/plan/order_search/search_problem.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "experiments/run/layout/training.hpp"
#include "experiments/run/repeat.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/stage_formats.hpp"
#include "schedules/patterns/alternation.hpp"
#include "schedules/search/form_choice.hpp"
#include "sim/base/error.hpp"
#include "sim/costs/priced_plan.hpp"

namespace penstock {
namespace {

constexpr SearchTime longest_total = SearchTime{1} << 55;

const std::vector<Stage>& chain_of(const Layout& layout) {
  return layout.placement.chains().front();
}

PricedPlan priced(const Simulation& simulation, const Schedule& order) {
  auto outcome = simulation.price_order(order);
  if (auto* finding = std::get_if<Finding>(&outcome)) throw InputError("/schedule", finding->text);
  return std::get<PricedPlan>(std::move(outcome));
}

/// What follows the last weight gradient of a stage. The early part of the reduction runs beside
/// it.
struct TailCosts {
  SearchTime early = 0;
  SearchTime reduction = 0, reduction_latency = 0;
  SearchTime update = 0, gather = 0;
};

/// The part of the reduction that runs beside the last pass may be the longer one.
StageTail tail_of(const TailCosts& tail, const OrderStage& stage) {
  const SearchTime pass = stage.duration[stage.splits ? SearchPass::weight : SearchPass::input];
  const SearchTime rest = tail.reduction_latency + tail.update + tail.gather;
  return {.whole = std::max<SearchTime>(0, tail.early - pass) + tail.reduction + rest,
          .link = tail.early + tail.reduction,
          .rest = rest};
}

/// Fills in what classes of a priced plan say of the stages.
class StageReader {
 public:
  StageReader(const Layout& layout, const PricedPlan& priced, OrderProblem& problem)
      : layout_(layout),
        priced_(priced),
        problem_(problem),
        position_(layout.placement.stage_count()),
        tails_(position_.size()) {
    const auto& chain = chain_of(layout);
    for (std::uint32_t p = 0; p < chain.size(); ++p) position_[index(chain[p])] = p;
  }

  void read() {
    for (std::uint32_t c = 0; c < priced_.plan.classes.size(); ++c) {
      const WorkClass& work = priced_.plan.classes[c];
      OrderStage& stage = problem_.stages[position_[index(work.stage)]];
      const SearchTime time = priced_.costs.duration[c].picoseconds;
      const SearchTime delay = time + priced_.costs.latency[c].picoseconds;
      switch (work.pass) {
        case Pass::forward:
          read_pass(work, time, stage, SearchPass::forward);
          break;
        case Pass::recompute:
        case Pass::backward:
        case Pass::backward_input:
          read_pass(work, time, stage, SearchPass::input);
          break;
        case Pass::backward_weight:
          read_pass(work, time, stage, SearchPass::weight);
          break;
        case Pass::send_activation:
          stage.to_after = std::max(stage.to_after, delay);
          break;
        case Pass::send_gradient:
          stage.to_before = std::max(stage.to_before, delay);
          break;
        default:
          read_tail(work.pass, time, delay, tails_[position_[index(work.stage)]]);
          break;
      }
    }
    add_tails();
    subtract_whole_run();
  }

 private:
  static void read_tail(Pass pass, SearchTime time, SearchTime delay, TailCosts& tail) {
    if (pass == Pass::update) tail.update = time;
    if (pass == Pass::gather_weights) tail.gather = delay;
    if (pass == Pass::reduce_early) tail.early = time;
    if (pass != Pass::reduce_gradient) return;
    tail.reduction = time;
    tail.reduction_latency = delay - time;
  }

  /// Behind a rank's last pass come its updates one by one, and the gather of one of them at least;
  /// with exposed reductions these come first, one by one.
  void add_tails() {
    const bool behind_row = extras_of(layout_).tail.summing == Summing::behind_row;
    std::vector<SearchTime> reductions(problem_.ranks(), 0), gathers(problem_.ranks(), never);
    for (std::size_t s = 0; s < tails_.size(); ++s) {
      OrderStage& stage = problem_.stages[s];
      stage.tail = tail_of(tails_[s], stage);
      problem_.updates[stage.rank] += tails_[s].update;
      gathers[stage.rank] = std::min(gathers[stage.rank], tails_[s].gather);
      if (behind_row) reductions[stage.rank] += tails_[s].reduction;
    }
    for (std::uint32_t rank = 0; rank < problem_.ranks(); ++rank) {
      SearchTime& update = problem_.updates[rank];
      if (gathers[rank] < never) update = std::max(update + gathers[rank], reductions[rank]);
    }
  }

  /// R and what it is for count as one pass, one after the other.
  void read_pass(const WorkClass& work, SearchTime time, OrderStage& stage, std::uint32_t pass) {
    std::int64_t change = 0, most = 0;
    for (const bool at_end : {false, true}) {
      for (const MemoryEffect& effect : work.effects) {
        if (effect.at_end != at_end || !is_own(work, effect)) continue;
        const auto bytes = static_cast<std::int64_t>(priced_.costs.bytes[effect.buffer]);
        change += effect.takes ? bytes : -bytes;
        if (effect.takes) most = std::max(most, change);
      }
      most = std::max(most, change);
    }
    stage.during[pass] = std::max(stage.during[pass], stage.change[pass] + most);
    stage.change[pass] += change;
    stage.duration[pass] += time;
  }

  /// Received tensors arrive at other times; the capacity leaves room for them.
  bool is_own(const WorkClass& work, const MemoryEffect& effect) const {
    const BufferClass& buffer = priced_.plan.buffers[effect.buffer];
    return buffer.kind != BufferKind::receive && index(buffer.rank) == work.resource;
  }

  void subtract_whole_run() {
    for (std::size_t b = 0; b < priced_.plan.buffers.size(); ++b) {
      const BufferClass& buffer = priced_.plan.buffers[b];
      if (!for_whole_run(buffer.kind)) continue;
      problem_.capacity[index(buffer.rank)] -= static_cast<std::int64_t>(priced_.costs.bytes[b]);
    }
  }

  const Layout& layout_;
  const PricedPlan& priced_;
  OrderProblem& problem_;
  std::vector<std::uint32_t> position_;  // of each stage in the chain
  std::vector<TailCosts> tails_;         // by position
};

OrderProblem empty_problem(const Layout& layout) {
  OrderProblem problem;
  problem.microbatches = layout.microbatches;
  const std::int64_t all = static_cast<std::int64_t>(
      std::min<std::uint64_t>(layout.memory.largest_peak_bytes().value_or(never), never));
  problem.capacity.assign(layout.placement.ranks(), all);
  problem.updates.assign(layout.placement.ranks(), 0);
  for (const Stage stage : chain_of(layout)) {
    problem.stages.push_back({.rank = index(layout.placement.rank_of(stage))});
  }
  return problem;
}

/// Sums of keys stay in range.
void check_times(const OrderProblem& problem) {
  double total = 0;
  for (const SearchTime work : work_by_rank(problem)) total += static_cast<double>(work);
  for (const OrderStage& stage : problem.stages) {
    total += static_cast<double>(stage.to_after) + static_cast<double>(stage.to_before);
  }
  if (total < static_cast<double>(longest_total)) return;
  throw InputError("/schedule", "a search takes steps of up to 10 hours of work of all ranks");
}

/// A set of stages.
using Stages = std::vector<bool>;

/// Gives each class of a plan, where chance or documents change its tasks, the mean time of those
/// of the draws that judge an order.
void take_mean_microbatches(const Layout& layout, const Simulation& simulation,
                            PricedPlan& priced) {
  const std::size_t classes = priced.plan.classes.size();
  std::vector<double> times(classes), latencies(classes), counts(classes);  // in picoseconds
  for (std::uint32_t draw = 0; draw < (layout.documents ? judged_draws : 1); ++draw) {
    const Simulation::Replicas drawn = simulation.draw_replicas(priced, draw);
    for (const Costs& costs : drawn.costs) {
      for (TaskId task = 0; task < priced.plan.tasks(); ++task) {
        const std::uint32_t work = priced.plan.work[task];
        const auto add = [](Time time, double& sum) {
          sum += static_cast<double>(time.picoseconds);
        };
        add(costs.duration_of(drawn.priced.plan, task), times[work]);
        add(costs.latency_of(drawn.priced.plan, task), latencies[work]);
        ++counts[work];
      }
    }
  }
  for (std::size_t work = 0; work < classes; ++work) {
    if (counts[work] == 0) continue;
    priced.costs.duration[work] = {std::llrint(times[work] / counts[work])};
    priced.costs.latency[work] = {std::llrint(latencies[work] / counts[work])};
  }
}

OrderProblem read_problem(const Layout& layout, const Stages& split) {
  const Simulation simulation(layout);
  PricedPlan plan =
      priced(simulation,
             one_at_a_time(layout.placement, layout.microbatches,
                           [&](Stage stage, Microbatch) { return bool(split[index(stage)]); }));
  if (layout.documents || !layout.chance.changes_nothing()) {
    take_mean_microbatches(layout, simulation, plan);
  }
  OrderProblem problem = empty_problem(layout);
  const auto& chain = chain_of(layout);
  for (std::size_t p = 0; p < chain.size(); ++p) {
    problem.stages[p].splits = split[index(chain[p])];
  }
  StageReader(layout, plan, problem).read();
  return problem;
}

/// The problem with the backward of some stages in two parts; nothing where a price is missing.
/// Other errors come up either way.
std::optional<OrderProblem> problem_if_priced(const Layout& layout, const Stages& split) {
  try {
    return read_problem(layout, split);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// The stages whose backward has prices for its parts.
Stages stages_that_split(const Layout& layout) {
  Stages all(layout.placement.stage_count(), true);
  if (problem_if_priced(layout, all)) return all;
  for (std::size_t s = 0; s < all.size(); ++s) {
    Stages one(all.size(), false);
    one[s] = true;
    all[s] = problem_if_priced(layout, one).has_value();
  }
  return all;
}

/// Whether a class takes as long for every microbatch and replica.
bool all_alike(const Layout& layout) {
  const auto& slow = layout.chance.stragglers;
  return !layout.documents && !layout.chance.differs_among_replicas() &&
         std::all_of(slow.begin(), slow.end(), [&](const Straggler& one) {
           return one.from == Microbatch{0} && index(one.until) >= layout.microbatches;
         });
}

/// Whether the engine may run orders in less time than the problem says. Activations made again in
/// an overlap cell are no action of their own, behind which the host's time passes.
bool may_be_shorter(const Layout& layout) {
  const bool cells_save = layout.overheads.host_us > 0 &&
                          std::ranges::count(extras_of(layout).recomputing.stages, true) > 0;
  return layout.overlap == Overlap::fused || layout.recompute.early || cells_save ||
         !all_alike(layout);
}

/// Whether a backward as a whole can be better than in two parts without a gap.
bool whole_may_pay(const OrderStage& whole, const OrderStage& split, std::int64_t capacity) {
  if (!split.splits) return false;
  const auto& [forward, input, weight] = split.duration;
  if (whole.duration[SearchPass::input] < input + weight || whole.tail.whole < split.tail.whole)
    return true;
  const std::int64_t most =
      std::max(split.during[SearchPass::input],
               split.change[SearchPass::input] + split.during[SearchPass::weight]);
  return capacity < never / 2 && whole.during[SearchPass::input] < most;
}

FormCosts costs_of(const OrderStage& stage) { return stage.costs(0); }

/// Adds whole backwards where they may pay.
void add_whole(const OrderProblem& whole, OrderProblem& split) {
  for (std::size_t s = 0; s < split.stages.size(); ++s) {
    OrderStage& stage = split.stages[s];
    if (whole_may_pay(whole.stages[s], stage, split.capacity[stage.rank])) {
      stage.whole = costs_of(whole.stages[s]);
    }
  }
}

/// Whether a layout recomputes some microbatches of a stage and keeps others.
bool keeps_some(const Layout& layout) {
  return !layout.recompute.microbatches.empty() ||
         layout.recompute.mode == RecomputeMode::except_last;
}

Layout with_every_microbatch_recomputed(Layout layout) {
  layout.recompute.microbatches.clear();
  layout.recompute.mode = mode_with_choice(layout.recompute.mode);
  return layout;
}

Layout with_no_microbatch_recomputed(Layout layout) {
  layout.recompute.microbatches.assign(layout.placement.stage_count(), {});
  return layout;
}

/// Adds to `kept` what recomputation changes of its stages, with split and with whole backwards.
void add_recomputation(const OrderProblem& recomputed, const std::optional<OrderProblem>& whole,
                       OrderProblem& kept) {
  for (std::size_t s = 0; s < kept.stages.size(); ++s) {
    OrderStage& stage = kept.stages[s];
    const OrderStage& again = recomputed.stages[s];
    if (again.duration == stage.duration && again.change == stage.change &&
        again.during == stage.during) {
      continue;
    }
    stage.recomputed = costs_of(again);
    if (stage.whole && whole) stage.whole_recomputed = costs_of(whole->stages[s]);
  }
}

}  // namespace

SearchProblem search_problem(const Layout& as_asked, bool chooses) {
  const Layout coded = with_codecs(as_asked);
  const Layout recomputed = with_every_microbatch_recomputed(coded);
  const bool mixed = chooses || keeps_some(coded);
  const Layout layout = mixed ? with_no_microbatch_recomputed(recomputed) : recomputed;
  const Stages split = stages_that_split(layout), none(split.size(), false);
  SearchProblem problem{.orders = read_problem(layout, split)};
  check_times(problem.orders);
  if (const auto whole = problem_if_priced(layout, none)) add_whole(*whole, problem.orders);
  if (mixed) {
    add_recomputation(read_problem(recomputed, split), problem_if_priced(recomputed, none),
                      problem.orders);
  }
  problem.exact = !may_be_shorter(layout) && (chooses || !mixed);
  problem.bound = may_be_shorter(layout) ? 0 : shortest_possible(with_least_costs(problem.orders));
  // What is kept stands fixed: the search reckons with none, and the engine knows better.
  if (mixed && !chooses) problem.orders = with_all_recomputed(problem.orders);
  return problem;
}

bool microbatches_differ(const Layout& layout) { return keeps_some(layout) || !all_alike(layout); }

std::optional<RecomputeMode> mode_with_choice(std::optional<RecomputeMode> mode) {
  return mode == RecomputeMode::except_last ? RecomputeMode::full : mode;
}

std::vector<std::vector<std::uint32_t>> microbatches_of(const ActivationForms& forms,
                                                        const Layout& layout) {
  const auto& chain = chain_of(layout);
  std::vector<std::vector<std::uint32_t>> lists(layout.placement.stage_count());
  for (std::size_t number = 0; number < forms.size(); ++number) {
    if ((forms[number] & recomputed_form) == 0) continue;
    lists[index(chain[number / layout.microbatches])].push_back(
        static_cast<std::uint32_t>(number % layout.microbatches));
  }
  return lists;
}

std::optional<SearchedOrder> searched_order_of(const Schedule& order, const Layout& layout,
                                               const OrderProblem& problem) {
  if (order.has(Pass::evict) || order.has(Pass::load)) return std::nullopt;
  OrderWriter written(problem);
  for (const Rank rank : Numbers<Rank>(order.ranks())) {
    for (const Action& action : order.on(rank)) {
      const std::uint32_t position = layout.placement.position(action.stage);
      const OrderStage& stage = problem.stages[position];
      if (action.pass == Pass::forward) written.add(position, SearchPass::forward);
      if (gives_gradient(action.pass)) {
        const bool whole = action.pass == Pass::backward && stage.whole;
        written.add(position, SearchPass::input, whole ? whole_form : ActivationForm{});
        if (whole) continue;
      }
      if (ends_activation(action.pass) && stage.splits) written.add(position, SearchPass::weight);
    }
  }
  for (const auto& sequence : written.order.sequences) {
    if (sequence.size() % (SearchPass::count * problem.microbatches) != 0) return std::nullopt;
  }
  return std::move(written.order);
}

Schedule schedule_of(const SearchedOrder& searched, const Layout& layout,
                     const OrderProblem& problem) {
  Schedule order(layout.placement.ranks());
  const auto& chain = chain_of(layout);
  std::vector<std::uint32_t> done(problem.stages.size() * SearchPass::count, 0);
  for (const Rank rank : Numbers<Rank>(order.ranks())) {
    for (const CellClass cell : searched.sequences[index(rank)]) {
      const std::uint32_t position = cell / SearchPass::count, pass = cell % SearchPass::count;
      const Microbatch m{done[cell]++};
      const std::size_t number = std::size_t{position} * problem.microbatches + index(m);
      const bool whole = !problem.stages[position].splits ||
                         (!searched.forms.empty() && (searched.forms[number] & whole_form) != 0);
      const auto add = [&](Pass of) { order.on(rank).emplace_back(of, chain[position], m); };
      if (pass == SearchPass::forward) {
        add(Pass::forward);
      } else if (pass == SearchPass::input) {
        add(whole ? Pass::backward : Pass::backward_input);
      } else if (!whole) {
        add(Pass::backward_weight);
      }
    }
  }
  return order;
}

}  // namespace penstock
