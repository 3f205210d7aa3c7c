#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "experiments/input/files/table.hpp"
#include "experiments/measure/comparison/comparison.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/base/time_sum.hpp"
#include "sim/report/idle.hpp"
#include "validate/comparison/readiness.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_rows = 8;

/// Formats the values of a comparison as text.
struct ComparisonWords {
  const ComparedRun& run_a;
  const ComparedRun& run_b;
  const Comparison& comparison;
  TimeUnit unit;

  const Plan& plan_a() const { return run_a.recording.plan; }
  const Plan& plan_b() const { return run_b.recording.plan; }

  std::string time(TimeSum time) const { return short_time_text(time, unit); }
  /// With its sign: "+0.5".
  std::string change(TimeSum change) const { return (change > Time{} ? "+" : "") + time(change); }
  /// Where an op runs in A: "rank 2".
  std::string where(const OpDifference& op) const {
    return place_text(plan_a(), plan_a().class_of(op.task.a).resource);
  }
  /// Why an op starts or ends at another time: "its input 0SEND_F0 came later".
  std::string reason(const OpDifference& op) const;
};

std::string ComparisonWords::reason(const OpDifference& op) const {
  const bool later = op.by.b != no_task;
  const auto name_of = [](const Plan& plan, TaskId task) {
    return task == no_task ? "nothing" : task_text(plan, task);
  };
  const std::string by = later ? name_of(plan_b(), op.by.b) : name_of(plan_a(), op.by.a);
  const char* const when = later ? "later" : "earlier";
  switch (op.reason) {
    case Reason::none:
      return "";
    case Reason::duration:
      return "its own duration";
    case Reason::wait:
      return "its own wait";
    case Reason::input:
      return fmt::format("its input {} came {}", by, when);
    case Reason::before:
      return fmt::format("{}, the op before it, ended {}", by, when);
    case Reason::order:
      return fmt::format("after {} instead of {}", name_of(plan_b(), op.by.b),
                         name_of(plan_a(), op.by.a));
    case Reason::place:
      break;
  }
  return fmt::format("on {} in B", place_text(plan_b(), plan_b().class_of(op.task.b).resource));
}

std::string shared_text(const ComparisonWords& words) {
  const TaskMatch& tasks = words.comparison.tasks;
  std::string text = "shared      " + counted(tasks.shared.size(), "op");
  if (tasks.only_a.empty() && tasks.only_b.empty()) {
    return text + (words.comparison.same_plan ? ", same plan\n" : ", all ops of both\n");
  }
  return text +
         fmt::format("; {} only in A, {} only in B\n", tasks.only_a.size(), tasks.only_b.size());
}

std::string spread_text(const ComparisonWords& words, const char* what, const Spread& spread) {
  const auto share = [&](Time time) {
    return fmt::format("{:.3g} %", share_of_makespan(words.comparison, time) * 100);
  };
  return fmt::format("{:<12}differ by {} (median), {} (90th percentile), {} (largest)\n", what,
                     share(spread.median), share(spread.ninth_decile), share(spread.largest));
}

std::string summary_text(const ComparisonWords& words) {
  const Comparison& comparison = words.comparison;
  const Time makespan_a = makespan(words.plan_a(), words.run_a.recording.timeline);
  const Time makespan_b = makespan(words.plan_b(), words.run_b.recording.timeline);
  const Time change = makespan_b - makespan_a;
  std::string text = shared_text(words);
  text += fmt::format("makespan    {} in A, {} in B: {} ({})\n", words.time(makespan_a),
                      words.time(makespan_b), words.change(change),
                      signed_percent(share_of_makespan(comparison, change)));
  text += spread_text(words, "starts", comparison.starts);
  text += spread_text(words, "durations", comparison.durations);
  if (comparison.start_correlation) {
    text += fmt::format("order       {:.4g} rank correlation of starts (Kendall's tau)\n",
                        *comparison.start_correlation);
  }
  return text;
}

/// The ops of only one run: how many of each pass, and the first of them.
std::string alone_text(const char* run, const Plan& plan, const std::vector<TaskId>& tasks) {
  if (tasks.empty()) return "";
  std::map<Pass, std::size_t> counts;
  for (const TaskId task : tasks) ++counts[plan.class_of(task).pass];
  const auto of_pass = [](const auto& one) {
    return fmt::format("{} {}", one.second, letters(one.first));
  };
  return fmt::format("only in {}   {}; {} first\n", run, joined(counts, of_pass),
                     task_text(plan, tasks.front()));
}

std::string first_text(const ComparisonWords& words) {
  const Comparison& comparison = words.comparison;
  if (!comparison.first) return "";
  const OpDifference& op = comparison.ops[comparison.first->op];
  const Time begin_a = comparison.a.begin[op.task.a];
  const Time begin_b = comparison.b.begin[op.task.b];
  // With all digits: rounded to four, both may be equal.
  const auto exact = [&](Time time) { return time_text(time, words.unit); };
  const std::string difference =
      op.reason == Reason::duration
          ? fmt::format("takes {} in A, {} in B", exact(comparison.a.end[op.task.a] - begin_a),
                        exact(comparison.b.end[op.task.b] - begin_b))
          : fmt::format("starts at {} in A, {} in B", exact(begin_a), exact(begin_b));
  return fmt::format("at {}: {} on {} {} ({})\n", words.time(comparison.first->at),
                     task_text(words.plan_a(), op.task.a), words.where(op), difference,
                     words.reason(op));
}

std::string first_order_text(const ComparisonWords& words) {
  const auto& order = words.comparison.first_order;
  if (!order) return "";
  return fmt::format(
      "at {}: {} runs {} next in A, {} in B (order differs {})\n", words.time(order->at),
      place_text(words.plan_a(), order->resource), task_text(words.plan_a(), order->next.a),
      task_text(words.plan_b(), order->next.b),
      order->after.a == no_task ? "from the start"
                                : "after " + task_text(words.plan_a(), order->after.a));
}

std::string own_text(const ComparisonWords& words, const char* what, const OwnDifferences& own) {
  std::string text;
  if (own.durations > 0) {
    text += fmt::format("{} with another duration, {} in all\n", counted(own.durations, what),
                        words.change(own.duration));
  }
  if (own.waits > 0) {
    text += fmt::format("{} with another wait of their own, {} in all\n", counted(own.waits, what),
                        words.change(own.wait));
  }
  return text;
}

std::string passed_on_text(const ComparisonWords& words) {
  const auto count = [&](Reason reason) {
    return words.comparison.reasons[static_cast<std::size_t>(reason)];
  };
  std::string text;
  if (const auto ops = count(Reason::input) + count(Reason::before); ops > 0) {
    text += fmt::format("{} shifted by others\n", counted(ops, "op"));
  }
  if (const auto ops = count(Reason::order); ops > 0) {
    text += fmt::format("{} shifted by another order\n", counted(ops, "op"));
  }
  return text;
}

std::string first_difference_text(const ComparisonWords& words) {
  const Comparison& comparison = words.comparison;
  const std::string text = first_text(words) + first_order_text(words);
  if (text.empty()) return "";
  return "\nfirst difference\n" + text + own_text(words, "action", comparison.actions) +
         own_text(words, "transfer", comparison.transfers) + passed_on_text(words);
}

/// A row of the table of times, unless both times are zero.
void add_time(const ComparisonWords& words, std::string name, TimeSum a, TimeSum b,
              TableRows& rows) {
  if (a == TimeSum{} && b == TimeSum{}) return;
  rows.push_back({std::move(name), words.time(a), words.time(b), words.change(b - a)});
}

/// One kind of time, summed over all ranks or links.
template <class Parts, class Get>
TimeSum total(const Parts& parts, Get get) {
  TimeSum sum;
  for (const auto& part : parts) sum += get(part);
  return sum;
}

std::string times_text(const ComparisonWords& words) {
  const TimeUse& a = words.comparison.use_a;
  const TimeUse& b = words.comparison.use_b;
  TableRows rows{{"all ranks", "A", "B", "B - A"}};
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
  const auto cells = [&](std::size_t r) -> TableRow {
    const RankUse &one = a.ranks[r], &other = b.ranks[r];
    const double bubble_a = bubble(a, one.idle), bubble_b = bubble(b, other.idle);
    return {words.time(one.busy),   words.time(other.busy), words.change(other.busy - one.busy),
            words.time(one.idle),   words.time(other.idle), words.change(other.idle - one.idle),
            percent_text(bubble_a), percent_text(bubble_b), signed_percent(bubble_b - bubble_a)};
  };
  return "\n" + table_of_ranks(std::min(a.ranks.size(), b.ranks.size()),
                               {"busy A", "busy B", "B - A", "idle A", "idle B", "B - A",
                                "bubble A", "bubble B", "B - A"},
                               cells);
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

std::string furthest_text(const ComparisonWords& words) {
  const std::vector<const OpDifference*> ops = furthest(words.comparison);
  const auto cells = [&](const OpDifference* op) -> TableRow {
    return {task_text(words.plan_a(), op->task.a),
            words.where(*op),
            words.time(words.comparison.a.begin[op->task.a]),
            words.time(words.comparison.b.begin[op->task.b]),
            words.change(op->start),
            words.change(op->wait),
            words.change(op->duration()),
            words.reason(*op)};
  };
  if (ops.empty()) return "";
  return "\nlargest start differences\n" +
         aligned(
             table_rows({"op", "where", "start A", "start B", "B - A", "wait", "duration", "cause"},
                        ops, cells),
             {0, 1, 7});
}

/// Differences of the ops of one kind in their own duration and waits.
struct KindDifference {
  std::uint32_t work = 0;  // the work class in A
  std::uint32_t ops = 0;
  TimeSum duration;
  TimeSum wait;
  TimeSum size() const { return std::max(magnitude(duration), magnitude(wait)); }
};

/// The kinds of ops whose own durations or waits differ, largest difference first.
std::vector<KindDifference> differing_kinds(const Plan& plan, const Comparison& comparison) {
  std::vector<KindDifference> kinds(plan.classes.size());
  for (const OpDifference& op : comparison.ops) {
    if (std::max(magnitude(op.duration()), magnitude(op.wait)) <= comparison.tolerance) continue;
    KindDifference& kind = kinds[plan.work[op.task.a]];
    kind.work = plan.work[op.task.a];
    ++kind.ops;
    kind.duration += op.duration();
    kind.wait += op.wait;
  }
  std::erase_if(kinds, [](const KindDifference& kind) { return kind.ops == 0; });
  std::ranges::stable_sort(kinds, std::greater{}, &KindDifference::size);
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
  const auto cells = [&](const KindDifference& kind) -> TableRow {
    return {kind_text(plan, kind.work), place_text(plan, plan.classes[kind.work].resource),
            fmt::format("{}", kind.ops), words.change(kind.duration), words.change(kind.wait)};
  };
  std::string text =
      "\nops by their own change, B - A in all\n" +
      aligned(table_rows({"op", "where", "count", "duration", "wait"}, kinds, cells, most_rows),
              {0, 1});
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
  TableRows rows;
  TimeSum rest = change.rest;
  for (const ChangePart& part : change.parts) {
    if (rows.size() < most_rows) {
      rows.push_back({words.change(part.change),
                      fmt::format("{}, {}", kind_text(plan, part.work), counted(part.ops, "op"))});
    } else {
      rest += part.change;
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

std::string comparison_text(const ComparedRun& a, const ComparedRun& b,
                            const Comparison& comparison) {
  const ComparisonWords words{
      a, b, comparison, unit_for(std::max(comparison.use_a.makespan, comparison.use_b.makespan))};
  std::string text = fmt::format("A: {} ({})\nB: {} ({})\n", a.recording.title, a.source,
                                 b.recording.title, b.source);
  text += fmt::format("times in {}; differences are B - A, shares are of A's makespan\n\n",
                      words.unit.name);
  text += summary_text(words);
  text += alone_text("A", words.plan_a(), comparison.tasks.only_a);
  text += alone_text("B", words.plan_b(), comparison.tasks.only_b);
  text += first_difference_text(words);
  if (!comparison.same()) {
    text += makespan_text(words) + times_text(words) + ranks_text(words) + kinds_text(words) +
            furthest_text(words);
  }
  const std::vector<std::string> notes = comparison_notes(a, b, comparison);
  for (const std::string& note : notes) text += "\nnote: " + note;
  text += notes.empty() ? "\n" : "\n\n";
  const bool exact = comparison.tolerance == Time{};
  const std::string most = words.time(comparison.tolerance);
  if (comparison.same())
    return text + "the runs are equal" + (exact ? "" : " within " + most) + "\n";
  return text + "finding: the runs differ" + (exact ? "" : " by more than " + most) + "\n";
}

}  // namespace penstock
