#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "experiments/comparison.hpp"
#include "experiments/table.hpp"
#include "sim/idle_cause.hpp"
#include "validate/clock_sum.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_ops = 8;

Time magnitude(Time time) { return time < Time{} ? Time{} - time : time; }

std::string signed_text(Time time, TimeUnit unit) {
  return (time > Time{} ? "+" : "") + time_text(time, unit);
}

std::string signed_percent(double share) { return fmt::format("{:+.3g} %", share * 100); }

/// What all the parts of the text are about.
struct Subject {
  const ComparedRun& a;
  const ComparedRun& b;
  const Comparison& comparison;
  TimeUnit unit;

  const Plan& plan_a() const { return a.recording.plan; }
  const Plan& plan_b() const { return b.recording.plan; }
  std::string time(Time time) const { return time_text(time, unit); }
  std::string change(Time time) const { return signed_text(time, unit); }
  std::string where(const OpDifference& op) const {
    return place_text(plan_a(), plan_a().class_of(op.task.a).resource);
  }
};

/// "1B0", or what there is in its place.
std::string op_text(const Plan& plan, TaskId task, const char* otherwise) {
  return task == no_task ? otherwise : task_text(plan, task);
}

std::string shared_text(const Subject& subject) {
  const TaskMatch& tasks = subject.comparison.tasks;
  std::string text = fmt::format("shared      {} ops", tasks.shared.size());
  if (tasks.only_a.empty() && tasks.only_b.empty()) {
    return text + (subject.comparison.same_plan ? ", all of one plan\n" : ", all of both\n");
  }
  return text +
         fmt::format("; {} only in A, {} only in B\n", tasks.only_a.size(), tasks.only_b.size());
}

std::string spread_text(const Subject& subject, const char* what, const Spread& spread) {
  const auto share = [&](Time time) {
    return fmt::format("{:.3g} %", share_of_makespan(subject.comparison, time) * 100);
  };
  return fmt::format("{:<12}apart by {} in the median, {} nine in ten, {} at most\n", what,
                     share(spread.median), share(spread.ninth_decile), share(spread.largest));
}

std::string summary_text(const Subject& subject) {
  const Comparison& comparison = subject.comparison;
  const Time makespan_a = makespan(subject.plan_a(), subject.a.recording.timeline);
  const Time makespan_b = makespan(subject.plan_b(), subject.b.recording.timeline);
  const double share = makespan_a == Time{}
                           ? 0
                           : static_cast<double>((makespan_b - makespan_a).picoseconds) /
                                 static_cast<double>(makespan_a.picoseconds);
  std::string text = shared_text(subject);
  text += fmt::format("makespan    {} in A, {} in B: {} ({})\n", subject.time(makespan_a),
                      subject.time(makespan_b), subject.change(makespan_b - makespan_a),
                      signed_percent(share));
  text += spread_text(subject, "starts", comparison.starts);
  text += spread_text(subject, "durations", comparison.durations);
  if (comparison.start_correlation) {
    text += fmt::format("order       {:.6g} rank correlation of starts (Kendall's tau)\n",
                        *comparison.start_correlation);
  }
  return text;
}

/// The ops of one run alone: how many of each pass, and the first of them.
std::string alone_text(const char* run, const Plan& plan, const std::vector<TaskId>& tasks) {
  if (tasks.empty()) return "";
  std::map<Pass, std::size_t> counts;
  for (const TaskId task : tasks) ++counts[plan.class_of(task).pass];
  std::vector<std::string> passes;
  for (const auto& [pass, count] : counts) {
    passes.push_back(fmt::format("{} {}", count, letters(pass)));
  }
  return fmt::format("only in {}   {}; {} first\n", run, fmt::join(passes, ", "),
                     task_text(plan, tasks.front()));
}

/// Why an op does not start when it did: "its input 0SEND_F0 came later".
std::string reason_text(const Subject& subject, const OpDifference& op) {
  const bool in_b = op.by.b != no_task;
  const char* other = in_b ? "later" : "earlier";
  const std::string by = in_b                 ? task_text(subject.plan_b(), op.by.b)
                         : op.by.a != no_task ? task_text(subject.plan_a(), op.by.a)
                                              : std::string();
  switch (op.reason) {
    case Reason::none:
      return "";
    case Reason::duration:
      return "its own duration";
    case Reason::wait:
      return "its own wait";
    case Reason::input:
      return fmt::format("its input {} came {}", by, other);
    case Reason::before:
      return fmt::format("{} before it ended {}", by, other);
    case Reason::order:
      return fmt::format("behind {} rather than {}", op_text(subject.plan_b(), op.by.b, "nothing"),
                         op_text(subject.plan_a(), op.by.a, "nothing"));
    case Reason::place:
      return "on " + place_text(subject.plan_b(), subject.plan_b().class_of(op.task.b).resource) +
             " in B";
  }
  return "";
}

std::string first_text(const Subject& subject) {
  const Comparison& comparison = subject.comparison;
  if (!comparison.first) return "";
  const OpDifference& op = comparison.ops[comparison.first->op];
  const Time begin_a = comparison.a.begin[op.task.a];
  const Time begin_b = comparison.b.begin[op.task.b];
  std::string text = fmt::format("at {}: {} on {} ", subject.time(comparison.first->at),
                                 task_text(subject.plan_a(), op.task.a), subject.where(op));
  text +=
      op.reason == Reason::duration
          ? fmt::format("takes {} in A, {} in B",
                        subject.time(comparison.a.end[op.task.a] - begin_a),
                        subject.time(comparison.b.end[op.task.b] - begin_b))
          : fmt::format("starts at {} in A, {} in B", subject.time(begin_a), subject.time(begin_b));
  return fmt::format("{} ({})\n", text, reason_text(subject, op));
}

std::string first_order_text(const Subject& subject) {
  const auto& order = subject.comparison.first_order;
  if (!order) return "";
  return fmt::format(
      "at {}: {} goes on with {} in A, {} in B (another order, {})\n", subject.time(order->at),
      place_text(subject.plan_a(), order->resource), task_text(subject.plan_a(), order->next.a),
      task_text(subject.plan_b(), order->next.b),
      order->after.a == no_task ? "from the start"
                                : "behind " + task_text(subject.plan_a(), order->after.a));
}

std::string own_text(const Subject& subject, const char* what, const OwnDifferences& own) {
  std::string text;
  if (own.durations > 0) {
    text += fmt::format("{} {} take another time, {} in all\n", own.durations, what,
                        subject.change(own.duration));
  }
  if (own.waits > 0) {
    text += fmt::format("{} {} wait another time of their own, {} in all\n", own.waits, what,
                        subject.change(own.wait));
  }
  return text;
}

std::string passed_on_text(const Subject& subject) {
  const auto count = [&](Reason reason) {
    return subject.comparison.reasons[static_cast<std::size_t>(reason)];
  };
  std::string text;
  if (count(Reason::input) + count(Reason::before) > 0) {
    text += fmt::format("{} ops start at another time because an input or what runs before did\n",
                        count(Reason::input) + count(Reason::before));
  }
  if (count(Reason::order) > 0) {
    text += fmt::format("{} ops start at another time behind another op than before\n",
                        count(Reason::order));
  }
  return text;
}

std::string parting_text(const Subject& subject) {
  const Comparison& comparison = subject.comparison;
  const std::string text = first_text(subject) + first_order_text(subject);
  if (text.empty()) return "";
  return "\nwhere they part\n" + text + own_text(subject, "actions", comparison.actions) +
         own_text(subject, "transfers", comparison.transfers) + passed_on_text(subject);
}

/// A row of the table of times, unless both have none of it.
void add_time(const Subject& subject, std::string name, Time a, Time b,
              std::vector<std::vector<std::string>>& rows) {
  if (a == Time{} && b == Time{}) return;
  rows.push_back({std::move(name), subject.time(a), subject.time(b), subject.change(b - a)});
}

/// Some time of all ranks or links.
template <class Parts, class Get>
Time total(const Parts& parts, Get get) {
  Time sum{};
  for (const auto& part : parts) add_within_clock(sum, get(part));
  return sum;
}

std::string times_text(const Subject& subject) {
  const TimeUse& a = subject.comparison.use_a;
  const TimeUse& b = subject.comparison.use_b;
  std::vector<std::vector<std::string>> rows{{"all ranks", "A", "B", "B - A"}};
  const auto add_of_ranks = [&](const char* name, auto get) {
    add_time(subject, name, total(a.ranks, get), total(b.ranks, get), rows);
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
    add_time(subject, name, total(a.links, get), total(b.links, get), rows);
  };
  add_of_links("transfers wait", [](const LinkUse& link) { return link.waiting; });
  add_of_links("transfers move", [](const LinkUse& link) { return link.moving; });
  add_of_links("  slowed by others", [](const LinkUse& link) { return link.slowed; });
  return "\n" + aligned(rows, {0});
}

std::string ranks_text(const Subject& subject) {
  const TimeUse& a = subject.comparison.use_a;
  const TimeUse& b = subject.comparison.use_b;
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
                                 return {subject.time(one.busy),
                                         subject.time(other.busy),
                                         subject.change(other.busy - one.busy),
                                         subject.time(one.idle),
                                         subject.time(other.idle),
                                         subject.change(other.idle - one.idle),
                                         percent_text(bubble_a),
                                         percent_text(bubble_b),
                                         signed_percent(bubble_b - bubble_a)};
                               });
}

/// The ops with the largest of something above the tolerance, largest first.
template <class Get>
std::vector<const OpDifference*> largest(const Comparison& comparison, Get get) {
  std::vector<const OpDifference*> ops;
  for (const OpDifference& op : comparison.ops) {
    if (op.reason != Reason::none && get(op) > comparison.tolerance) ops.push_back(&op);
  }
  const auto shown = static_cast<std::ptrdiff_t>(std::min(ops.size(), most_ops));
  std::partial_sort(ops.begin(), ops.begin() + shown, ops.end(),
                    [&](const OpDifference* one, const OpDifference* other) {
                      const Time a = get(*one);
                      const Time b = get(*other);
                      return a != b ? a > b : one->task.a < other->task.a;
                    });
  ops.resize(static_cast<std::size_t>(shown));
  return ops;
}

std::string ops_text(const Subject& subject, const char* title,
                     const std::vector<const OpDifference*>& ops) {
  if (ops.empty()) return "";
  std::vector<std::vector<std::string>> rows{
      {"op", "where", "start A", "start B", "B - A", "of it wait", "duration", "because"}};
  for (const OpDifference* op : ops) {
    rows.push_back({task_text(subject.plan_a(), op->task.a), subject.where(*op),
                    subject.time(subject.comparison.a.begin[op->task.a]),
                    subject.time(subject.comparison.b.begin[op->task.b]), subject.change(op->start),
                    subject.change(op->wait), subject.change(op->duration()),
                    reason_text(subject, *op)});
  }
  return fmt::format("\n{}\n{}", title, aligned(rows, {0, 1, 7}));
}

std::string worst_text(const Subject& subject) {
  const auto own = largest(subject.comparison, [](const OpDifference& op) {
    return std::max(magnitude(op.duration()), magnitude(op.wait));
  });
  const auto start =
      largest(subject.comparison, [](const OpDifference& op) { return magnitude(op.start); });
  return ops_text(subject, "what ops changed themselves, by duration or wait", own) +
         ops_text(subject, "starts furthest apart", start);
}

}  // namespace

std::string comparison_text(const ComparedRun& a, const ComparedRun& b,
                            const Comparison& comparison) {
  const Subject subject{a, b, comparison,
                        unit_for(std::max(comparison.use_a.makespan, comparison.use_b.makespan))};
  std::string text = fmt::format("A: {} ({})\nB: {} ({})\n", a.recording.title, a.source,
                                 b.recording.title, b.source);
  text += fmt::format("times in {}; differences are B - A, shares are of A's makespan\n\n",
                      subject.unit.name);
  text += summary_text(subject);
  text += alone_text("A", subject.plan_a(), comparison.tasks.only_a);
  text += alone_text("B", subject.plan_b(), comparison.tasks.only_b);
  text += parting_text(subject);
  if (!comparison.same()) {
    text += times_text(subject) + ranks_text(subject) + worst_text(subject);
  }
  for (const std::string& note : comparison_notes(a, b, comparison)) text += "\nnote: " + note;
  text += comparison_notes(a, b, comparison).empty() ? "\n" : "\n\n";
  const std::string within =
      comparison.tolerance == Time{} ? "" : " within " + subject.time(comparison.tolerance);
  if (comparison.same()) return text + "the same" + within + "\n";
  return text + "finding: they differ" +
         (within.empty() ? "" : " by more than " + within.substr(8)) + "\n";
}

}  // namespace penstock
