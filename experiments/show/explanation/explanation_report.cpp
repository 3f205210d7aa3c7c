#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/show/explanation/explanation.hpp"
#include "experiments/show/results/result_json.hpp"
#include "experiments/show/results/result_table.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/base/time_sum.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/idle_sums.hpp"

namespace penstock {
namespace {

ordered_json gap_json(const Plan& plan, const IdleGap& gap) {
  ordered_json all{{"rank", index(gap.rank)},
                   {"start_us", to_us(gap.begin)},
                   {"end_us", to_us(gap.end)},
                   {"idle_by_cause_us", causes_json(gap.causes)},
                   {"next", task_json(plan, gap.next)},
                   {"waits_for", task_json(plan, gap.producer)},
                   {"waits_for_rank", nullptr},
                   {"transfer", task_json(plan, gap.input == gap.producer ? no_task : gap.input)}};
  if (gap.producer != no_task) all["waits_for_rank"] = plan.class_of(gap.producer).resource;
  return all;
}

ordered_json sensitivity_json(const Sensitivity& one, double makespan_us) {
  const auto share = [&](Time gain) { return makespan_us > 0 ? to_us(gain) / makespan_us : 0; };
  return {{"what", one.what},
          {"on_path_us", to_us(one.on_path)},
          {"predicted_us", to_us(one.predicted)},
          {"rerun_us", or_null(one.gain, to_us)},
          {"predicted_share", share(one.predicted)},
          {"rerun_share", or_null(one.gain, share)}};
}

/// What changes are compared with.
TriedChange now_of(const RunResult& result, const Explanation& explanation) {
  return explanation.now.value_or(TriedChange{.makespan = result.report->makespan});
}

ordered_json change_json(const TriedChange& change, const TriedChange& now) {
  const auto pair_json = [](const auto& pair) { return ordered_json{pair.first, pair.second}; };
  return {{"change", change.change.text()},
          {"options", change.change.options()},
          {"to_do", text(change.effort)},
          {"makespan_us", to_us(change.makespan)},
          {"gain", gain_of(change, now)},
          {"gain_within", or_null(gain_within(change, now), pair_json)},
          {"peak_bytes", change.peak_bytes},
          {"fits", or_null(change.fits())}};
}

ordered_json share_json(const PathShare& share) {
  return {{"pass", letters(share.pass)},
          {"stage", index(share.stage)},
          {"time_us", to_us(share.time)},
          {"count", share.tasks}};
}

/// The most lines of a table; --json has all.
constexpr std::size_t most_lines = 16;

std::string lines_left_out(std::size_t all, const char* what) {
  if (all <= most_lines) return "";
  return fmt::format("({} more {}; --json has all)\n", all - most_lines, what);
}

using NamedTimes = std::vector<std::pair<const char*, TimeSum>>;

/// "dependency 7.7, transfer 0.34": the times that are not zero.
std::string times_text(const NamedTimes& times, TimeUnit unit) {
  return joined(times, [&](const auto& one) {
    const auto& [name, time] = one;
    return time == Time{} ? "" : fmt::format("{} {}", name, short_time_text(time, unit));
  });
}

template <class Causes>
std::string causes_text(const Causes& idle, TimeUnit unit) {
  NamedTimes times;
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    const auto cause = static_cast<IdleCause>(c);
    times.emplace_back(name(cause), time_of(idle, cause));
  }
  return times_text(times, unit);
}

/// "0F0 … 0F3 (4 actions), of it memory 2.5"
std::string stretch_text(const Plan& plan, const PathStretch& stretch, TimeUnit unit) {
  std::string text = task_text(plan, stretch.first);
  if (stretch.tasks > 1) {
    text += fmt::format(" … {} ({} actions)", task_text(plan, stretch.last), stretch.tasks);
  }
  const std::string waits = times_text({{"memory", stretch.waits.memory},
                                        {"launch", stretch.waits.launch},
                                        {"contention", stretch.waits.contention},
                                        {"slowdown", stretch.waits.slowdown}},
                                       unit);
  return waits.empty() ? text : text + ", of it " + waits;
}

std::string path_text(const RunResult& result, const Explanation& explanation, TimeUnit unit) {
  const auto cells = [&](const PathStretch& stretch) -> TableRow {
    return {short_time_text(stretch.begin, unit), short_time_text(stretch.end, unit),
            short_time_text(stretch.end - stretch.begin, unit),
            place_text(*result.plan, stretch.resource), stretch_text(*result.plan, stretch, unit)};
  };
  return "critical path\n" +
         aligned(table_rows({"from", "to", "length", "where", "what"}, explanation.path, cells,
                            most_lines),
                 {3, 4}) +
         lines_left_out(explanation.path.size(), "stretches");
}

std::string shares_text(const RunResult& result, const Explanation& explanation, TimeUnit unit) {
  const auto cells = [&](TimeSum time, std::string what) -> TableRow {
    return {short_time_text(time, unit), percent_text(us_of(time) / to_us(result.report->makespan)),
            std::move(what)};
  };
  const auto of_share = [&](const PathShare& share) {
    TableRow row =
        cells(share.time, fmt::format("{} of stage {}", letters(share.pass), index(share.stage)));
    row.push_back(fmt::format("{}", share.tasks));
    return row;
  };
  TableRows rows =
      table_rows({"time", "share", "op", "count"}, explanation.shares, of_share, most_lines);
  const PathWaits& waits = explanation.waits;
  for (const auto& [name, time] : NamedTimes{{"waiting for memory", waits.memory},
                                             {"waiting for launch", waits.launch},
                                             {"contention on links", waits.contention},
                                             {"actions slowed by transfers", waits.slowdown}}) {
    if (time != Time{}) rows.push_back(cells(time, name));
  }
  return "critical path by op\n" + aligned(rows, {2}) +
         lines_left_out(explanation.shares.size(), "kinds");
}

std::string sensitivity_text(const RunResult& result, const Explanation& explanation,
                             TimeUnit unit) {
  TableRows rows{{"what", "on path", "predicted", "of run", "simulated", "of run"}};
  for (const Sensitivity& one : explanation.sensitivity) {
    if (one.predicted == Time{} && one.gain == Time{}) continue;
    TableRow& row = rows.emplace_back(TableRow{one.what, short_time_text(one.on_path, unit)});
    for (const auto& gain : {std::optional(one.predicted), one.gain}) {
      row.push_back(gain ? short_time_text(*gain, unit) : "deadlock");
      if (!gain) continue;
      row.push_back(fmt::format("{:.3f} %", 100 * to_us(*gain) / to_us(result.report->makespan)));
    }
  }
  if (rows.size() == 1) return "";
  return "gain from 1 % less time\n" + aligned(rows, {0}) + "\n";
}

/// "for 0F0 on rank 0, through 0SEND_F0"
std::string awaited_text(const Plan& plan, const IdleGap& gap) {
  const WorkClass& input = plan.class_of(gap.input);
  const bool handed_on = input.pass == Pass::send_activation || input.pass == Pass::send_gradient;
  if (handed_on && plan.link(input.resource).from == gap.rank) {
    return fmt::format("for its own {} to leave", task_text(plan, gap.input));
  }
  if (gap.producer == no_task) return "for " + task_text(plan, gap.input);
  const std::string text = fmt::format("for {} on rank {}", task_text(plan, gap.producer),
                                       plan.class_of(gap.producer).resource);
  return gap.input == gap.producer ? text : text + ", through " + task_text(plan, gap.input);
}

/// What a gap waited for: "1F0 waited for 0F0 on rank 0, through 0SEND_F0, and for memory".
std::string waited_for(const Plan& plan, const IdleGap& gap) {
  if (gap.next == no_task) return "nothing left to do";
  std::vector<std::string> awaited;
  const IdleCauses& causes = gap.causes;
  const Time by_input = causes.dependency + causes.transfer + causes.contention;
  if (gap.producer != no_task && by_input > Time{}) awaited.push_back(awaited_text(plan, gap));
  if (causes.memory > Time{}) awaited.emplace_back("for memory");
  if (causes.launch > Time{}) awaited.emplace_back("for its launch");
  if (awaited.empty()) return task_text(plan, gap.next) + " came first";
  return fmt::format("{} waited {}", task_text(plan, gap.next), fmt::join(awaited, ", and "));
}

std::string gaps_text(const RunResult& result, const Explanation& explanation, TimeUnit unit) {
  const auto cells = [&](const IdleGap& gap) -> TableRow {
    return {fmt::format("{}", index(gap.rank)), short_time_text(gap.begin, unit),
            short_time_text(gap.end, unit),     short_time_text(gap.end - gap.begin, unit),
            causes_text(gap.causes, unit),      waited_for(*result.plan, gap)};
  };
  const TimeSum idle = explanation.idle.total();
  std::string text =
      fmt::format("idle gaps, longest first: {} in all\n", short_time_text(idle, unit));
  if (idle != Time{}) {
    text += causes_text(explanation.idle, unit) + "\n" +
            aligned(table_rows({"rank", "from", "to", "length", "causes", "why"}, explanation.gaps,
                               cells, most_lines),
                    {4, 5});
  }
  return text + lines_left_out(explanation.gaps.size(), "gaps");
}

std::string changes_heading(const RunResult& result, const Explanation& explanation) {
  if (does_not_fit(result)) {
    const bool fit = explanation.changes.front().fits() == true;
    return fmt::format(
        "changes that {}, each simulated alone (penstock explain --memory has more)\n",
        fit ? "make it fit" : "reduce the peak, though none makes it fit");
  }
  const std::size_t draws = explanation.now ? explanation.now->draws.size() : 0;
  const std::string over =
      draws == 0 ? "" : fmt::format("means of {} draws, ± half of the 95 % interval; ", draws);
  return fmt::format(
      "changes that make the step shorter, each simulated alone ({}penstock layout --from has "
      "more, and pairs)\n",
      over);
}

std::string changes_text(const RunResult& result, const Explanation& explanation, TimeUnit unit) {
  if (explanation.changes.empty()) return "";
  const TriedChange now = now_of(result, explanation);
  const auto cells = [&](const TriedChange& change) -> TableRow {
    return {short_time_text(change.makespan, unit), gain_text(change, now),
            bytes_text(change.peak_bytes), std::string(penstock::text(change.effort)),
            change.change.options()};
  };
  return "\n" + changes_heading(result, explanation) +
         aligned(
             table_rows({"step", "vs now", "peak", "to do", "change"}, explanation.changes, cells),
             {3, 4});
}

/// The lines under a heading; empty without any.
std::string numbered_text(std::string text, const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) text += fmt::format("{}. {}\n", i + 1, lines[i]);
  return lines.empty() ? "" : text;
}

}  // namespace

ordered_json explanation_json(const RunResult& result, const Explanation& explanation) {
  const Plan& plan = *result.plan;
  const auto of_sensitivity = [&](const Sensitivity& one) {
    return sensitivity_json(one, to_us(result.report->makespan));
  };
  const auto of_gap = [&](const IdleGap& gap) { return gap_json(plan, gap); };
  const TriedChange now = now_of(result, explanation);
  const auto of_change = [&](const TriedChange& change) { return change_json(change, now); };
  return {
      {"penstock", 1},
      {"title", result.title},
      {"schedule", result.layout.name},
      {"makespan_us", to_us(result.report->makespan)},
      {"critical_path", critical_path_json(plan, result.timeline, result.report->critical_path)},
      {"critical_path_by_stage", list_json(explanation.shares, share_json)},
      {"critical_path_memory_us", to_us(explanation.waits.memory)},
      {"critical_path_launch_us", to_us(explanation.waits.launch)},
      {"critical_path_contention_us", to_us(explanation.waits.contention)},
      {"critical_path_slowdown_us", to_us(explanation.waits.slowdown)},
      {"sensitivity", list_json(explanation.sensitivity, of_sensitivity)},
      {"idle_us", us_of(explanation.idle.total())},
      {"idle_by_cause_us", causes_json(explanation.idle)},
      {"gaps", list_json(explanation.gaps, of_gap)},
      {"now",
       {{"makespan_us", to_us(now.makespan)},
        {"draws", std::max<std::size_t>(now.draws.size(), 1)}}},
      {"changes", list_json(explanation.changes, of_change)},
      {"advice", explanation.advice},
      {"notes", explanation.notes},
      {"findings", findings_json(result.findings)}};
}

std::string explanation_text(const RunResult& result, const Explanation& explanation) {
  const TimeUnit unit = unit_for(result.report->makespan);
  std::string text =
      fmt::format("{}: {} {} (times in {})\n", result.title,
                  short_time_text(result.report->makespan, unit), unit.name, unit.name);
  text += findings_text(result, {});
  text += "\n" + path_text(result, explanation, unit) + "\n";
  text += shares_text(result, explanation, unit) + "\n";
  text += sensitivity_text(result, explanation, unit);
  text += gaps_text(result, explanation, unit);
  text += changes_text(result, explanation, unit);
  return text + numbered_text("\nwhat to change first\n", explanation.advice) +
         numbered_text("\nnotes\n", explanation.notes);
}

}  // namespace penstock
