#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/input/files/table.hpp"
#include "experiments/show/explanation/explain.hpp"
#include "sim/report/idle.hpp"

namespace penstock {
namespace {

/// The most lines of a table; --json has all.
constexpr std::size_t most_lines = 16;

std::string lines_left_out(std::size_t all, const char* what) {
  if (all <= most_lines) return "";
  return fmt::format("({} more {}; --json has all)\n", all - most_lines, what);
}

std::string resource_text(const Plan& plan, std::uint32_t resource) {
  if (!plan.is_link(resource)) return fmt::format("rank {}", resource);
  return "link " + text(plan.link(resource));
}

/// "dependency 7.7, transfer 0.34": the causes that are not zero.
std::string causes_text(const IdleCauses& idle, TimeUnit unit) {
  std::string text;
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    const auto cause = static_cast<IdleCause>(c);
    const Time time = time_of(idle, cause);
    if (time == Time{}) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", name(cause), short_time_text(time, unit));
  }
  return text;
}

/// The waits that are not zero, with their names.
std::vector<std::pair<const char*, Time>> named(const PathWaits& waits) {
  std::vector<std::pair<const char*, Time>> all{{"waiting for memory", waits.memory},
                                                {"waiting for launch", waits.launch},
                                                {"contention on links", waits.contention},
                                                {"actions slowed by transfers", waits.slowdown}};
  std::erase_if(all, [](const auto& wait) { return wait.second == Time{}; });
  return all;
}

/// "0F0 … 0F3 (4 actions), of it memory 2.5"
std::string stretch_text(const Plan& plan, const PathStretch& stretch, TimeUnit unit) {
  std::string text = task_text(plan, stretch.first);
  if (stretch.tasks > 1) {
    text += fmt::format(" … {} ({} actions)", task_text(plan, stretch.last), stretch.tasks);
  }
  std::string waits;
  const auto add = [&](const char* name, Time time) {
    if (time == Time{}) return;
    waits += fmt::format("{}{} {}", waits.empty() ? ", of it " : ", ", name,
                         short_time_text(time, unit));
  };
  add("memory", stretch.waits.memory);
  add("launch", stretch.waits.launch);
  add("contention", stretch.waits.contention);
  add("slowdown", stretch.waits.slowdown);
  return text + waits;
}

std::string path_text(const RunResult& result, const Explanation& explanation, TimeUnit unit) {
  const Plan& plan = *result.plan;
  std::vector<std::vector<std::string>> rows{{"from", "to", "length", "where", "what"}};
  for (const PathStretch& stretch : explanation.path) {
    if (rows.size() > most_lines) break;
    rows.push_back({short_time_text(stretch.begin, unit), short_time_text(stretch.end, unit),
                    short_time_text(stretch.end - stretch.begin, unit),
                    resource_text(plan, stretch.resource), stretch_text(plan, stretch, unit)});
  }
  return "critical path\n" + aligned(rows, {3, 4}) +
         lines_left_out(explanation.path.size(), "stretches");
}

std::string shares_text(const RunResult& result, const Explanation& explanation, TimeUnit unit) {
  std::vector<std::vector<std::string>> rows{{"time", "share", "op", "count"}};
  for (const PathShare& share : explanation.shares) {
    if (rows.size() > most_lines) break;
    rows.push_back({short_time_text(share.time, unit),
                    percent_text(to_us(share.time) / to_us(result.report->makespan)),
                    fmt::format("{} of stage {}", letters(share.pass), index(share.stage)),
                    fmt::format("{}", share.tasks)});
  }
  for (const auto& [name, time] : named(explanation.waits)) {
    rows.push_back({short_time_text(time, unit),
                    percent_text(to_us(time) / to_us(result.report->makespan)), name});
  }
  return "critical path by op\n" + aligned(rows, {2}) +
         lines_left_out(explanation.shares.size(), "kinds");
}

/// A gain with its share of the run.
std::vector<std::string> gain_columns(Time gain, const RunResult& result, TimeUnit unit) {
  return {short_time_text(gain, unit),
          fmt::format("{:.3f} %", 100 * to_us(gain) / to_us(result.report->makespan))};
}

std::string sensitivity_text(const RunResult& result, const Explanation& explanation,
                             TimeUnit unit) {
  std::vector<std::vector<std::string>> rows{
      {"what", "on path", "predicted", "of run", "simulated", "of run"}};
  for (const Sensitivity& one : explanation.sensitivity) {
    if (one.predicted == Time{} && one.gain == Time{}) continue;
    std::vector<std::string> row{one.what, short_time_text(one.on_path, unit)};
    const auto add = [&](Time gain) {
      for (std::string& column : gain_columns(gain, result, unit)) row.push_back(std::move(column));
    };
    add(one.predicted);
    if (one.gain) {
      add(*one.gain);
    } else {
      row.emplace_back("deadlock");
    }
    rows.push_back(std::move(row));
  }
  if (rows.size() == 1) return "";
  return "gain from 1 % less time\n" + aligned(rows, {0}) + "\n";
}

/// "for 0F0 on rank 0, through 0SEND_F0"
std::string awaited_text(const Plan& plan, const IdleGap& gap) {
  const WorkClass& input = plan.class_of(gap.input);
  const bool by_link = gap.input != gap.producer;
  const bool handed_on = input.pass == Pass::send_activation || input.pass == Pass::send_gradient;
  if (handed_on && plan.link(input.resource).from == gap.rank) {
    return fmt::format("for its own {} to leave", task_text(plan, gap.input));
  }
  std::string text = fmt::format("for {} on rank {}", task_text(plan, gap.producer),
                                 plan.class_of(gap.producer).resource);
  if (by_link) text += fmt::format(", through {}", task_text(plan, gap.input));
  return text;
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
  std::vector<std::vector<std::string>> rows{{"rank", "from", "to", "length", "causes", "why"}};
  for (const IdleGap& gap : explanation.gaps) {
    if (rows.size() > most_lines) break;
    rows.push_back({fmt::format("{}", index(gap.rank)), short_time_text(gap.begin, unit),
                    short_time_text(gap.end, unit), short_time_text(gap.end - gap.begin, unit),
                    causes_text(gap.causes, unit), waited_for(*result.plan, gap)});
  }
  const Time idle = explanation.idle.total();
  std::string text =
      fmt::format("idle gaps, longest first: {} in all\n", short_time_text(idle, unit));
  if (idle != Time{}) text += causes_text(explanation.idle, unit) + "\n" + aligned(rows, {4, 5});
  return text + lines_left_out(explanation.gaps.size(), "gaps");
}

std::string changes_text(const RunResult& result, const Explanation& explanation, TimeUnit unit) {
  if (explanation.changes.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"change", "step", "vs now", "peak"}};
  const double now_us = to_us(result.report->makespan);
  for (const TriedChange& change : explanation.changes) {
    rows.push_back({change.change, short_time_text(change.makespan, unit),
                    signed_percent_text(to_us(change.makespan) / now_us - 1),
                    bytes_text(change.peak_bytes)});
  }
  return "\nchanges that make the step shorter, each simulated alone, as --set takes them\n" +
         aligned(rows, {0});
}

/// The lines under a heading; empty without any.
std::string numbered_text(std::string text, const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) text += fmt::format("{}. {}\n", i + 1, lines[i]);
  return lines.empty() ? "" : text;
}

}  // namespace

std::string explanation_text(const RunResult& result, const Explanation& explanation) {
  const TimeUnit unit = unit_for(result.report->makespan);
  std::string text =
      fmt::format("{}: {} {} (times in {})\n\n", result.title,
                  short_time_text(result.report->makespan, unit), unit.name, unit.name);
  text += path_text(result, explanation, unit) + "\n";
  text += shares_text(result, explanation, unit) + "\n";
  text += sensitivity_text(result, explanation, unit);
  text += gaps_text(result, explanation, unit);
  text += changes_text(result, explanation, unit);
  return text + numbered_text("\nwhat to change first\n", explanation.advice) +
         numbered_text("\nnotes\n", explanation.notes);
}

}  // namespace penstock
