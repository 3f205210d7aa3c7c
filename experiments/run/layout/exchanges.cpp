#include "experiments/run/layout/exchanges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "experiments/input/files/table.hpp"
#include "experiments/run/layout/cut.hpp"
#include "experiments/run/layout/layout_model.hpp"
#include "experiments/run/layout/written.hpp"
#include "schedules/patterns/pieces.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr const char* key = "/schedule/exchanges";

bool any(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

/// A model whose blocks end at each exchange; of each block before, the blocks that it became, and
/// of those, whether it ends at one.
struct CutBlocks {
  ModelSpec spec;
  std::vector<std::vector<LayerIndex>> pieces;
  std::vector<bool> exchanged;
};

class BlockCutter {
 public:
  CutBlocks cut(const ModelSpec& whole) {
    for (const BlockSpec& block : whole.blocks) cut(block);
    return std::move(result_);
  }

 private:
  void cut(const BlockSpec& block) {
    result_.pieces.emplace_back();
    open_ = block;
    open_.parts.clear();
    for (const LayerSpec& part : block.parts) {
      const auto stated = part.numbers.find("piece");
      const double piece = stated == part.numbers.end() ? 0 : stated->second;
      if (part.kind == "moe" && piece == 0) {
        add(part, 1);
        add(part, 2);
        open_.parts.push_back(piece_of(part, 3));
      } else if (part.kind == "moe" && piece < 3) {
        add(part, piece);
      } else {
        open_.parts.push_back(part);
      }
    }
    if (!open_.parts.empty()) close(block.name, false);
  }
  static LayerSpec piece_of(LayerSpec part, double piece) {
    part.numbers["piece"] = piece;
    return part;
  }
  /// A part that ends at an exchange.
  void add(const LayerSpec& part, double piece) {
    open_.parts.push_back(piece_of(part, piece));
    close(open_.name + (piece == 1 ? " to experts" : " experts"), true);
  }
  void close(std::string name, bool exchanged) {
    BlockSpec closed = open_;
    closed.name = std::move(name);
    open_.parts.clear();
    result_.pieces.back().push_back(
        LayerIndex{static_cast<std::uint32_t>(result_.spec.blocks.size())});
    result_.spec.blocks.push_back(std::move(closed));
    result_.exchanged.push_back(exchanged);
  }

  CutBlocks result_;
  BlockSpec open_;  // the piece that goes on
};

/// A stage cut behind each of its layers that ends at an exchange.
std::vector<std::vector<LayerIndex>> cut_stage(const std::vector<LayerIndex>& layers,
                                               const CutBlocks& blocks) {
  std::vector<std::vector<LayerIndex>> stages;
  bool begins = true;
  for (const LayerIndex layer : layers) {
    for (const LayerIndex piece : blocks.pieces[index(layer)]) {
      if (begins) stages.emplace_back();
      stages.back().push_back(piece);
      begins = blocks.exchanged[index(piece)];
    }
  }
  return stages;
}

/// How many stages each row of stages has that exchanges join.
std::vector<std::uint32_t> joined_by(const std::vector<bool>& exchanges) {
  std::vector<std::uint32_t> pieces;
  std::uint32_t count = 1;
  for (const bool joins : exchanges) {
    if (joins) {
      ++count;
    } else {
      pieces.push_back(std::exchange(count, 1));
    }
  }
  return pieces;
}

void refuse_if(bool refused, const char* where, const char* what) {
  if (refused) throw InputError(where, what);
}

void refuse_beside_exchanges(const Scenario& scenario, const Layout& layout) {
  refuse_if(!scenario.model.by_kind(), key,
            "layers that state their times state exchange_us, too; leave it out");
  refuse_if(layout.degrees.expert == 1, key,
            "no tokens are exchanged: set /parallel/expert, or leave it out");
  refuse_if(layout.policy != nullptr, key, "a policy chooses among whole stages; name a schedule");
  refuse_if(layout.module.has_value(), key, "it goes with a model of one part: leave out /modules");
  const RecomputeMode mode = layout.recompute.mode.value_or(RecomputeMode::none);
  const auto& operators = layout.recompute.operators;
  const bool again = std::find(operators.begin(), operators.end(), "moe") != operators.end();
  refuse_if(mode != RecomputeMode::none && (mode != RecomputeMode::selective || again), key,
            "recomputation would exchange tokens once more; set /recompute/mode to none, or to "
            "selective without moe");
  refuse_if(scenario.offload.has_value(), key, "whole stages are offloaded: leave out /offload");
  refuse_if(layout.codec.encodes(), key, "codecs encode what whole stages keep: leave out /codec");
  refuse_if(layout.degrees.overlaps_experts || layout.degrees.overlaps_shared, key,
            "what runs beside an exchange is what the order puts there: leave out overlap_experts "
            "and overlap_shared_expert of /parallel");
  refuse_if(layout.memory.zero == 3, key,
            "/memory/zero 3 gathers weights a layer ahead within a pass, and pieces have few "
            "layers: set it to 2");
  refuse_if(scenario.batch && scenario.batch->router, key,
            "loads of experts are those of whole layers: leave out /batch/router");
}

/// The stages of a model in an order of whole stages, which is the layout's or lies in it.
Partition whole_stages(const Scenario& scenario, const Layout& layout,
                       const std::vector<bool>& written) {
  if (written.empty()) return cut_model(scenario, layout);
  Layout whole = layout;
  PlacedOrder order = joined_order({layout.placement, layout.schedule}, joined_by(written));
  whole.placement = std::move(order.placement);
  whole.schedule = std::move(order.schedule);
  return cut_model(scenario, whole);
}

/// Refuses an order whose own pieces are not those of the model.
void check_pieces(const std::vector<std::uint32_t>& wanted, const std::vector<bool>& written) {
  const std::vector<std::uint32_t> given = joined_by(written);
  std::uint32_t first = 0;
  for (std::size_t s = 0; s < wanted.size(); ++s) {
    if (given[s] != wanted[s]) {
      throw InputError(
          "/schedule/file",
          fmt::format("its exchanges join {} from stage {} on, and the layers there are cut into "
                      "{}: before, between and behind their exchanges",
                      counted(given[s], "stage"), first, wanted[s]));
    }
    first += given[s];
  }
}

/// The order of a layout with its stages in pieces, and its communication. Weights and gradients
/// move as without written communication: by pieces they would wait for each other.
void cut_order_of(const Scenario& scenario, const std::vector<std::uint32_t>& pieces,
                  Layout& layout) {
  refuse_if(layout.communication.written() && layout.rule == nullptr, key,
            "the order's SENDs and RECVs are those of whole stages; name a schedule, or write the "
            "pieces and their EXCHANGEs into the order");
  PlacedOrder order = cut_order({layout.placement, layout.schedule}, pieces);
  layout.placement = std::move(order.placement);
  layout.schedule = std::move(order.schedule);
  layout.communication =
      written_communication(scenario, layout.schedule, layout.placement, /*stated=*/{});
  for (std::vector<CommCell>& row : layout.communication.rows) {
    std::erase_if(row, [](const CommCell& cell) { return !has_microbatch(cell.comm); });
  }
}

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
  return std::all_of(placement.chains().begin(), placement.chains().end(), [&](const auto& chain) {
    if (stage + 1 == chain.size()) return false;
    const Stage here = chain[stage], next = chain[stage + 1];
    bool same = placement.replicas(here) == placement.replicas(next);
    for (const Microbatch replica : Numbers<Microbatch>(placement.replicas(here))) {
      same = same && placement.rank_of(here, replica) == placement.rank_of(next, replica);
    }
    return same;
  });
}

void cut_stages(const Scenario& scenario, const std::vector<bool>& written, Layout& layout) {
  refuse_if(!written.empty() && scenario.schedule.exchanges == Exchanges::inside, key,
            "the order has EXCHANGEs; leave it out");
  const bool apart = scenario.schedule.exchanges == Exchanges::apart;
  if (!apart && (written.empty() || !scenario.model.by_kind())) {
    layout.partition = cut_model(scenario, layout);
    return;
  }
  refuse_beside_exchanges(scenario, layout);
  const CutBlocks blocks = BlockCutter().cut(layout.spec);
  const Partition whole = whole_stages(scenario, layout, written);
  layout.partition = {};
  std::vector<std::uint32_t> pieces;
  for (std::size_t s = 0; s < whole.stages.size(); ++s) {
    auto stages = cut_stage(whole.stages[s], blocks);
    pieces.push_back(static_cast<std::uint32_t>(stages.size()));
    if (!whole.ranks.empty()) {
      layout.partition.ranks.insert(layout.partition.ranks.end(), stages.size(), whole.ranks[s]);
    }
    std::move(stages.begin(), stages.end(), std::back_inserter(layout.partition.stages));
  }
  if (written.empty()) {
    cut_order_of(scenario, pieces, layout);
  } else {
    check_pieces(pieces, written);
  }
  make_layers(layout, blocks.spec, layout.shape);
}

void check_exchanges(const Scenario& scenario, const Layout& layout) {
  const TransferRules& rules = scenario.hardware.transfers;
  const bool holds_up = rules.blocking || rules.rendezvous || rules.sends_in_flight > 0 ||
                        rules.receives_in_flight > 0;
  refuse_if(holds_up && !exchanges_of(layout).empty(), "/hardware/transfers",
            "an exchange holds up no sender; leave it out, or /schedule/exchanges and exchange_us");
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
