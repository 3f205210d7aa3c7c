#include "experiments/measure/measured_runs/iterations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
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

/// The forwards that a step without number may begin with, of those that all ops of a step follow:
/// no microbatch is under way on a stage there.
std::set<ActionKey> possible_begins(const std::vector<MeasuredOp>& ops) {
  std::set<ActionKey> all;
  for (const MeasuredOp& op : ops) all.insert(key_of(op.action));
  std::set<ActionKey> begins;
  std::set<std::pair<Stage, Microbatch>> under_way;
  for (std::size_t at = ops.size(); at-- > 0;) {
    const Action& action = ops[at].action;
    const std::pair of(action.stage, action.microbatch);
    if (action.pass == Pass::forward) {
      under_way.erase(of);
    } else {
      under_way.insert(of);
    }
    if (under_way.empty() && ops.size() - at >= all.size()) begins.insert(key_of(action));
  }
  return begins;
}

/// By rank, the forward that its steps without number begin with. Of several, that of the
/// microbatch that steps of another rank begin with, or else of the lowest one.
std::vector<std::optional<ActionKey>> begins_of(const std::vector<TracedRank>& ranks) {
  std::vector<std::set<ActionKey>> possible;
  for (const TracedRank& rank : ranks) possible.push_back(possible_begins(rank.ops.ops));
  const auto sure = std::ranges::find_if(possible, [](const auto& of) { return of.size() == 1; });
  std::optional<Microbatch> known;
  if (sure != possible.end()) known = std::get<Microbatch>(*sure->begin());
  std::vector<std::optional<ActionKey>> begins(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (possible[rank].empty()) continue;
    begins[rank] = *std::ranges::min_element(possible[rank], {}, [&](const ActionKey& key) {
      const auto microbatch = std::get<Microbatch>(key);
      return std::tuple(microbatch != known, microbatch, std::get<Stage>(key));
    });
  }
  return begins;
}

/// A rank's ops by iteration. Without steps, one begins with its first forward, and where an op
/// repeats.
OpsByNumber by_number(const TracedRank& rank, const std::optional<ActionKey>& begin) {
  OpsByNumber all;
  std::set<ActionKey> seen;
  std::uint32_t count = 0;
  for (const MeasuredOp& op : rank.ops.ops) {
    const ActionKey key = key_of(op.action);
    if (!op.step && !seen.empty() && (key == begin || seen.contains(key))) {
      seen.clear();
      ++count;
    }
    seen.insert(key);
    all[op.step.value_or(count)].push_back(op);
  }
  return all;
}

/// The middles of the iterations that have the most ops, by number.
std::map<std::uint32_t, std::int64_t> middles_of(const OpsByNumber& all) {
  std::size_t most = 0;
  for (const auto& iteration : all) most = std::max(most, iteration.second.size());
  std::map<std::uint32_t, std::int64_t> middles;
  for (const auto& [number, ops] : all) {
    if (ops.size() < most) continue;
    middles[number] = std::midpoint(ops.front().span.begin_ns, ops.back().span.end_ns);
  }
  return middles;
}

/// By how much the number of an iteration of `first` is larger than that of the one of `own` which
/// is nearest in time.
std::int64_t numbers_behind(const OpsByNumber& first, const OpsByNumber& own) {
  const std::map<std::uint32_t, std::int64_t> middles = middles_of(first);
  std::int64_t least_ns = INT64_MAX;
  std::int64_t behind = 0;
  for (const auto& [number, middle_ns] : middles_of(own)) {
    for (const auto& [of_first, of_first_ns] : middles) {
      const std::int64_t apart_ns = std::abs(middle_ns - of_first_ns);
      if (apart_ns >= least_ns) continue;
      least_ns = apart_ns;
      behind = static_cast<std::int64_t>(of_first) - number;
    }
  }
  return behind;
}

/// Numbers the iterations of each rank as those of the first one, by time.
void number_by_time(std::vector<OpsByNumber>& all) {
  std::vector<std::int64_t> behind;
  for (const OpsByNumber& own : all) behind.push_back(numbers_behind(all.front(), own));
  const std::int64_t least = std::ranges::min(behind);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    OpsByNumber numbered;
    for (auto& [number, ops] : all[rank]) {
      numbered[static_cast<std::uint32_t>(number + behind[rank] - least)] = std::move(ops);
    }
    all[rank] = std::move(numbered);
  }
}

/// Ops by rank and iteration. Where a trace without steps begins within one, others may have left
/// that step, or not have begun it; elsewhere they count steps from the same one.
std::vector<OpsByNumber> by_number(const std::vector<TracedRank>& ranks) {
  std::vector<std::optional<ActionKey>> begins(ranks.size());
  if (!has_steps(ranks.front())) begins = begins_of(ranks);
  std::vector<OpsByNumber> all;
  bool within_step = false;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    all.push_back(by_number(ranks[rank], begins[rank]));
    const ActionKey first = key_of(ranks[rank].ops.ops.front().action);
    within_step = within_step || (begins[rank] && first != begins[rank]);
  }
  if (within_step) number_by_time(all);
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
      const auto& broken = ranks[rank].ops.broken_steps;
      if (std::ranges::count(broken, number, &BrokenStep::number) > 0) continue;  // it says why
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
