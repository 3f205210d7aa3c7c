#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/files/table.hpp"
#include "experiments/measure/comparison/comparison_words.hpp"
#include "sim/report/idle.hpp"
#include "validate/comparison/clock_arithmetic.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_rows = 8;

/// A row of the table of times, unless both times are zero.
void add_time(const ComparisonWords& words, std::string name, Time a, Time b,
              std::vector<std::vector<std::string>>& rows) {
  if (a == Time{} && b == Time{}) return;
  rows.push_back({std::move(name), words.time(a), words.time(b), words.change(b - a)});
}

/// One kind of time, summed over all ranks or links.
template <class Parts, class Get>
Time total(const Parts& parts, Get get) {
  Time sum{};
  for (const auto& part : parts) add_within_clock(sum, get(part));
  return sum;
}

std::string times_text(const ComparisonWords& words) {
  const TimeUse& a = words.comparison.use_a;
  const TimeUse& b = words.comparison.use_b;
  std::vector<std::vector<std::string>> rows{{"all ranks", "A", "B", "B - A"}};
  const auto add_of_ranks = [&](const char* name, auto get) {
    add_time(words, name, total(a.ranks, get), total(b.ranks, get), rows);
  };
  add_of_ranks("busy", [](const RankUse& rank) { return rank.busy; });
  add_of_ranks("idle", [](const RankUse& rank) { return rank.idle; });
  if (a.causes_known && b.causes_known) {
    for (std::size_t c = 0; c < idle_cause_count; ++c) {
      const auto cause = static_cast<IdleCause>(c);
      add_of_ranks((std::string("  ") + name(cause)).c_str(),
                   [&](const RankUse& rank) { return time_of(rank.idle_by_cause, cause); });
    }
  }
  const auto add_of_links = [&](const char* name, auto get) {
    add_time(words, name, total(a.links, get), total(b.links, get), rows);
  };
  add_of_links("transfers wait", [](const LinkUse& link) { return link.waiting; });
  add_of_links("transfers move", [](const LinkUse& link) { return link.moving; });
  add_of_links("  slowed by others", [](const LinkUse& link) { return link.slowed; });
  return "\n" + aligned(rows, {0});
}

std::string ranks_text(const ComparisonWords& words) {
  const TimeUse& a = words.comparison.use_a;
  const TimeUse& b = words.comparison.use_b;
  const auto bubble = [](const TimeUse& use, Time idle) {
    const double makespan = static_cast<double>(use.makespan.picoseconds);
    return makespan == 0 ? 0 : static_cast<double>(idle.picoseconds) / makespan;
  };
  const std::size_t both = std::min(a.ranks.size(), b.ranks.size());
  return "\n" + table_of_ranks(both,
                               {"busy A", "busy B", "B - A", "idle A", "idle B", "B - A",
                                "bubble A", "bubble B", "B - A"},
                               [&](std::size_t r) -> std::vector<std::string> {
                                 const RankUse& one = a.ranks[r];
                                 const RankUse& other = b.ranks[r];
                                 const double bubble_a = bubble(a, one.idle);
                                 const double bubble_b = bubble(b, other.idle);
                                 return {words.time(one.busy),
                                         words.time(other.busy),
                                         words.change(other.busy - one.busy),
                                         words.time(one.idle),
                                         words.time(other.idle),
                                         words.change(other.idle - one.idle),
                                         percent_text(bubble_a),
                                         percent_text(bubble_b),
                                         signed_percent(bubble_b - bubble_a)};
                               });
}

/// The ops with the largest start differences, beyond the tolerance.
std::vector<const OpDifference*> furthest(const Comparison& comparison) {
  std::vector<const OpDifference*> ops;
  for (const OpDifference& op : comparison.ops) {
    if (magnitude(op.start) > comparison.tolerance) ops.push_back(&op);
  }
  const auto shown = static_cast<std::ptrdiff_t>(std::min(ops.size(), most_rows));
  std::partial_sort(ops.begin(), ops.begin() + shown, ops.end(),
                    [](const OpDifference* one, const OpDifference* other) {
                      const Time a = magnitude(one->start), b = magnitude(other->start);
                      return a != b ? a > b : one->task.a < other->task.a;
                    });
  ops.resize(static_cast<std::size_t>(shown));
  return ops;
}

std::string ops_text(const ComparisonWords& words, const char* title,
                     const std::vector<const OpDifference*>& ops) {
  if (ops.empty()) return "";
  std::vector<std::vector<std::string>> rows{
      {"op", "where", "start A", "start B", "B - A", "wait", "duration", "cause"}};
  for (const OpDifference* op : ops) {
    rows.push_back({task_text(words.plan_a(), op->task.a), words.where(*op),
                    words.time(words.comparison.a.begin[op->task.a]),
                    words.time(words.comparison.b.begin[op->task.b]), words.change(op->start),
                    words.change(op->wait), words.change(op->duration()), words.reason(*op)});
  }
  return fmt::format("\n{}\n{}", title, aligned(rows, {0, 1, 7}));
}

std::string furthest_text(const ComparisonWords& words) {
  return ops_text(words, "largest start differences", furthest(words.comparison));
}

/// Differences of the ops of one kind in their own duration and waits.
struct KindDifference {
  std::uint32_t work = 0;  // the work class in A
  std::uint32_t ops = 0;
  Time duration{};
  Time wait{};
  Time size() const { return std::max(magnitude(duration), magnitude(wait)); }
};

/// The kinds of ops whose own durations or waits differ, largest difference first.
std::vector<KindDifference> differing_kinds(const Plan& plan, const Comparison& comparison) {
  std::vector<KindDifference> kinds(plan.classes.size());
  for (const OpDifference& op : comparison.ops) {
    if (std::max(magnitude(op.duration()), magnitude(op.wait)) <= comparison.tolerance) continue;
    KindDifference& kind = kinds[plan.work[op.task.a]];
    kind.work = plan.work[op.task.a];
    ++kind.ops;
    add_within_clock(kind.duration, op.duration());
    add_within_clock(kind.wait, op.wait);
  }
  std::erase_if(kinds, [](const KindDifference& kind) { return kind.ops == 0; });
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const KindDifference& one, const KindDifference& other) {
                     return one.size() > other.size();
                   });
  return kinds;
}

/// "SEND_F of stage 2"
std::string kind_text(const Plan& plan, std::uint32_t work) {
  const WorkClass& its = plan.classes[work];
  return fmt::format("{} of stage {}", letters(its.pass), index(its.stage));
}

std::string kinds_text(const ComparisonWords& words) {
  const Plan& plan = words.plan_a();
  const auto kinds = differing_kinds(plan, words.comparison);
  if (kinds.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"op", "where", "count", "duration", "wait"}};
  for (const KindDifference& kind : kinds) {
    if (rows.size() > most_rows) break;
    rows.push_back({kind_text(plan, kind.work), place_text(plan, plan.classes[kind.work].resource),
                    fmt::format("{}", kind.ops), words.change(kind.duration),
                    words.change(kind.wait)});
  }
  std::string text = "\nops by their own change, B - A in all\n" + aligned(rows, {0, 1});
  if (kinds.size() > most_rows) {
    text +=
        fmt::format("({}; --json has every op)\n", counted(kinds.size() - most_rows, "more kind"));
  }
  return text;
}

std::string makespan_text(const ComparisonWords& words) {
  const MakespanChange& change = words.comparison.makespan_change;
  const Plan& plan = words.plan_a();
  const Time total = words.comparison.use_b.makespan - words.comparison.use_a.makespan;
  if (change.parts.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  Time rest = change.rest;
  for (const ChangePart& part : change.parts) {
    if (rows.size() < most_rows) {
      rows.push_back({words.change(part.change),
                      fmt::format("{}, {}", kind_text(plan, part.work), counted(part.ops, "op"))});
    } else {
      add_within_clock(rest, part.change);
    }
  }
  const bool cut = change.parts.size() > most_rows;
  if (rest != Time{}) {
    rows.push_back({words.change(rest), cut ? "other" : "waits, order, and ops in only one run"});
  }
  return fmt::format("\nmakespan change of {}, along B's critical path\n{}", words.change(total),
                     aligned(rows, {1}));
}

}  // namespace

std::string comparison_tables(const ComparisonWords& words) {
  return makespan_text(words) + times_text(words) + ranks_text(words) + kinds_text(words) +
         furthest_text(words);
}

}  // namespace penstock
