#include "experiments/input/orders/comms_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "experiments/input/orders/comm_deadlock.hpp"

namespace penstock {
namespace {

/// Tensors in flight, told apart by what they are and the stage that sends them.
struct OfOneSender {
  bool operator()(const Crossing& a, const Crossing& b) const {
    return std::tie(a.gradient, a.sender, a.microbatch) <
           std::tie(b.gradient, b.sender, b.microbatch);
  }
};
using Tensors = std::set<Crossing, OfOneSender>;

/// A cell of a row, of either kind.
struct Cell {
  std::uint32_t column;
  std::vector<Action> actions;  // two in an overlap cell
  std::optional<CommCell> comm;
};

/// Actions and communication of a row, by column.
std::vector<Cell> cells_of(const OrderFile& order, Rank rank) {
  std::vector<Cell> cells;
  const auto& actions = order.schedule.on(rank);
  const auto& columns = order.column[index(rank)];
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (!cells.empty() && cells.back().column == columns[i]) {
      cells.back().actions.push_back(actions[i]);
    } else {
      cells.push_back({columns[i], {actions[i]}, std::nullopt});
    }
  }
  for (const CommCell& comm : order.comms[index(rank)]) cells.push_back({comm.column, {}, comm});
  std::ranges::sort(cells, {}, &Cell::column);
  return cells;
}

/// What has a wait in an order with waits, and its wait.
constexpr std::array<std::pair<Comm, Comm>, 3> comms_with_waits{
    {{Comm::send_forward, Comm::wait_send_forward},
     {Comm::send_backward, Comm::wait_send_backward},
     {Comm::reduce_grad, Comm::wait_reduce_grad}}};

class Check {
 public:
  Check(const OrderFile& order, const Placement& placement) : order_(order), placement_(placement) {
    for (Rank rank : Numbers<Rank>(placement.ranks())) {
      rows_.push_back(cells_of(order, rank));
      for (const Cell& cell : rows_.back()) {
        if (!cell.comm) continue;
        comms_.insert(key_of(*cell.comm));
        if (!is_exchange(cell.comm->comm) || is_misplaced(*cell.comm, rank)) continue;
        if (const auto tensor = crossing_of(*cell.comm, placement_))
          exchanges_.insert(boundary_of(*tensor));
      }
    }
    only_exchanges_ = !any_cell(order.comms, [](Comm comm) { return !is_exchange(comm); });
    has_waits_ = any_cell(order.comms, is_wait);
    has_reductions_ = any_cell(order.comms, [](Comm comm) { return comm == Comm::reduce_grad; });
  }

  std::optional<CellFault> run() {
    for (std::uint32_t rank = 0; rank < rows_.size(); ++rank) {
      const std::size_t blank_row = order_.blank ? order_.blank->first : rows_.size();
      if (blank_row == rank) {
        return CellFault{rank, order_.blank->second,
                         "an order with communication has no blank cells; only compute-only orders "
                         "may have idle steps"};
      }
      if (auto fault = fault_in_row(rank)) return fault;
    }
    return std::nullopt;
  }

 private:
  using CommKey = std::tuple<Comm, Stage, Microbatch>;
  static CommKey key_of(const CommCell& cell) { return {cell.comm, cell.stage, cell.microbatch}; }

  /// State of a row so far.
  struct Progress {
    Tensors made;
    Tensors received;
    std::set<CommKey> done;
    std::set<Stage> gathered;
    std::map<Stage, std::uint32_t> backwards_left;
    std::optional<Stage> reducing;  // its REDUCE_GRAD has no wait yet
    bool gathers = false;           // the row has an UNSHARD somewhere
  };

  bool is_misplaced(const CommCell& cell, Rank rank) const {
    return index(cell.stage) >= placement_.stage_count() || placement_.rank_of(cell.stage) != rank;
  }
  /// The lower of the two stages between which a tensor moves.
  static Stage boundary_of(const Crossing& tensor) {
    return tensor.gradient ? tensor.receiver : tensor.sender;
  }
  bool stays(const Crossing& tensor) const {
    return placement_.rank_of(tensor.receiver) == placement_.rank_of(tensor.sender);
  }
  /// The RECV of a tensor, or the EXCHANGE of one that stays on its rank.
  CommCell bringer_of(const Crossing& tensor) const {
    if (!stays(tensor)) return receive_of(tensor);
    return {tensor.gradient ? Comm::exchange_backward : Comm::exchange_forward, tensor.sender,
            tensor.microbatch};
  }
  /// The tensor that an action reads from another rank, or after an exchange, if any.
  std::optional<Crossing> read_by(const Action& action) const {
    if (action.pass == Pass::backward_weight) return std::nullopt;
    const bool gradient = gives_gradient(action.pass);
    const auto from = gradient ? placement_.after(action.stage) : placement_.before(action.stage);
    if (!from) return std::nullopt;
    const Crossing tensor{gradient, *from, action.stage, action.microbatch};
    const bool moves = stays(tensor) ? exchanges_.contains(boundary_of(tensor)) : !only_exchanges_;
    return moves ? std::optional(tensor) : std::nullopt;
  }

  std::optional<CellFault> fault_in_row(std::uint32_t rank) {
    Progress progress;
    for (const Cell& cell : rows_[rank]) {
      if (cell.comm && cell.comm->comm == Comm::unshard) progress.gathers = true;
      for (const Action& action : cell.actions) {
        if (ends_activation(action.pass)) ++progress.backwards_left[action.stage];
      }
    }
    for (const Cell& cell : rows_[rank]) {
      std::string fault;
      if (cell.comm) {
        fault = fault_of(*cell.comm, Rank{rank}, progress);
      } else {
        for (const Action& action : cell.actions) {
          if (fault.empty()) fault = fault_of(action, progress);
        }
      }
      if (!fault.empty()) return CellFault{rank, cell.column, fault};
    }
    const std::string missing = missing_in_row(rank, progress);
    if (missing.empty()) return std::nullopt;
    return CellFault{rank, rows_[rank].back().column + 1, missing};
  }

  /// What an order with REDUCE_GRAD or with waits lacks at the end of a row; "" for nothing.
  std::string missing_in_row(std::uint32_t rank, const Progress& progress) const {
    for (const auto& [stage, left] : progress.backwards_left) {
      const CommCell reduction{Comm::reduce_grad, stage, {}, 0};
      if (has_reductions_ && !progress.done.contains(key_of(reduction))) {
        return fmt::format(
            "{} is missing: gradients of stage {} would not be divided by the "
            "number of microbatches",
            text(reduction), index(stage));
      }
    }
    if (!has_waits_) return {};
    for (const Cell& cell : rows_[rank]) {
      if (!cell.comm) continue;
      const auto wait = wait_of(*cell.comm);
      if (!wait || progress.done.contains(key_of(*wait))) continue;
      return fmt::format("{} has no {} behind it", text(*cell.comm), text(*wait));
    }
    return {};
  }

  /// The wait that a SEND or a REDUCE_GRAD needs.
  static std::optional<CommCell> wait_of(CommCell cell) {
    for (const auto& [comm, wait] : comms_with_waits) {
      if (cell.comm != comm) continue;
      cell.comm = wait;
      return cell;
    }
    return std::nullopt;
  }
  static CommCell waited_for(CommCell cell) {
    for (const auto& [comm, wait] : comms_with_waits) {
      if (cell.comm == wait) cell.comm = comm;
    }
    return cell;
  }

  std::string fault_of(const Action& action, Progress& progress) const {
    if (const auto tensor = read_by(action); tensor && !progress.received.contains(*tensor)) {
      return fmt::format("{} has no {} before it", text(action), text(bringer_of(*tensor)));
    }
    if (progress.gathers && !progress.gathered.contains(action.stage)) {
      return fmt::format("{} runs while the weights of stage {} are not gathered", text(action),
                         index(action.stage));
    }
    if (ends_activation(action.pass)) --progress.backwards_left[action.stage];
    progress.made.insert({gives_gradient(action.pass), action.stage, {}, action.microbatch});
    return {};
  }

  std::string fault_of(const CommCell& cell, Rank rank, Progress& progress) const {
    if (is_misplaced(cell, rank)) {
      return fmt::format("{} is on rank {}, which does not hold stage {}", text(cell), index(rank),
                         index(cell.stage));
    }
    if (cell.comm == Comm::unshard || cell.comm == Comm::reshard) {
      return fault_of_weights(cell, progress);
    }
    if (!progress.done.insert(key_of(cell)).second) {
      return fmt::format("{} appears twice", text(cell));
    }
    if (is_wait(cell.comm)) return fault_of_wait(cell, progress);
    if (is_exchange(cell.comm)) return fault_of_exchange(cell, progress);
    if (cell.comm == Comm::reduce_grad) return fault_of_reduction(cell, progress);
    const auto tensor = crossing_of(cell, placement_);
    if (!tensor) {
      return fmt::format("{} has no partner: the neighbour of stage {} is not on another rank",
                         text(cell), index(cell.stage));
    }
    const bool receives = is_receive(cell.comm);
    if (receives) {
      progress.received.insert(*tensor);
    } else if (!progress.made.contains(*tensor)) {
      return fmt::format("{} sends a tensor that its rank has not computed yet", text(cell));
    }
    const CommCell partner = receives ? send_of(*tensor) : bringer_of(*tensor);
    if (comms_.contains(key_of(partner))) return {};
    return fmt::format("{} has no {} on rank {}", text(cell), text(partner),
                       index(placement_.rank_of(partner.stage)));
  }

  std::string fault_of_exchange(const CommCell& cell, Progress& progress) const {
    const auto tensor = crossing_of(cell, placement_);
    if (!tensor) {
      return fmt::format("{} has no reader: the neighbour of stage {} is not on its rank",
                         text(cell), index(cell.stage));
    }
    progress.received.insert(*tensor);
    if (progress.made.contains(*tensor)) return {};
    return fmt::format("{} exchanges a tensor that its rank has not computed yet", text(cell));
  }

  static std::string fault_of_wait(const CommCell& cell, Progress& progress) {
    const CommCell before = waited_for(cell);
    if (cell.comm == Comm::wait_reduce_grad) progress.reducing.reset();
    if (progress.done.contains(key_of(before))) return {};
    return fmt::format("{} has no {} before it", text(cell), text(before));
  }

  std::string fault_of_reduction(const CommCell& cell, Progress& progress) const {
    if (has_waits_ && progress.reducing) {
      return fmt::format("{} comes before {}WAIT_REDUCE_GRAD; a rank reduces one stage at a time",
                         text(cell), index(*progress.reducing));
    }
    progress.reducing = cell.stage;
    if (progress.backwards_left[cell.stage] == 0) return {};
    return fmt::format("{} comes before the last backward of its stage", text(cell));
  }

  static std::string fault_of_weights(const CommCell& cell, Progress& progress) {
    const bool gathered = progress.gathered.contains(cell.stage);
    if ((cell.comm == Comm::unshard) == gathered) {
      return fmt::format("{}: the weights of stage {} are {}", text(cell), index(cell.stage),
                         gathered ? "gathered already" : "not gathered");
    }
    if (gathered) {
      progress.gathered.erase(cell.stage);
    } else {
      progress.gathered.insert(cell.stage);
    }
    return {};
  }

  const OrderFile& order_;
  const Placement& placement_;
  std::vector<std::vector<Cell>> rows_;
  std::set<CommKey> comms_;
  std::set<Stage> exchanges_;  // whose output is exchanged
  bool only_exchanges_;        // other tensors move as they are there
  bool has_waits_ = false;     // then every SEND and REDUCE_GRAD has one
  bool has_reductions_ = false;
};

}  // namespace

std::optional<CellFault> find_comms_fault(const OrderFile& order, const Placement& placement) {
  auto fault = find_comms_fault_in_rows(order, placement);
  return fault ? fault : find_comm_deadlock(order.comms, placement);
}

std::optional<CellFault> find_comms_fault_in_rows(const OrderFile& order,
                                                  const Placement& placement) {
  return Check(order, placement).run();
}

void require_sound_comms(const OrderFile& order, const Placement& placement,
                         Communicating communication) {
  if (order.compute_only()) return;
  const bool written = communication == Communicating::written;
  const auto fault =
      written ? find_comms_fault_in_rows(order, placement) : find_comms_fault(order, placement);
  if (fault) throw OrderError(fault->rank, fault->column, fault->text);
}

std::string untimed_comms_note(const OrderFile& order) {
  std::ptrdiff_t cells = 0;
  for (const auto& row : order.comms) {
    cells +=
        std::ranges::count_if(row, [](const CommCell& cell) { return !is_exchange(cell.comm); });
  }
  if (cells == 0) return {};
  return fmt::format(
      "the order's {} checked for deadlock and not timed: a transfer starts as soon as its data "
      "and link are ready, wherever SEND and RECV are, so a RECV posted early holds up nothing",
      cells == 1 ? "communication cell is" : fmt::format("{} communication cells are", cells));
}

}  // namespace penstock
