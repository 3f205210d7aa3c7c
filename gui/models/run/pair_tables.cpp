#include "gui/models/run/pair_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>

#include "experiments/show/pictures/lanes/timeline_picture.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/base/time_sum.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/idle_sums.hpp"

namespace penstock {
namespace {

std::int64_t size_of(Time time) { return std::llabs(time.picoseconds); }

/// The larger of what an op adds itself, if that is more than the tolerance; else the reason of the
/// comparison. Nothing if it has not moved.
std::optional<MovedBy> moved_by(const OpDifference& op, Time tolerance) {
  const std::int64_t length = size_of(op.duration());
  const std::int64_t wait = size_of(op.wait);
  if (std::max(length, wait) > tolerance.picoseconds) {
    return length >= wait ? MovedBy::length : MovedBy::wait;
  }
  switch (op.reason) {
    case Reason::none:
      return std::nullopt;
    case Reason::duration:
      return MovedBy::length;
    case Reason::wait:
      return MovedBy::wait;
    case Reason::input:
      return MovedBy::input;
    case Reason::before:
      return MovedBy::before;
    case Reason::order:
      return MovedBy::order;
    case Reason::place:
      return MovedBy::place;
  }
  return std::nullopt;
}

/// By how much: what it adds itself, or by how much it ends later.
Time moved_part(const OpDifference& op, MovedBy cause) {
  if (cause == MovedBy::length) return op.duration();
  return cause == MovedBy::wait ? op.wait : op.end;
}

std::vector<OpDifference> largest(std::vector<const OpDifference*>& ops, MovedBy cause,
                                  std::size_t most) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(most, ops.size()));
  std::partial_sort(ops.begin(), ops.begin() + count, ops.end(),
                    [&](const OpDifference* one, const OpDifference* other) {
                      return std::pair(size_of(moved_part(*other, cause)), one->task.a) <
                             std::pair(size_of(moved_part(*one, cause)), other->task.a);
                    });
  std::vector<OpDifference> found;
  for (auto op = ops.begin(); op != ops.begin() + count; ++op) found.push_back(**op);
  return found;
}

/// Time and number of the ops of a run by pass.
struct TimeByPass {
  std::array<TimeSum, pass_count> time{};
  std::array<std::uint64_t, pass_count> ops{};

  explicit TimeByPass(const ViewedRun& run) {
    std::vector<std::size_t> passes;
    for (const WorkClass& work : run.plan.classes) {
      passes.push_back(static_cast<std::size_t>(work.pass));
    }
    for (TaskId task = 0; task < run.plan.tasks(); ++task) {
      const Time length = run.timeline.end[task] - run.timeline.begin[task];
      if (length <= Time{}) continue;
      const std::size_t pass = passes[run.plan.work[task]];
      time[pass] += length;
      ++ops[pass];
    }
  }
};

std::vector<TwoAmounts> kinds_of(const ViewedRun& a, const ViewedRun& now) {
  // Ops with names have no kind.
  if (!a.plan.class_names.empty()) return {};
  const TimeByPass in_a(a);
  const TimeByPass its(now);
  std::vector<TwoAmounts> all;
  for (std::size_t p = 0; p < pass_count; ++p) {
    if (in_a.ops[p] + its.ops[p] == 0) continue;
    all.push_back({std::string(pass_name(static_cast<Pass>(p))), in_a.time[p].picoseconds,
                   its.time[p].picoseconds, in_a.ops[p], its.ops[p]});
  }
  return all;
}

std::vector<TwoAmounts> causes_of(const ViewedRun& a, const ViewedRun& now) {
  const IdleSums in_a = idle_of_all(a);
  const IdleSums its = idle_of_all(now);
  std::vector<TwoAmounts> all;
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    const auto cause = static_cast<IdleCause>(c);
    const TwoAmounts change{std::string(cause_name(a.plan, cause)),
                            time_of(in_a, cause).picoseconds, time_of(its, cause).picoseconds};
    if (change.in_a + change.now > 0) all.push_back(change);
  }
  return all;
}

/// What both runs have of each rank of either, unless that is nothing on all.
template <class Value>
std::vector<TwoAmounts> by_rank(const ViewedRun& a, const ViewedRun& now, Value value) {
  const auto of = [&](const ViewedRun& run, std::size_t rank) -> std::int64_t {
    return rank < run.report.ranks.size() ? value(run.report.ranks[rank]) : 0;
  };
  std::vector<TwoAmounts> all;
  const std::size_t ranks = std::max(a.report.ranks.size(), now.report.ranks.size());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    all.push_back({fmt::format("rank {}", rank), of(a, rank), of(now, rank)});
  }
  const bool any = std::any_of(all.begin(), all.end(), [](const TwoAmounts& change) {
    return change.in_a != 0 || change.now != 0;
  });
  return any ? all : std::vector<TwoAmounts>{};
}

std::vector<TwoAmounts> links_of(const ViewedRun& a, const ViewedRun& now) {
  if (is_recorded(a) != is_recorded(now)) return {};
  std::vector<TwoAmounts> all;
  std::map<std::string, std::size_t> place;
  const auto change_of = [&](const Link& link) -> TwoAmounts& {
    const auto [at, is_new] = place.emplace(text(link), all.size());
    if (is_new) all.push_back({at->first});
    return all[at->second];
  };
  for (const LinkReport& link : a.report.links) {
    TwoAmounts& change = change_of(link.link);
    change.in_a = link.busy.picoseconds;
    change.ops_in_a = link.transfers;
  }
  for (const LinkReport& link : now.report.links) {
    TwoAmounts& change = change_of(link.link);
    change.now = link.busy.picoseconds;
    change.ops_now = link.transfers;
  }
  return all;
}

}  // namespace

const char* name(MovedBy cause) {
  constexpr std::array<const char*, moved_by_count> names{
      "longer or shorter itself",   "another wait for host, memory or link",
      "another op before it",       "on another rank or link",
      "the op before it has moved", "an input has moved"};
  return names[static_cast<std::size_t>(cause)];
}

std::vector<MovedOps> moved_ops(const Comparison& comparison, std::size_t most) {
  std::array<std::vector<const OpDifference*>, moved_by_count> by_cause;
  for (const OpDifference& op : comparison.ops) {
    const auto cause = moved_by(op, comparison.tolerance);
    if (cause) by_cause[static_cast<std::size_t>(*cause)].push_back(&op);
  }
  std::vector<MovedOps> all;
  for (std::size_t c = 0; c < moved_by_count; ++c) {
    if (by_cause[c].empty()) continue;
    MovedOps moved{.cause = static_cast<MovedBy>(c), .ops = by_cause[c].size()};
    for (const OpDifference* op : by_cause[c]) moved.together += moved_part(*op, moved.cause);
    moved.most = largest(by_cause[c], moved.cause, most);
    all.push_back(std::move(moved));
  }
  return all;
}

IdleSums idle_of_all(const ViewedRun& run) {
  IdleSums all;
  for (const RankReport& rank : run.report.ranks) all += rank.idle_by_cause;
  return all;
}

std::vector<AmountGroup> changes_of(const ViewedRun& a, const ViewedRun& now) {
  const bool memory = knows_memory(a.report) && knows_memory(now.report);
  const auto idle = [](const RankReport& rank) { return rank.idle.picoseconds; };
  const auto peak = [](const RankReport& rank) {
    return static_cast<std::int64_t>(rank.memory.bytes);
  };
  std::vector<AmountGroup> groups{
      {"kinds of op, on all ranks", false, kinds_of(a, now)},
      {"idle time by cause, on all ranks", false, causes_of(a, now)},
      {"idle time by rank", false, by_rank(a, now, idle)},
      {"peak memory by rank", true, memory ? by_rank(a, now, peak) : std::vector<TwoAmounts>{}},
      {"busy time by link", false, links_of(a, now)}};
  std::erase_if(groups, [](const AmountGroup& group) { return group.changes.empty(); });
  return groups;
}

}  // namespace penstock
