#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "experiments/input/files/table.hpp"
#include "experiments/measure/comparison/comparison_words.hpp"

namespace penstock {
namespace {

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
  const double share = makespan_a == Time{}
                           ? 0
                           : static_cast<double>((makespan_b - makespan_a).picoseconds) /
                                 static_cast<double>(makespan_a.picoseconds);
  std::string text = shared_text(words);
  text += fmt::format("makespan    {} in A, {} in B: {} ({})\n", words.time(makespan_a),
                      words.time(makespan_b), words.change(makespan_b - makespan_a),
                      signed_percent(share));
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
  std::vector<std::string> passes;
  for (const auto& [pass, count] : counts) {
    passes.push_back(fmt::format("{} {}", count, letters(pass)));
  }
  return fmt::format("only in {}   {}; {} first\n", run, fmt::join(passes, ", "),
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
    text += comparison_tables(words);
  }
  for (const std::string& note : comparison_notes(a, b, comparison)) text += "\nnote: " + note;
  text += comparison_notes(a, b, comparison).empty() ? "\n" : "\n\n";
  const std::string within =
      comparison.tolerance == Time{} ? "" : " within " + words.time(comparison.tolerance);
  if (comparison.same()) return text + "the runs are equal" + within + "\n";
  return text + "finding: the runs differ" +
         (within.empty() ? "" : " by more than " + within.substr(8)) + "\n";
}

}  // namespace penstock
