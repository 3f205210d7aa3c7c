#include "experiments/input/formats/orders/torch_comms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "experiments/input/formats/orders/lowered_cells.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Sweeps over the ranks and places at most one cell per rank and sweep. This decides the positions
/// of RECVs.
class Sweeper {
 public:
  Sweeper(std::vector<std::vector<LoweredCell>> rows, const Placement& placement)
      : rows_(std::move(rows)), placement_(placement), next_(rows_.size()), out_(rows_.size()) {}

  std::vector<std::vector<LoweredCell>> run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::uint32_t rank = 0; rank < rows_.size(); ++rank) {
        if (next_[rank] == rows_[rank].size()) continue;
        const LoweredCell& cell = rows_[rank][next_[rank]];
        if (!ready(cell)) continue;
        place(rank, cell);
        ++next_[rank];
        progress = true;
      }
    }
    for (std::uint32_t rank = 0; rank < rows_.size(); ++rank) {
      if (next_[rank] == rows_[rank].size()) continue;
      throw RuleError(fmt::format("the order deadlocks: {} of rank {} can never start",
                                  text(rows_[rank][next_[rank]]), rank));
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

  bool ready(const LoweredCell& cell) const {
    return std::all_of(cell.actions.begin(), cell.actions.end(), [&](const Action& action) {
      const auto source = neighbour(action, /*towards_loss=*/false);
      return !source || there_.contains({gives_gradient(action.pass), *source, action.microbatch});
    });
  }

  void place(std::uint32_t rank, const LoweredCell& cell) {
    out_[rank].push_back(cell);
    for (const Action& action : cell.actions) {
      const auto reader = neighbour(action, /*towards_loss=*/true);
      if (!reader) continue;
      const bool gradient = gives_gradient(action.pass);
      there_.insert({gradient, action.stage, action.microbatch});
      const Rank target = placement_.rank_of(*reader, action.microbatch);
      if (index(target) == rank) continue;
      out_[rank].push_back(comm_cell(gradient ? Comm::send_backward : Comm::send_forward,
                                     action.stage, action.microbatch));
      out_[index(target)].push_back(comm_cell(
          gradient ? Comm::receive_backward : Comm::receive_forward, *reader, action.microbatch));
    }
  }

  std::vector<std::vector<LoweredCell>> rows_;
  const Placement& placement_;
  std::vector<std::size_t> next_;
  std::vector<std::vector<LoweredCell>> out_;
  std::set<Output> there_;
};

}  // namespace

std::string write_torch_comms(const Schedule& schedule, const Placement& placement,
                              const Lowering& lowering) {
  std::vector<std::vector<LoweredCell>> rows;
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    std::vector<LoweredCell> cells = cells_of(schedule.on(rank));
    if (lowering.fsdp) cells = with_sharding(cells, lowering.version);
    if (lowering.version == TorchVersion::v2_9) cells = in_single_cells(cells);
    rows.push_back(with_reduction(cells, lowering.version));
  }
  std::string csv;
  for (const auto& row : Sweeper(std::move(rows), placement).run()) {
    std::string separator;
    for (const LoweredCell& cell : has_waits(lowering.version) ? with_send_waits(row) : row) {
      csv += separator + text(cell);
      separator = ",";
    }
    csv += '\n';
  }
  return csv;
}

}  // namespace penstock
