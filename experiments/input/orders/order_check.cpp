#include "experiments/input/orders/order_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>
#include <variant>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/comms_check.hpp"
#include "sim/order/order_fault.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/comm_rows.hpp"
#include "sim/plan/lower.hpp"
#include "sim/report/memory.hpp"

namespace penstock {
namespace {

std::string placement_name(const Placement& placement) {
  const std::uint32_t ranks = placement.ranks();
  const std::uint32_t chunks = placement.stage_count() / ranks;
  if (chunks == 0) return "given";
  if (placement == Placement::loop(ranks, chunks)) return "loop";
  if (placement == Placement::vee(ranks, chunks)) return "v";
  if (placement == Placement::bidirectional(ranks)) return "bidirectional";
  return "given";
}

/// The first cell in a cycle of ranks that wait for each other.
CellFault deadlock_fault(const OrderFile& order, const Deadlock& deadlock) {
  const Wait& first = deadlock.circle.front();
  if (const auto* comm = std::get_if<CommCell>(&first.cell)) {
    return {index(first.rank), comm->column, text(deadlock)};
  }
  const Action& action = std::get<Action>(first.cell);
  const auto& row = order.schedule.on(first.rank);
  std::uint32_t place = 0;
  for (std::uint32_t i = 0; i < row.size(); ++i) {
    const bool same = row[i].pass == action.pass && row[i].stage == action.stage &&
                      row[i].microbatch == action.microbatch;
    if (same) place = i;
  }
  return {index(first.rank), column_of(order, first.rank, place), text(deadlock)};
}

/// Why the runtime stops with FSDP stages: the first UNSHARD of weights that no action uses; "" if
/// it does not.
std::string why_stopped_with_fsdp(const OrderFile& order) {
  for (std::uint32_t rank = 0; rank < order.comms.size(); ++rank) {
    const auto& row = order.comms[rank];
    const auto unused = unused_gathers(row, order.schedule.on(Rank{rank}));
    if (unused.empty()) continue;
    const auto [unshard, reshard] = unused.front();
    return fmt::format(
        "PyTorch stops with FSDP stages: {} in row {}, column {} gathers weights that no action "
        "uses before {}",
        text(row[unshard]), rank, row[unshard].column,
        reshard ? fmt::format("{}: remove both", text(row[*reshard]))
                : "the end of the row: remove it");
  }
  return "";
}

/// Which releases of PyTorch load an order without a fault, and why others do not.
void add_torch_facts(const OrderFile& order, const Placement& placement, OrderFacts& facts) {
  facts.fsdp_note = why_stopped_with_fsdp(order);
  facts.torch_note = why_rejected(order.comms, std::nullopt);
  if (facts.torch_note.empty()) facts.torch_note = why_not_loadable(order.schedule, placement);
  if (order.byte_order_mark) {
    facts.torch_note = "it takes the byte order mark for a part of the first cell; save it without";
  }
  if (!facts.torch_note.empty()) return;
  if (order.compute_only()) {
    facts.torch.assign(torch_versions.begin(), torch_versions.end());
    return;
  }
  const bool waits = any_cell(order.comms, is_wait);
  const bool reduces = any_cell(order.comms, [](Comm comm) { return comm == Comm::reduce_grad; });
  if (!reduces) {
    facts.torch_note =
        "without REDUCE_GRAD, 2.14 and later do not divide gradients by the number of microbatches";
  }
  if (waits && reduces) facts.torch = {TorchVersion::v2_15};
  if (!waits) facts.torch = {reduces ? TorchVersion::v2_14 : TorchVersion::v2_9};
}

/// A sound order is at fault for a release that does not load it, or does not train it right.
std::optional<CellFault> release_fault(TorchVersion torch, const OrderFile& order,
                                       const OrderFacts& facts) {
  if (std::ranges::find(facts.torch, torch) != facts.torch.end()) return {};
  std::string why = why_rejected(order.comms, torch);
  if (why.empty()) why = facts.torch_note;
  std::string text = fmt::format("PyTorch {} does not train it: {}", name(torch), why);
  for (const TorchVersion other : facts.torch) text += fmt::format("; {} does", name(other));
  return CellFault{0, 0, text};
}

/// The first RECV that takes another tensor than its own. PyTorch's runtime gives tensors no tags:
/// those that a rank sends to another match the RECVs there in the order of both.
std::optional<CellFault> mixed_up(const std::vector<std::vector<CommCell>>& rows,
                                  const Placement& placement) {
  std::map<std::pair<Rank, Rank>, std::deque<CommCell>> sent;
  const auto ends = [&](const CommCell& cell) {
    const Crossing crossing = *crossing_of(cell, placement);
    return std::pair(placement.rank_of(crossing.sender, cell.microbatch),
                     placement.rank_of(crossing.receiver, cell.microbatch));
  };
  for (const auto& row : rows) {
    for (const CommCell& cell : row) {
      if (is_send(cell.comm)) sent[ends(cell)].push_back(cell);
    }
  }
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    for (const CommCell& cell : rows[rank]) {
      if (!is_receive(cell.comm)) continue;
      auto& in_order = sent.at(ends(cell));
      const CommCell& send = in_order.front();
      const Crossing taken = *crossing_of(send, placement), own = *crossing_of(cell, placement);
      if (send.microbatch != cell.microbatch || taken.gradient != own.gradient ||
          taken.receiver != own.receiver) {
        return CellFault{
            rank, cell.column,
            fmt::format("{} of rank {} takes what {} of rank {} sends: tensors between "
                        "two ranks match in the order of their cells",
                        text(cell), rank, text(send), index(ends(send).first))};
      }
      in_order.pop_front();
    }
  }
  return std::nullopt;
}

/// What the runtime of a release does with a sound order, for each kind of streams that it may use.
std::vector<StreamVerdict> stream_verdicts(const OrderFile& order, const Placement& placement,
                                           TorchVersion torch) {
  constexpr std::array<std::pair<std::string_view, CommStreams>, 3> kinds{
      {{"NCCL", CommStreams::pair},
       {"NCCL with one communicator (device_id given)", CommStreams::rank},
       {"gloo", CommStreams::message}}};
  Extras extras;
  extras.communication.rows = order.comms;
  if (order.compute_only()) {
    const std::string lowered = write_torch_comms(order.schedule, placement, {torch, false});
    extras.communication.rows = read_torch_csv(lowered).comms;
  }
  std::vector<StreamVerdict> verdicts;
  for (const auto& [where, streams] : kinds) {
    extras.communication.streams = streams;
    StreamVerdict& verdict = verdicts.emplace_back(StreamVerdict{where, std::nullopt});
    const auto plan = lower(order.schedule, placement, Overlap::serial, extras);
    if (const auto* deadlock = std::get_if<Deadlock>(&plan)) {
      verdict.fault = deadlock_fault(order, *deadlock);
    } else {
      verdict.fault = mixed_up(extras.communication.rows, placement);
    }
  }
  return verdicts;
}

/// The streams over which an order with a deadlock runs all the same.
std::string streams_hint(const OrderFile& order, const Placement& placement) {
  if (any_cell(order.comms, is_exchange)) return {};
  Extras extras;
  extras.communication.rows = order.comms;
  std::vector<std::string_view> runs;
  for (std::size_t streams = 0; streams < comm_stream_names.size(); ++streams) {
    extras.communication.streams = CommStreams{static_cast<std::uint8_t>(streams)};
    const auto plan = lower(order.schedule, placement, Overlap::serial, extras);
    if (std::holds_alternative<Plan>(plan)) runs.push_back(comm_stream_names[streams]);
  }
  if (runs.empty()) return {};
  return fmt::format("; it runs with /schedule/communication=written and /schedule/streams={}",
                     fmt::join(runs, " or "));
}

/// Checks the communication of an order whose actions are sound.
void check_comms(const OrderFile& order, const Placement& placement,
                 std::optional<TorchVersion> torch, OrderCheck& check) {
  if (!order.compute_only()) {
    check.fault =
        torch ? find_comms_fault_in_rows(order, placement) : find_comms_fault(order, placement);
    const bool deadlock = check.fault && !find_comms_fault_in_rows(order, placement);
    if (deadlock) check.fault->text += streams_hint(order, placement);
  }
  if (check.fault || !torch || any_cell(order.comms, is_exchange)) return;
  if (!why_not_loadable(order.schedule, placement).empty()) return;
  check.streams = stream_verdicts(order, placement, *torch);
  check.fault = check.streams.front().fault;
}

/// The stages of each rank; 0 where ranks have unequal numbers.
std::uint32_t chunks_of(const Placement& placement) {
  const std::size_t first = placement.stages_of(Rank{0}).size();
  for (std::uint32_t rank = 1; rank < placement.ranks(); ++rank) {
    if (placement.stages_of(Rank{rank}).size() != first) return 0;
  }
  return static_cast<std::uint32_t>(first);
}

/// The first fault of a readable order, or its facts.
OrderCheck check_content(const OrderFile& order, const Placement& placement,
                         std::optional<TorchVersion> torch) {
  if (const auto fault = find_order_fault(order.schedule, placement)) {
    return {
        CellFault{index(fault->rank), column_of(order, fault->rank, fault->action), fault->text},
        std::nullopt};
  }
  const auto lowered = lower(order.schedule, placement);
  if (const auto* deadlock = std::get_if<Deadlock>(&lowered)) {
    return {deadlock_fault(order, *deadlock), std::nullopt};
  }
  OrderCheck check;
  check_comms(order, placement, torch, check);
  if (check.fault) return check;
  OrderFacts facts{placement.ranks(),
                   placement.stage_count(),
                   chunks_of(placement),
                   MicrobatchColumns(order.schedule).count(),
                   placement_name(placement),
                   !order.compute_only(),
                   peak_activations(std::get<Plan>(lowered))};
  add_torch_facts(order, placement, facts);
  facts.timing_note = untimed_comms_note(order);
  if (torch) check.fault = release_fault(*torch, order, facts);
  check.facts = std::move(facts);
  return check;
}

}  // namespace

std::string why_rejected(const std::vector<std::vector<CommCell>>& comms,
                         std::optional<TorchVersion> version) {
  if (any_cell(comms, is_exchange)) {
    return "PyTorch has no EXCHANGE: its stages exchange tokens inside their passes";
  }
  if (!version) return "";
  const bool waits = any_cell(comms, is_wait);
  const bool reduces = any_cell(comms, [](Comm comm) { return comm == Comm::reduce_grad; });
  if (waits && !has_waits(*version)) return "waits have cells from 2.15 on";
  if (reduces && !has_reduce_grad(*version)) return "REDUCE_GRAD has cells from 2.14 on";
  if (has_waits(*version) && !waits && (reduces || any_cell(comms, is_send))) {
    return "there each SEND and REDUCE_GRAD has a wait";
  }
  return "";
}

OrderCheck check_order(std::string_view text, const std::vector<std::vector<Stage>>& chains,
                       std::optional<TorchVersion> torch) {
  OrderFile order;
  try {
    order = read_torch_csv(text);
    placement_of(order, {});  // refuses faults that do not depend on the chains
  } catch (const OrderError& error) {
    return {CellFault{error.rank(), error.column(), error.what()}, std::nullopt};
  } catch (const InputError& error) {
    return {CellFault{0, 0, error.what()}, std::nullopt};
  }
  const Placement placement = placement_of(order, chains);
  OrderCheck check = check_content(order, placement, torch);
  if (chains.empty() && placement.chains().size() > 1) check.inferred_chains = placement.chains();
  return check;
}

}  // namespace penstock
