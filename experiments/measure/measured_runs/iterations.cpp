#include "experiments/measure/measured_runs/iterations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/comms_check.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"
#include "sim/order/order_fault.hpp"

namespace penstock {
namespace {

using OpsByNumber = std::map<std::uint32_t, std::vector<MeasuredOp>>;

bool has_steps(const TracedRank& rank) {
  return !rank.ops.ops.empty() && rank.ops.ops.front().step.has_value();
}

/// Whether a trace without steps begins within one: it lacks the forward of a later pass.
bool begins_within_step(const TracedRank& rank) {
  std::set<std::pair<Stage, Microbatch>> forwards;
  return std::ranges::any_of(rank.ops.ops, [&](const MeasuredOp& op) {
    const std::pair of(op.action.stage, op.action.microbatch);
    if (op.action.pass == Pass::forward) forwards.insert(of);
    return !op.step && !forwards.contains(of);
  });
}

/// A rank's ops by iteration. Without steps, one begins where an op repeats, and if traces begin
/// `within` one, also where the microbatches of a stage start over.
OpsByNumber by_number(const TracedRank& rank, bool within) {
  OpsByNumber all;
  std::set<ActionKey> seen;
  std::map<Stage, Microbatch> reached;
  std::uint32_t count = 0;
  for (const MeasuredOp& op : rank.ops.ops) {
    if (op.step) {
      all[*op.step].push_back(op);
      continue;
    }
    const Microbatch microbatch = op.action.microbatch;
    const auto latest = reached.find(op.action.stage);
    const bool starts_over = within && op.action.pass == Pass::forward && latest != reached.end() &&
                             microbatch <= latest->second;
    if (starts_over || seen.contains(key_of(op.action))) {
      seen.clear();
      reached.clear();
      ++count;
    }
    seen.insert(key_of(op.action));
    Microbatch& furthest = reached.try_emplace(op.action.stage, microbatch).first->second;
    furthest = std::max(furthest, microbatch);
    all[count].push_back(op);
  }
  return all;
}

/// Where traces begin within a step, one rank may have left it that another is still in: its first
/// iteration is then the second one of `other`, in which most of it lies.
void number_as(const OpsByNumber& other, OpsByNumber& own) {
  const auto second = other.find(1);
  if (second == other.end()) return;
  const std::vector<MeasuredOp>& first = own.at(0);
  const std::int64_t middle_ns =
      std::midpoint(first.front().span.begin_ns, first.back().span.end_ns);
  if (middle_ns < second->second.front().span.begin_ns) return;
  OpsByNumber later;
  for (auto& [number, ops] : own) later[number + 1] = std::move(ops);
  own = std::move(later);
}

std::vector<OpsByNumber> by_number(const std::vector<TracedRank>& ranks) {
  const auto within = std::ranges::find_if(ranks, begins_within_step);
  std::vector<OpsByNumber> all;
  for (const TracedRank& rank : ranks) all.push_back(by_number(rank, within != ranks.end()));
  if (within == ranks.end()) return all;
  const auto other = static_cast<std::size_t>(within - ranks.begin());
  for (OpsByNumber& own : all) number_as(all[other], own);
  return all;
}

using CommsByNumber = std::map<std::uint32_t, std::vector<IssuedComm>>;

/// What a rank's host issued, by iteration; nothing where steps have no numbers.
CommsByNumber comms_by_number(const TracedRank& rank) {
  CommsByNumber all;
  for (const IssuedComm& comm : rank.ops.comms) {
    if (comm.step) all[*comm.step].push_back(comm);
  }
  return all;
}

/// The same of an iteration as cells of a row, with its ops between them.
std::vector<CommCell> cells_of(const std::vector<IssuedComm>& comms,
                               const std::vector<MeasuredOp>& ops) {
  std::vector<CommCell> cells;
  std::uint32_t before = 0;
  for (const IssuedComm& issued : comms) {
    while (before < ops.size() && ops[before].span.begin_ns <= issued.at_ns) ++before;
    CommCell& cell = cells.emplace_back(issued.cell);
    cell.before = before;
    cell.column = before + static_cast<std::uint32_t>(cells.size()) - 1;
  }
  return cells;
}

void check_steps(const std::vector<TracedRank>& ranks) {
  for (const TracedRank& rank : ranks) {
    if (rank.ops.ops.empty()) {
      throw InputError(fmt::format(
          "{}: none of its ops is whole{}", rank.source,
          rank.ops.outside_steps > 0 ? "; they lie outside of its ProfilerStep# annotations" : ""));
    }
    if (has_steps(rank) == has_steps(ranks.front())) continue;
    throw InputError(fmt::format(
        "{}: it has {} ProfilerStep# annotations, and {} has {}; all ranks or none must",
        rank.source, has_steps(rank) ? "" : "no", ranks.front().source,
        has_steps(rank) ? "none" : "some"));
  }
}

/// Each microbatch runs through all stages of a chain. Numbers that no complete order can have
/// would only waste memory.
void check_numbers(const RunIteration& iteration) {
  std::uint64_t ops = 0;
  std::uint64_t stages = 0;
  std::uint64_t microbatches = 0;
  for (const auto& rank : iteration.ops) {
    ops += rank.size();
    for (const MeasuredOp& op : rank) {
      stages = std::max<std::uint64_t>(stages, index(op.action.stage) + 1);
      microbatches = std::max<std::uint64_t>(microbatches, index(op.action.microbatch) + 1);
    }
  }
  const bool can_be = stages <= std::min<std::uint64_t>(ops, Limits::stages) &&
                      microbatches <= std::min<std::uint64_t>(ops, Limits::microbatches) &&
                      stages * microbatches <= ops * Limits::chains;
  if (can_be) return;
  throw InputError(
      fmt::format("it has {}, and among them stage {} and microbatch {}: too few for all; both "
                  "count from 0 without gaps",
                  counted(ops, "op"), stages - 1, microbatches - 1));
}

Schedule schedule_of(const RunIteration& iteration) {
  Schedule schedule(static_cast<std::uint32_t>(iteration.ops.size()));
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const MeasuredOp& op : iteration.ops[index(rank)]) {
      schedule.on(rank).push_back(op.action);
    }
  }
  return schedule;
}

void check_stages(const Schedule& schedule, const Placement& placement) {
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const Action& action : schedule.on(rank)) {
      if (index(action.stage) < placement.stage_count()) continue;
      throw InputError(fmt::format("{} ran on rank {}, but the run has {}", text(action),
                                   index(rank), counted(placement.stage_count(), "stage")));
    }
  }
}

Placement placement_seen(const Schedule& schedule) {
  OrderFile order;
  order.schedule = schedule;
  order.column.resize(schedule.ranks());
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (std::uint32_t i = 0; i < schedule.on(rank).size(); ++i) {
      order.column[index(rank)].push_back(i);
    }
  }
  try {
    return placement_of(order, {});
  } catch (const OrderError& error) {  // a stage on two ranks
    throw InputError(fmt::format(
        "{}; data replicas have one in each: --pipeline-ranks \"0,2;1,3\" lists their ranks",
        error.what()));
  }
}

/// Whether a schedule rule produces this order at these sizes.
bool makes(const ScheduleEntry& entry, const SeenOrder& order) {
  ScheduleOptions options;
  options.microbatch_count = microbatches_of(order.schedule);
  const std::uint32_t ranks = order.schedule.ranks();
  try {
    const Placement placement = entry.place(ranks, order.placement.stage_count() / ranks);
    return placement == order.placement &&
           make_schedule(entry, placement, options) == order.schedule;
  } catch (const RuleError&) {
    return false;  // the rule does not support these sizes
  }
}

}  // namespace

std::vector<RunIteration> iterations_of(const std::vector<TracedRank>& ranks,
                                        std::vector<std::string>& left_out) {
  check_steps(ranks);
  std::vector<OpsByNumber> all = by_number(ranks);
  std::vector<CommsByNumber> comms;
  std::set<std::uint32_t> numbers;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    comms.push_back(comms_by_number(ranks[rank]));
    for (const auto& iteration : all[rank]) numbers.insert(iteration.first);
  }
  std::vector<RunIteration> iterations;
  for (const std::uint32_t number : numbers) {
    const auto lacks =
        std::ranges::find_if(all, [&](const OpsByNumber& rank) { return !rank.contains(number); });
    if (lacks != all.end()) {
      const auto rank = static_cast<std::size_t>(lacks - all.begin());
      if (!ranks[rank].ops.broken_steps.empty()) continue;  // these say why
      left_out.push_back(fmt::format("step {}: rank {} has no op of it", number, rank));
      continue;
    }
    RunIteration iteration{number, {}};
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      std::vector<MeasuredOp>& ops = all[rank].at(number);
      iteration.comms.push_back(cells_of(comms[rank][number], ops));
      iteration.ops.push_back(std::move(ops));
    }
    iterations.push_back(std::move(iteration));
  }
  return iterations;
}

SeenOrder order_of(const RunIteration& iteration, const Placement* placement) {
  check_numbers(iteration);
  SeenOrder order{schedule_of(iteration), {}};
  if (placement != nullptr) check_stages(order.schedule, *placement);
  order.placement = placement != nullptr ? *placement : placement_seen(order.schedule);
  if (const auto fault = find_order_fault(order.schedule, order.placement)) {
    throw InputError(fmt::format("rank {}: {}", index(fault->rank), fault->text));
  }
  return order;
}

std::variant<Communication, std::string> communication_of(const RunIteration& iteration,
                                                          const SeenOrder& order) {
  OrderFile file{.schedule = order.schedule, .column = {}, .comms = iteration.comms, .blank = {}};
  for (std::size_t rank = 0; rank < iteration.comms.size(); ++rank) {
    std::uint32_t issued = 0;
    auto& columns = file.column.emplace_back();
    const auto& comms = iteration.comms[rank];
    for (std::uint32_t op = 0; op < iteration.ops[rank].size(); ++op) {
      while (issued < comms.size() && comms[issued].before <= op) ++issued;
      const bool follows = op > 0 && iteration.ops[rank][op - 1].action.with_next;
      columns.push_back(follows ? columns.back() : op + issued);
    }
  }
  if (file.compute_only()) return Communication{};
  if (const auto fault = find_comms_fault(file, order.placement)) {
    return fmt::format("rank {}: {}", fault->rank, fault->text);
  }
  return Communication{
      .streams = CommStreams::message, .receives_hold = false, .rows = iteration.comms};
}

std::uint32_t microbatches_of(const Schedule& schedule) {
  std::uint32_t count = 0;
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const Action& action : schedule.on(rank)) {
      count = std::max(count, index(action.microbatch) + 1);
    }
  }
  return count;
}

std::optional<std::string> known_order(const SeenOrder& order) {
  const std::uint32_t ranks = order.schedule.ranks();
  const std::uint32_t stages = order.placement.stage_count();
  if (stages % ranks != 0) return std::nullopt;
  std::optional<std::string> found;
  for (const ScheduleEntry* entry : schedule_entries()) {
    const bool usual = entry->default_chunks * ranks == stages;
    if ((found && !usual) || !makes(*entry, order)) continue;
    found = entry->name;
    if (usual) break;
  }
  return found;
}

std::string order_difference(const Schedule& seen, const NamedOrder& named) {
  if (seen.ranks() != named.schedule.ranks()) return "it has other ranks";
  for (Rank rank : Numbers<Rank>(seen.ranks())) {
    const auto& ran = seen.on(rank);
    const auto& asked = named.schedule.on(rank);
    const std::size_t size = std::max(ran.size(), asked.size());
    for (std::size_t i = 0; i < size; ++i) {
      const std::string a = i < ran.size() ? text(ran[i]) : "nothing";
      const std::string b = i < asked.size() ? text(asked[i]) : "nothing";
      if (a != b) {
        return fmt::format("rank {} ran {} as action {}, where it has {}", index(rank), a, i, b);
      }
    }
  }
  return "";
}

}  // namespace penstock
