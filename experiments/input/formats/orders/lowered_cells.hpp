#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/input/formats/orders/torch_version.hpp"
#include "experiments/input/formats/torch_csv.hpp"

namespace penstock {

/// A cell of a lowered row: actions of the order (two if they overlap), or communication.
struct LoweredCell {
  std::vector<Action> actions;
  std::optional<CommCell> comm;
};
/// "2F0", "(1F1;1B0)OVERLAP_F_B", "1RECV_F3".
std::string text(const LoweredCell& cell);
LoweredCell comm_cell(Comm comm, Stage stage, Microbatch microbatch = {});

/// The cells of a rank's actions. Throws RuleError for an action outside of PyTorch's notation.
std::vector<LoweredCell> cells_of(const std::vector<Action>& order);

/// UNSHARD ahead of the use of a stage's weights, and RESHARD when it is not among the next stages.
std::vector<LoweredCell> with_sharding(const std::vector<LoweredCell>& cells, TorchVersion version);

/// Each overlap cell as its two parts, as 2.9 runs it.
std::vector<LoweredCell> in_single_cells(const std::vector<LoweredCell>& cells);

/// REDUCE_GRAD, with its wait where the version has one, after the cell with the last backward of a
/// stage.
std::vector<LoweredCell> with_reduction(const std::vector<LoweredCell>& cells,
                                        TorchVersion version);

/// WAIT_SEND of an activation after the backward of its microbatch, of all other sends at the end.
std::vector<LoweredCell> with_send_waits(const std::vector<LoweredCell>& cells);

}  // namespace penstock
