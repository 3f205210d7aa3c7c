#include "schedules/patterns/module_rows.hpp"

#include <algorithm>
#include <deque>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

Stage behind(Stage stage, const ModuleRows& module) { return Stage{index(stage) + module.stages}; }

/// What the first stage of an order runs for each microbatch: F, and what gives the gradient.
std::vector<Action> handed_over(const Schedule& order, const Placement& placement) {
  const Stage first = placement.chains().front().front();
  std::vector<Action> actions;
  for (const Action& action : order.on(placement.rank_of(first))) {
    const bool handed = action.pass == Pass::forward || gives_gradient(action.pass);
    if (action.stage == first && handed) actions.push_back(action);
  }
  return actions;
}

/// The row of a stage whose microbatches the first stage of the order runs so, some forwards ahead.
std::vector<Action> row_ahead(const std::vector<Action>& first, Stage stage, std::size_t ahead,
                              bool frozen) {
  std::deque<Microbatch> forwards;
  for (const Action& action : first) {
    if (action.pass == Pass::forward) forwards.push_back(action.microbatch);
  }
  std::vector<Action> row;
  const auto run_forward = [&] {
    if (forwards.empty()) return;
    row.emplace_back(Pass::forward, stage, forwards.front());
    forwards.pop_front();
  };
  for (std::size_t i = 0; i < ahead; ++i) run_forward();
  for (const Action& action : first) {
    if (action.pass == Pass::forward) {
      run_forward();
    } else if (!frozen) {
      row.emplace_back(Pass::backward, stage, action.microbatch);
    }
  }
  return row;
}

/// Of the actions of the first stage, those of the microbatches of one rank of the module.
std::vector<Action> in_turn(const std::vector<Action>& first, std::uint32_t turn,
                            std::uint32_t turns) {
  std::vector<Action> own;
  for (const Action& action : first) {
    if (index(action.microbatch) % turns == turn) own.push_back(action);
  }
  return own;
}

void add_own_rows(const std::vector<Action>& first, std::uint32_t ranks, const ModuleRows& module,
                  Schedule& joined) {
  for (const Stage stage : Numbers<Stage>(module.stages)) {
    for (std::uint32_t turn = 0; turn < module.ranks_in_turn; ++turn) {
      const Rank rank{ranks + index(stage) * module.ranks_in_turn + turn};
      joined.on(rank) = row_ahead(in_turn(first, turn, module.ranks_in_turn), stage,
                                  module.stages - index(stage), module.frozen);
    }
  }
}

void add_around_row(const std::vector<Action>& own, bool frozen, std::vector<Action>& row) {
  std::vector<Action> all = row_ahead(own, Stage{0}, own.size(), frozen);
  const auto backwards = std::stable_partition(
      all.begin(), all.end(), [](const Action& one) { return one.pass == Pass::forward; });
  row.insert(row.begin(), all.begin(), backwards);
  row.insert(row.end(), backwards, all.end());
}

}  // namespace

Placement with_module(const Placement& placement, const ModuleRows& module) {
  if (placement.chains().size() > 1) {
    throw RuleError("a module goes with one copy of the model, and this order has two");
  }
  const std::vector<Stage>& chain = placement.chains().front();
  if (placement.replicas(chain.front()) > 1) {
    throw RuleError("a module goes with a first stage on one rank");
  }
  const std::uint32_t ranks = placement.ranks();
  std::vector<std::vector<Rank>> holders;
  std::vector<Stage> all;
  for (const Stage stage : Numbers<Stage>(module.stages)) {
    std::vector<Rank>& own = holders.emplace_back();
    for (std::uint32_t turn = 0; turn < module.ranks_in_turn; ++turn) {
      own.push_back(
          Rank{module.shares_ranks ? turn : ranks + index(stage) * module.ranks_in_turn + turn});
    }
    all.push_back(stage);
  }
  for (const Stage stage : placement.stages()) {
    std::vector<Rank>& own = holders.emplace_back();
    for (const Microbatch replica : Numbers<Microbatch>(placement.replicas(stage))) {
      own.push_back(placement.rank_of(stage, replica));
    }
  }
  for (const Stage stage : chain) all.push_back(behind(stage, module));
  const std::uint32_t more = module.shares_ranks ? 0 : module.stages * module.ranks_in_turn;
  return Placement::given(ranks + more, holders, {all});
}

Schedule with_module(const Schedule& order, const Placement& placement, const ModuleRows& module) {
  const std::vector<Action> first = handed_over(order, placement);
  const std::uint32_t ranks = order.ranks();
  Schedule joined(module.shares_ranks ? ranks : ranks + module.stages * module.ranks_in_turn);
  for (const Rank rank : Numbers<Rank>(ranks)) {
    std::vector<Action>& row = joined.on(rank);
    for (Action action : order.on(rank)) {
      action.stage = behind(action.stage, module);
      row.push_back(action);
    }
    if (!module.shares_ranks) continue;
    add_around_row(in_turn(first, index(rank), module.ranks_in_turn), module.frozen, row);
  }
  if (!module.shares_ranks) add_own_rows(first, ranks, module, joined);
  return joined;
}

}  // namespace penstock
