#include "experiments/input/formats/orders/lowered_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "experiments/input/formats/orders/python_set.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The stages with gathered weights, in the order in which a version goes through them.
class Gathered {
 public:
  explicit Gathered(TorchVersion version) : in_order_(version >= TorchVersion::v2_15) {}

  bool contains(Stage stage) const { return hashed_.contains(index(stage)); }
  void insert(Stage stage) {
    hashed_.insert(index(stage));
    order_.push_back(stage);
  }
  void erase(Stage stage) {
    hashed_.erase(index(stage));
    std::erase(order_, stage);
  }
  std::vector<Stage> list() const {
    if (in_order_) return order_;
    std::vector<Stage> all;
    for (const std::uint32_t stage : hashed_.values()) all.push_back(Stage{stage});
    return all;
  }

 private:
  bool in_order_;  // of gathering; otherwise that of a set
  PythonSet hashed_;
  std::vector<Stage> order_;
};

/// The stages of the next cells, in order of use: three. Since 2.14 an overlap cell is taken whole,
/// so there may be four.
std::vector<Stage> stages_ahead(const std::vector<LoweredCell>& cells, std::size_t from,
                                TorchVersion version) {
  constexpr std::size_t look_ahead = 3;
  std::vector<Stage> ahead;
  for (std::size_t i = from; i < cells.size() && ahead.size() < look_ahead; ++i) {
    for (const Action& action : cells[i].actions) {
      const bool full = version == TorchVersion::v2_9 && ahead.size() == look_ahead;
      if (full || std::find(ahead.begin(), ahead.end(), action.stage) != ahead.end()) continue;
      ahead.push_back(action.stage);
    }
  }
  return ahead;
}

}  // namespace

std::string text(const LoweredCell& cell) {
  if (cell.comm) return text(*cell.comm);
  if (cell.actions.size() == 1) return text(cell.actions.front());
  return fmt::format("({};{})OVERLAP_F_B", text(cell.actions[0]), text(cell.actions[1]));
}

LoweredCell comm_cell(Comm comm, Stage stage, Microbatch microbatch) {
  return {{}, CommCell{comm, stage, microbatch, 0}};
}

std::vector<LoweredCell> cells_of(const std::vector<Action>& order) {
  std::vector<LoweredCell> cells;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].pass > Pass::backward_weight) {
      throw RuleError(fmt::format("{} has no place in PyTorch's notation", text(order[i])));
    }
    if (order[i].with_next) {
      cells.push_back({{order[i], order[i + 1]}, std::nullopt});
      ++i;
    } else {
      cells.push_back({{order[i]}, std::nullopt});
    }
  }
  return cells;
}

std::vector<LoweredCell> with_sharding(const std::vector<LoweredCell>& cells,
                                       TorchVersion version) {
  std::vector<LoweredCell> all;
  Gathered gathered(version);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::vector<Stage> ahead = stages_ahead(cells, i, version);
    for (const Stage stage : gathered.list()) {
      if (std::find(ahead.begin(), ahead.end(), stage) != ahead.end()) continue;
      all.push_back(comm_cell(Comm::reshard, stage));
      gathered.erase(stage);
    }
    for (const Stage stage : ahead) {
      if (gathered.contains(stage)) continue;
      all.push_back(comm_cell(Comm::unshard, stage));
      gathered.insert(stage);
    }
    all.push_back(cells[i]);
  }
  if (version == TorchVersion::v2_9) return all;  // weights stay gathered
  for (const Stage stage : gathered.list()) all.push_back(comm_cell(Comm::reshard, stage));
  return all;
}

std::vector<LoweredCell> in_single_cells(const std::vector<LoweredCell>& cells) {
  std::vector<LoweredCell> all;
  for (const LoweredCell& cell : cells) {
    if (cell.comm) all.push_back(cell);
    for (Action action : cell.actions) {
      action.with_next = false;
      all.push_back({{action}, std::nullopt});
    }
  }
  return all;
}

std::vector<LoweredCell> with_reduction(const std::vector<LoweredCell>& cells,
                                        TorchVersion version) {
  if (!has_reduce_grad(version)) return cells;
  std::map<Stage, std::uint32_t> left;
  for (const LoweredCell& cell : cells) {
    for (const Action& action : cell.actions) {
      if (ends_activation(action.pass)) ++left[action.stage];
    }
  }
  std::vector<LoweredCell> all;
  for (const LoweredCell& cell : cells) {
    all.push_back(cell);
    for (const Action& action : cell.actions) {
      if (!ends_activation(action.pass) || --left[action.stage] > 0) continue;
      all.push_back(comm_cell(Comm::reduce_grad, action.stage));
      if (has_waits(version)) all.push_back(comm_cell(Comm::wait_reduce_grad, action.stage));
    }
  }
  return all;
}

std::vector<LoweredCell> with_send_waits(const std::vector<LoweredCell>& cells) {
  std::vector<LoweredCell> all;
  std::vector<CommCell> sends;
  std::set<std::pair<Stage, Microbatch>> forward;  // activations sent and not waited for
  for (const LoweredCell& cell : cells) {
    all.push_back(cell);
    if (cell.comm && is_send(cell.comm->comm)) {
      sends.push_back(*cell.comm);
      if (cell.comm->comm == Comm::send_forward) {
        forward.insert({cell.comm->stage, cell.comm->microbatch});
      }
    }
    for (const Action& action : cell.actions) {
      if (!gives_gradient(action.pass)) continue;
      if (forward.erase({action.stage, action.microbatch}) == 0) continue;
      all.push_back(comm_cell(Comm::wait_send_forward, action.stage, action.microbatch));
    }
  }
  for (const CommCell& send : sends) {
    const bool forwards = send.comm == Comm::send_forward;
    if (forwards && !forward.contains({send.stage, send.microbatch})) continue;
    all.push_back(comm_cell(forwards ? Comm::wait_send_forward : Comm::wait_send_backward,
                            send.stage, send.microbatch));
  }
  return all;
}

}  // namespace penstock
