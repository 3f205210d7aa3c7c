#include "experiments/formats/orders/torch_comms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// A cell of a row: actions of the order (two if they overlap), or a weight collective.
struct Cell {
  std::vector<Action> actions;
  std::string text;
};

Cell weights_cell(Stage stage, const char* what) {
  return {{}, fmt::format("{}{}", index(stage), what)};
}

std::vector<Cell> cells_of(const std::vector<Action>& order) {
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].pass > Pass::backward_weight) {
      throw RuleError(fmt::format("{} has no place in PyTorch's notation", text(order[i])));
    }
    if (order[i].with_next) {
      cells.push_back({{order[i], order[i + 1]},
                       fmt::format("({};{})OVERLAP_F_B", text(order[i]), text(order[i + 1]))});
      ++i;
    } else {
      cells.push_back({{order[i]}, text(order[i])});
    }
  }
  return cells;
}

/// The stages of the next cells, in order of use: three, or four if the last cell examined is an
/// overlap.
std::vector<Stage> stages_ahead(const std::vector<Cell>& cells, std::size_t from) {
  constexpr std::size_t look_ahead = 3;
  std::vector<Stage> ahead;
  for (std::size_t i = from; i < cells.size() && ahead.size() < look_ahead; ++i) {
    for (const Action& action : cells[i].actions) {
      if (std::find(ahead.begin(), ahead.end(), action.stage) == ahead.end()) {
        ahead.push_back(action.stage);
      }
    }
  }
  return ahead;
}

/// Gathers the weights of a stage before its use, and frees them when it is not among the next
/// stages.
std::vector<Cell> with_sharding(const std::vector<Cell>& cells) {
  std::vector<Cell> all;
  std::vector<Stage> gathered;
  const auto contains = [](const std::vector<Stage>& stages, Stage stage) {
    return std::find(stages.begin(), stages.end(), stage) != stages.end();
  };
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::vector<Stage> ahead = stages_ahead(cells, i);
    std::erase_if(gathered, [&](Stage stage) {
      if (contains(ahead, stage)) return false;
      all.push_back(weights_cell(stage, "RESHARD"));
      return true;
    });
    for (const Stage stage : ahead) {
      if (contains(gathered, stage)) continue;
      all.push_back(weights_cell(stage, "UNSHARD"));
      gathered.push_back(stage);
    }
    all.push_back(cells[i]);
  }
  for (const Stage stage : gathered) all.push_back(weights_cell(stage, "RESHARD"));
  return all;
}

/// Reduces the gradients of a stage after the cell with its last backward.
std::vector<Cell> with_reduction(const std::vector<Cell>& cells, const Placement& placement) {
  std::vector<std::uint32_t> left(placement.stage_count());
  for (const Cell& cell : cells) {
    for (const Action& action : cell.actions) {
      if (ends_activation(action.pass)) ++left[index(action.stage)];
    }
  }
  std::vector<Cell> all;
  for (const Cell& cell : cells) {
    all.push_back(cell);
    for (const Action& action : cell.actions) {
      if (ends_activation(action.pass) && --left[index(action.stage)] == 0) {
        all.push_back(weights_cell(action.stage, "REDUCE_GRAD"));
      }
    }
  }
  return all;
}

/// Sweeps over the ranks and places at most one cell per rank and sweep. This decides the positions
/// of RECVs.
class Sweeper {
 public:
  Sweeper(std::vector<std::vector<Cell>> rows, const Placement& placement)
      : rows_(std::move(rows)), placement_(placement), next_(rows_.size()), out_(rows_.size()) {}

  std::vector<std::vector<std::string>> run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::uint32_t rank = 0; rank < rows_.size(); ++rank) {
        if (next_[rank] == rows_[rank].size()) continue;
        const Cell& cell = rows_[rank][next_[rank]];
        if (!ready(cell)) continue;
        place(rank, cell);
        ++next_[rank];
        progress = true;
      }
    }
    for (std::uint32_t rank = 0; rank < rows_.size(); ++rank) {
      if (next_[rank] == rows_[rank].size()) continue;
      throw RuleError(fmt::format("the order deadlocks: {} of rank {} can never start",
                                  rows_[rank][next_[rank]].text, rank));
    }
    return std::move(out_);
  }

 private:
  /// An output ready for its reader: gradient or activation, stage, microbatch.
  using Output = std::tuple<bool, Stage, Microbatch>;

  std::optional<Stage> neighbour(const Action& action, bool towards_loss) const {
    if (action.pass == Pass::backward_weight) return std::nullopt;
    const bool forwards = action.pass == Pass::forward;
    return forwards == towards_loss ? placement_.after(action.stage)
                                    : placement_.before(action.stage);
  }

  bool ready(const Cell& cell) const {
    return std::all_of(cell.actions.begin(), cell.actions.end(), [&](const Action& action) {
      const auto source = neighbour(action, /*towards_loss=*/false);
      return !source || there_.contains({gives_gradient(action.pass), *source, action.microbatch});
    });
  }

  void place(std::uint32_t rank, const Cell& cell) {
    out_[rank].push_back(cell.text);
    for (const Action& action : cell.actions) {
      const auto reader = neighbour(action, /*towards_loss=*/true);
      if (!reader) continue;
      there_.insert({gives_gradient(action.pass), action.stage, action.microbatch});
      const Rank target = placement_.rank_of(*reader, action.microbatch);
      if (index(target) == rank) continue;
      const char* letter = gives_gradient(action.pass) ? "B" : "F";
      out_[rank].push_back(
          fmt::format("{}SEND_{}{}", index(action.stage), letter, index(action.microbatch)));
      out_[index(target)].push_back(
          fmt::format("{}RECV_{}{}", index(*reader), letter, index(action.microbatch)));
    }
  }

  std::vector<std::vector<Cell>> rows_;
  const Placement& placement_;
  std::vector<std::size_t> next_;
  std::vector<std::vector<std::string>> out_;
  std::set<Output> there_;
};

}  // namespace

std::string write_torch_comms(const Schedule& schedule, const Placement& placement, bool fsdp) {
  std::vector<std::vector<Cell>> rows;
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    rows.push_back(cells_of(schedule.on(rank)));
    if (fsdp) rows.back() = with_reduction(with_sharding(rows.back()), placement);
  }
  std::string csv;
  for (const auto& row : Sweeper(std::move(rows), placement).run()) {
    csv += fmt::format("{}\n", fmt::join(row, ","));
  }
  return csv;
}

}  // namespace penstock
