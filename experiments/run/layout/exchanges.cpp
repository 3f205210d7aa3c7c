#include "experiments/run/layout/exchanges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

bool any(const std::vector<bool>& flags) { return std::ranges::find(flags, true) != flags.end(); }

/// The exchange behind an action, if there is one.
std::optional<CommCell> exchange_behind(const Action& action, const std::vector<bool>& exchanges,
                                        const Placement& placement) {
  const bool gradient = gives_gradient(action.pass);
  if (!gradient && action.pass != Pass::forward) return std::nullopt;
  const std::uint32_t position = placement.position(action.stage);
  const bool exchanged =
      gradient ? position > 0 && exchanges[position - 1] : bool(exchanges[position]);
  const CommCell cell{gradient ? Comm::exchange_backward : Comm::exchange_forward, action.stage,
                      action.microbatch};
  return exchanged && crossing_of(cell, placement) ? std::optional(cell) : std::nullopt;
}

/// The cells of a row with its exchanges, each in front of those that follow the same action.
std::vector<CommCell> with_exchanges(const std::vector<CommCell>& cells,
                                     const std::vector<Action>& actions,
                                     const std::vector<bool>& exchanges,
                                     const Placement& placement) {
  std::vector<CommCell> all;
  auto next = cells.begin();
  const auto take_up_to = [&](std::uint32_t place) {
    while (next != cells.end() && next->before <= place) all.push_back(*next++);
  };
  for (std::uint32_t i = 0; i < actions.size(); ++i) {
    take_up_to(i);
    auto cell = exchange_behind(actions[i], exchanges, placement);
    if (!cell) continue;
    cell->before = i + 1;
    all.push_back(*cell);
  }
  take_up_to(static_cast<std::uint32_t>(actions.size()));
  return all;
}

/// Refuses an order that exchanges what other stages put out than those whose output is.
void check_all_written(const std::vector<bool>& written, const std::vector<bool>& exchanges) {
  for (std::size_t stage = 0; stage < written.size(); ++stage) {
    const bool wanted = !exchanges.empty() && exchanges[stage];
    if (written[stage] == wanted) continue;
    const std::string what =
        wanted ? fmt::format(
                     "it lacks EXCHANGEs of stage {}, whose output is exchanged before the "
                     "next one reads it",
                     stage)
               : fmt::format(
                     "it exchanges what stage {} puts out, and the model says nothing of "
                     "that (exchange_us)",
                     stage);
    throw InputError("/schedule/file", what);
  }
}

}  // namespace

std::vector<bool> exchanges_in(const std::vector<std::vector<CommCell>>& rows,
                               const Placement& placement) {
  std::vector<bool> exchanges(placement.chains().front().size());
  for (const auto& row : rows) {
    for (const CommCell& cell : row) {
      if (!is_exchange(cell.comm)) continue;
      const std::uint32_t position = placement.position(cell.stage);
      exchanges[position - (cell.comm == Comm::exchange_backward ? 1 : 0)] = true;
    }
  }
  return any(exchanges) ? exchanges : std::vector<bool>{};
}

bool stays_on_rank(const Placement& placement, std::size_t stage) {
  return std::ranges::all_of(placement.chains(), [&](const auto& chain) {
    if (stage + 1 == chain.size()) return false;
    const Stage here = chain[stage], next = chain[stage + 1];
    bool same = placement.replicas(here) == placement.replicas(next);
    for (const Microbatch replica : Numbers<Microbatch>(placement.replicas(here))) {
      same = same && placement.rank_of(here, replica) == placement.rank_of(next, replica);
    }
    return same;
  });
}

void keep_exchanges_inside(Layout& layout) {
  for (std::size_t s = 0; s < layout.partition.stages.size(); ++s) {
    const std::vector<LayerIndex>& layers = layout.partition.stages[s];
    const bool stays = stays_on_rank(layout.placement, s);
    for (const LayerIndex number : layers) {
      Layer& layer = layout.model.layers[index(number)];
      const bool takes_time = layer.exchange_us != 0.0;
      if (stays && number == layers.back() && takes_time) continue;
      auto& [kernels, collectives, handing_on, repeated, forward, backward] = layer.work;
      collectives.insert(collectives.end(), handing_on.begin(), handing_on.end());
      handing_on.clear();
      const double more = std::exchange(layer.exchange_us, std::nullopt).value_or(0);
      for (auto* us : {&layer.forward_us, &layer.backward_us, &layer.backward_input_us}) {
        if (*us) **us += more;
      }
    }
  }
}

std::vector<bool> exchanges_of(const Layout& layout) {
  std::vector<bool> exchanges;
  for (const std::vector<LayerIndex>& layers : layout.partition.stages) {
    exchanges.push_back(layout.model.layers[index(layers.back())].is_exchanged());
  }
  return any(exchanges) ? exchanges : std::vector<bool>{};
}

std::vector<std::uint32_t> first_pieces(const std::vector<bool>& exchanges) {
  std::vector<std::uint32_t> first;
  for (std::uint32_t stage = 0; stage < exchanges.size(); ++stage) {
    const bool joined = stage > 0 && exchanges[stage - 1];
    first.push_back(joined ? first.back() : stage);
  }
  return first;
}

std::uint32_t further_pieces(const Layout& layout) {
  if (layout.spec.blocks.empty()) return 0;
  const std::vector<bool> exchanges = exchanges_of(layout);
  return static_cast<std::uint32_t>(std::ranges::count(exchanges, true));
}

void add_exchanges(const std::vector<bool>& exchanges, const Schedule& schedule,
                   const Placement& placement, Communication& communication) {
  for (const Rank rank : Numbers<Rank>(schedule.ranks())) {
    auto& row = communication.rows[index(rank)];
    row = with_exchanges(row, schedule.on(rank), exchanges, placement);
  }
}

void write_exchanges(Layout& layout) {
  Communication& comms = layout.communication;
  const std::vector<bool> exchanges = exchanges_of(layout);
  if (any_cell(comms.rows, is_exchange)) {
    return check_all_written(exchanges_in(comms.rows, layout.placement), exchanges);
  }
  if (!exchanges.empty()) add_exchanges(exchanges, layout.schedule, layout.placement, comms);
}

Communication cells_to_write(const Layout& layout) {
  Communication cells = layout.communication;
  const std::vector<bool> exchanges = exchanges_of(layout);
  if (cells.written() || exchanges.empty()) return cells;
  cells.rows.resize(layout.schedule.ranks());
  add_exchanges(exchanges, layout.schedule, layout.placement, cells);
  return cells;
}

}  // namespace penstock
