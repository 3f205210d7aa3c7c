#include "experiments/order_search/search_problem.hpp"

#include <algorithm>
#include <variant>

#include "experiments/run/simulation.hpp"
#include "experiments/run/stage_formats.hpp"
#include "schedules/search/bounds.hpp"
#include "schedules/search/form_choice.hpp"
#include "sim/base/error.hpp"
#include "sim/costs/priced_plan.hpp"

namespace penstock {
namespace {

constexpr SearchTime longest_total = SearchTime{1} << 55;

const std::vector<Stage>& chain_of(const Layout& layout) {
  return layout.placement.chains().front();
}

/// One microbatch after the other, each through all stages and back: an order that cannot deadlock.
Schedule plain_order(const Layout& layout, bool split) {
  Schedule order(layout.placement.ranks());
  const auto& chain = chain_of(layout);
  for (const Microbatch m : Numbers<Microbatch>(layout.microbatches)) {
    for (const Stage stage : chain) {
      order.on(layout.placement.rank_of(stage)).emplace_back(Pass::forward, stage, m);
    }
    for (auto stage = chain.rbegin(); stage != chain.rend(); ++stage) {
      auto& row = order.on(layout.placement.rank_of(*stage));
      row.emplace_back(split ? Pass::backward_input : Pass::backward, *stage, m);
      if (split) row.emplace_back(Pass::backward_weight, *stage, m);
    }
  }
  return order;
}

PricedPlan priced(const Simulation& simulation, const Schedule& order) {
  auto outcome = simulation.price_order(order);
  if (auto* finding = std::get_if<Finding>(&outcome)) throw InputError("/schedule", finding->text);
  return std::get<PricedPlan>(std::move(outcome));
}

/// Fills in what classes of a priced plan say of the stages.
class StageReader {
 public:
  StageReader(const Layout& layout, const PricedPlan& priced, OrderProblem& problem)
      : priced_(priced), problem_(problem), position_(layout.placement.stage_count()) {
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
          break;
      }
    }
    subtract_whole_run();
  }

 private:
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

  const PricedPlan& priced_;
  OrderProblem& problem_;
  std::vector<std::uint32_t> position_;  // of each stage in the chain
};

OrderProblem empty_problem(const Layout& layout) {
  OrderProblem problem;
  problem.microbatches = layout.microbatches;
  const std::int64_t all =
      layout.memory.capacity_bytes
          ? static_cast<std::int64_t>(std::min<std::uint64_t>(*layout.memory.capacity_bytes, never))
          : never;
  problem.capacity.assign(layout.placement.ranks(), all);
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

OrderProblem read_problem(const Layout& layout, bool split) {
  const Simulation simulation(layout, Engine::automatic);
  const PricedPlan plan = priced(simulation, plain_order(layout, split));
  OrderProblem problem = empty_problem(layout);
  StageReader(layout, plan, problem).read();
  for (OrderStage& stage : problem.stages) stage.splits = split;
  return problem;
}

/// The problem with a backward in two parts or as a whole; nothing where a stage does not state it
/// so. Other errors come up either way.
std::optional<OrderProblem> problem_if_priced(const Layout& layout, bool split) {
  try {
    return read_problem(layout, split);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Whether the engine may run orders in less time than the problem says.
bool may_be_shorter(const Layout& layout) {
  return layout.overlap == Overlap::fused || layout.recompute.early || layout.chance.varies();
}

/// Takes off what a whole backward saves of its parts, so that a bound holds for both.
bool take_off_savings(const OrderProblem& whole, OrderProblem& least) {
  bool saves = false;
  for (std::size_t s = 0; s < least.stages.size(); ++s) {
    auto& [forward, input, weight] = least.stages[s].duration;
    const SearchTime backward = whole.stages[s].duration[SearchPass::input];
    if (backward >= input + weight) continue;
    saves = true;
    input = std::min(input, backward);
    weight = backward - input;
  }
  return saves;
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

/// Adds to `kept` what recomputation changes of its stages.
void add_recomputation(const OrderProblem& recomputed, OrderProblem& kept) {
  for (std::size_t s = 0; s < kept.stages.size(); ++s) {
    OrderStage& stage = kept.stages[s];
    const OrderStage& again = recomputed.stages[s];
    const SearchTime longer = again.duration[SearchPass::input] - stage.duration[SearchPass::input];
    if (longer == 0 && again.change == stage.change && again.during == stage.during) continue;
    stage.recomputed = RecomputedStage{longer, again.during, again.change};
  }
}

}  // namespace

SearchProblem search_problem(const Layout& as_asked, bool chooses) {
  const Layout coded = with_codecs(as_asked);
  const Layout recomputed = with_every_microbatch_recomputed(coded);
  const bool mixed = chooses || keeps_some(coded);
  const Layout layout = mixed ? with_no_microbatch_recomputed(recomputed) : recomputed;
  auto split = problem_if_priced(layout, true);
  auto whole = split ? problem_if_priced(layout, false) : read_problem(layout, false);
  SearchProblem problem{.orders = split ? std::move(*split) : *whole};
  check_times(problem.orders);
  if (mixed) {
    const bool splits = problem.orders.stages.front().splits;
    add_recomputation(read_problem(recomputed, splits), problem.orders);
  }
  OrderProblem least = with_least_costs(problem.orders);
  // What is kept stands fixed: the search reckons with none, and the engine knows better.
  if (mixed && !chooses) problem.orders = with_all_recomputed(problem.orders);
  problem.whole_saves = split && whole && take_off_savings(*whole, least);
  problem.exact = !problem.whole_saves && !may_be_shorter(layout) && (chooses || !mixed);
  problem.bound = may_be_shorter(layout) ? 0 : shortest_possible(least);
  return problem;
}

std::optional<RecomputeMode> mode_with_choice(std::optional<RecomputeMode> mode) {
  return mode == RecomputeMode::except_last ? RecomputeMode::full : mode;
}

std::vector<std::vector<std::uint32_t>> microbatches_of(const Recomputed& recomputed,
                                                        const Layout& layout) {
  const auto& chain = chain_of(layout);
  std::vector<std::vector<std::uint32_t>> lists(layout.placement.stage_count());
  for (std::size_t number = 0; number < recomputed.size(); ++number) {
    if (recomputed[number] == 0) continue;
    lists[index(chain[number / layout.microbatches])].push_back(
        static_cast<std::uint32_t>(number % layout.microbatches));
  }
  return lists;
}

std::optional<RankSequences> sequences_of(const Schedule& order, const Layout& layout,
                                          const OrderProblem& problem) {
  if (order.has(Pass::evict) || order.has(Pass::load)) return std::nullopt;
  RankSequences sequences(order.ranks());
  for (const Rank rank : Numbers<Rank>(order.ranks())) {
    for (const Action& action : order.on(rank)) {
      const std::uint32_t position = layout.placement.position(action.stage);
      const auto add = [&](std::uint32_t pass) {
        sequences[index(rank)].push_back(cell_class(position, pass));
      };
      if (action.pass == Pass::forward) add(SearchPass::forward);
      if (gives_gradient(action.pass)) add(SearchPass::input);
      if (ends_activation(action.pass)) add(SearchPass::weight);
    }
  }
  for (const auto& sequence : sequences) {
    if (sequence.size() % (SearchPass::count * problem.microbatches) != 0) return std::nullopt;
  }
  return sequences;
}

Schedule schedule_of(const RankSequences& sequences, const Layout& layout,
                     const OrderProblem& problem, const std::vector<bool>& whole) {
  Schedule order(layout.placement.ranks());
  const auto& chain = chain_of(layout);
  std::vector<std::uint32_t> done(problem.stages.size() * SearchPass::count, 0);
  for (const Rank rank : Numbers<Rank>(order.ranks())) {
    const auto& sequence = sequences[index(rank)];
    auto& row = order.on(rank);
    for (std::size_t at = 0; at < sequence.size(); ++at) {
      const CellClass cell = sequence[at];
      const std::uint32_t position = cell / SearchPass::count, pass = cell % SearchPass::count;
      const Stage stage = chain[position];
      const Microbatch m{done[cell]++};
      const bool splits = problem.stages[position].splits;
      if (pass == SearchPass::forward) {
        row.emplace_back(Pass::forward, stage, m);
      } else if (pass == SearchPass::input) {
        row.emplace_back(splits ? Pass::backward_input : Pass::backward, stage, m);
      } else if (splits) {
        const bool joins = !whole.empty() && whole[position] && !row.empty() &&
                           row.back() == Action(Pass::backward_input, stage, m);
        if (joins)
          row.back().pass = Pass::backward;
        else
          row.emplace_back(Pass::backward_weight, stage, m);
      }
    }
  }
  return order;
}

}  // namespace penstock
