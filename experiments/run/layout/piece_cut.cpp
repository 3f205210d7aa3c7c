#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "experiments/input/files/table.hpp"
#include "experiments/run/layout/cut.hpp"
#include "experiments/run/layout/layout_model.hpp"
#include "experiments/run/layout/written.hpp"
#include "schedules/patterns/pieces.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr const char* exchanges_key = "/schedule/exchanges";

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
      const double piece = part.number("piece");
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
  refuse_if(!scenario.model.by_kind(), exchanges_key,
            "layers that state their times state exchange_us, too; leave it out");
  refuse_if(layout.degrees.expert == 1, exchanges_key,
            "no tokens are exchanged: set /parallel/expert, or leave it out");
  refuse_if(layout.policy != nullptr, exchanges_key,
            "a policy chooses among whole stages; name a schedule");
  refuse_if(layout.module.has_value(), exchanges_key,
            "it goes with a model of one part: leave out /modules");
  const RecomputeMode mode = layout.recompute.mode.value_or(RecomputeMode::none);
  const auto& operators = layout.recompute.operators;
  const bool again = std::ranges::find(operators, "moe") != operators.end();
  refuse_if(mode != RecomputeMode::none && (mode != RecomputeMode::selective || again),
            exchanges_key,
            "recomputation would exchange tokens once more; set /recompute/mode to none, or to "
            "selective without moe");
  refuse_if(scenario.offload.has_value(), exchanges_key,
            "whole stages are offloaded: leave out /offload");
  refuse_if(layout.codec.encodes(), exchanges_key,
            "codecs encode what whole stages keep: leave out /codec");
  refuse_if(layout.degrees.overlaps_experts || layout.degrees.overlaps_shared, exchanges_key,
            "what runs beside an exchange is what the order puts there: leave out overlap_experts "
            "and overlap_shared_expert of /parallel");
  refuse_if(layout.memory.zero == 3, exchanges_key,
            "/memory/zero 3 gathers weights a layer ahead within a pass, and pieces have few "
            "layers: set it to 2");
  refuse_if(scenario.batch && scenario.batch->router, exchanges_key,
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
  refuse_if(layout.communication.written() && layout.rule == nullptr, exchanges_key,
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

}  // namespace

void cut_stages(const Scenario& scenario, const std::vector<bool>& written, Layout& layout) {
  refuse_if(!written.empty() && scenario.schedule.exchanges == Exchanges::inside, exchanges_key,
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

}  // namespace penstock
