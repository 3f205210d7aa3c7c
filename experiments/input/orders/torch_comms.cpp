#include "experiments/input/orders/torch_comms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/python_set.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// A cell of a lowered row: actions of the order (two if they overlap), or communication.
struct LoweredCell {
  std::vector<Action> actions;
  std::optional<CommCell> comm;
};

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
      if (full || std::ranges::find(ahead, action.stage) != ahead.end()) continue;
      ahead.push_back(action.stage);
    }
  }
  return ahead;
}

/// "2F0", "(1F1;1B0)OVERLAP_F_B", "1RECV_F3".
std::string text(const LoweredCell& cell) {
  if (cell.comm) return text(*cell.comm);
  if (cell.actions.size() == 1) return text(cell.actions.front());
  return fmt::format("({};{})OVERLAP_F_B", text(cell.actions[0]), text(cell.actions[1]));
}

LoweredCell comm_cell(Comm comm, Stage stage, Microbatch microbatch = {}) {
  return {{}, CommCell{comm, stage, microbatch, 0}};
}

/// The cells of a rank's actions. Throws RuleError for an action outside of PyTorch's notation.
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

/// UNSHARD ahead of the use of a stage's weights, and RESHARD when it is not among the next stages.
std::vector<LoweredCell> with_sharding(const std::vector<LoweredCell>& cells,
                                       TorchVersion version) {
  std::vector<LoweredCell> all;
  Gathered gathered(version);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::vector<Stage> ahead = stages_ahead(cells, i, version);
    for (const Stage stage : gathered.list()) {
      if (std::ranges::find(ahead, stage) != ahead.end()) continue;
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

/// Each overlap cell as its two parts, as 2.9 runs it.
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

/// REDUCE_GRAD, with its wait where the version has one, after the cell with the last backward of a
/// stage.
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

/// WAIT_SEND of an activation after the backward of its microbatch, of all other sends at the end.
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
    return std::ranges::all_of(cell.actions, [&](const Action& action) {
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

/// The runtime appends a loss at each forward of the last stage; a backward takes the loss at the
/// place of its microbatch. "" where these are the same.
std::string why_losses_mix(const Schedule& schedule, const Placement& placement) {
  std::uint32_t next = 0;
  for (const Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const Action& action : schedule.on(rank)) {
      if (action.pass != Pass::forward || placement.after(action.stage)) continue;
      if (index(action.microbatch) == next++) continue;
      return fmt::format(
          "{} of rank {} comes before {}F{}, and PyTorch's runtime takes losses in the order of "
          "microbatches: put the forwards of stage {} in ascending order",
          text(action), index(rank), index(action.stage), next - 1, index(action.stage));
    }
  }
  return "";
}

/// The first stage that several rows run; none where each has a rank of its own.
std::optional<Stage> shared_stage(const Schedule& schedule) {
  std::map<Stage, Rank> ranks;
  for (const Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const Action& action : schedule.on(rank)) {
      if (ranks.try_emplace(action.stage, rank).first->second != rank) return action.stage;
    }
  }
  return std::nullopt;
}

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

std::string_view name(TorchVersion version) {
  constexpr std::array<std::string_view, torch_versions.size()> names{"2.9", "2.14", "2.15"};
  return names[static_cast<std::size_t>(version)];
}

std::optional<TorchVersion> torch_version(std::string_view text) {
  for (const TorchVersion version : torch_versions) {
    if (text == name(version) || text.starts_with(fmt::format("{}.", name(version)))) {
      return version;
    }
  }
  return std::nullopt;
}

std::string unknown_torch(std::string_view text) {
  return fmt::format(
      "{}: no lowering is known for this release of PyTorch; known: 2.9, 2.14, 2.15; compute-only "
      "orders load in all",
      text);
}

std::string why_not_loadable(const Schedule& schedule, const Placement& placement) {
  if (placement.chains().size() > 1) {
    return fmt::format(
        "it trains {} copies of the model, and PyTorch's runtime has one chain of stages",
        placement.chains().size());
  }
  if (!schedule.has_backward()) {
    return "it has no backwards, and PyTorch's loader requires one for each microbatch and stage";
  }
  for (const Rank rank : Numbers<Rank>(schedule.ranks())) {
    if (!schedule.on(rank).empty()) continue;
    return fmt::format("rank {} has no actions, and PyTorch's loader requires some on every rank",
                       index(rank));
  }
  const MicrobatchColumns columns(schedule);
  for (std::uint32_t number = 0; number < columns.count(); ++number) {
    if (columns.microbatch_at(number) == Microbatch{number}) continue;
    return fmt::format("microbatch {} is missing, and PyTorch's runtime numbers them from 0 on",
                       number);
  }
  return why_losses_mix(schedule, placement);
}

std::string why_trained_otherwise(std::uint32_t slices, WeightUse weights) {
  if (slices > 1) {
    return fmt::format("the {} slices of a sequence would run as microbatches of their own",
                       slices);
  }
  if (weights != WeightUse::flushed) {
    return "weights would change once, at the end of the iteration, and not within it";
  }
  return "";
}

std::string why_not_trained(const Schedule& schedule, const Placement& placement,
                            std::uint32_t slices, WeightUse weights) {
  const std::string why = why_not_loadable(schedule, placement);
  return why.empty() ? why_trained_otherwise(slices, weights) : why;
}

std::string lost_text(const Schedule& schedule, const std::vector<std::string>& left_out,
                      std::uint32_t slices, WeightUse weights) {
  std::vector<std::string> lost;
  if (!left_out.empty()) {
    lost.push_back(fmt::format("left out {}, since the notation cannot carry them: {} …",
                               counted(left_out.size(), "action"), left_out.front()));
  }
  if (const std::optional<Stage> shared = shared_stage(schedule)) {
    lost.push_back(fmt::format(
        "stage {} is in several rows, where readers expect a stage in one: its microbatches are "
        "divided among these ranks",
        index(*shared)));
  }
  const std::string otherwise = why_trained_otherwise(slices, weights);
  if (!otherwise.empty()) lost.push_back("without its rule, " + otherwise);
  return fmt::format("{}", fmt::join(lost, "; "));
}

}  // namespace penstock
