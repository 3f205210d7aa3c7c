#include <fmt/format.h>

#include "experiments/explain.hpp"
#include "experiments/table.hpp"
#include "sim/idle_cause.hpp"

namespace penstock {
namespace {

/// More lines than that are for --json.
constexpr std::size_t most_lines = 16;

std::string lines_left_out(std::size_t all, const char* what) {
  if (all <= most_lines) return "";
  return fmt::format("({} more {}; --json has all)\n", all - most_lines, what);
}

std::string resource_text(const Plan& plan, std::uint32_t resource) {
  if (!plan.is_link(resource)) return fmt::format("rank {}", resource);
  const Link& link = plan.link(resource);
  return fmt::format("link {}>{}", end_text(link.from), end_text(link.to));
}

/// "dependency 7.7, transfer 0.34": the causes that are there.
std::string causes_text(const IdleCauses& idle, TimeUnit unit) {
  std::string text;
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    const auto cause = static_cast<IdleCause>(c);
    const Time time = time_of(idle, cause);
    if (time == Time{}) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name(cause), time_text(time, unit));
  }
  return text;
}

std::string path_text(const RunResult& result, const Explanation& explanation, TimeUnit unit) {
  const Plan& plan = *result.plan;
  std::vector<std::vector<std::string>> rows{{"from", "to", "length", "where", "what"}};
  for (const PathStretch& stretch : explanation.path) {
    if (rows.size() > most_lines) break;
    const std::string first = task_text(plan, stretch.first);
    rows.push_back(
        {time_text(stretch.begin, unit), time_text(stretch.end, unit),
         time_text(stretch.end - stretch.begin, unit), resource_text(plan, stretch.resource),
         stretch.tasks == 1 ? first
                            : fmt::format("{} … {} ({} actions)", first,
                                          task_text(plan, stretch.last), stretch.tasks)});
  }
  return "critical path\n" + aligned(rows, {3, 4}) +
         lines_left_out(explanation.path.size(), "stretches");
}

std::string shares_text(const RunResult& result, const Explanation& explanation, TimeUnit unit) {
  std::vector<std::vector<std::string>> rows{{"time", "share", "what", "times"}};
  for (const PathShare& share : explanation.shares) {
    if (rows.size() > most_lines) break;
    rows.push_back({time_text(share.time, unit),
                    percent_text(to_us(share.time) / to_us(result.report->makespan)),
                    fmt::format("{} of stage {}", letters(share.pass), index(share.stage)),
                    fmt::format("{}", share.tasks)});
  }
  return "what the critical path is made of\n" + aligned(rows, {2}) +
         lines_left_out(explanation.shares.size(), "kinds");
}

/// What a gap waited for: "1F0 waited for 0F0 of rank 0, by 0SEND_F0".
std::string waited_for(const Plan& plan, const IdleGap& gap) {
  if (gap.next == no_task) return "nothing left to do";
  std::string text = task_text(plan, gap.next);
  if (gap.producer == no_task) return text + " came first";
  text += fmt::format(" waited for {} of rank {}", task_text(plan, gap.producer),
                      plan.class_of(gap.producer).resource);
  if (gap.input != gap.producer) text += fmt::format(", by {}", task_text(plan, gap.input));
  return text;
}

std::string gaps_text(const RunResult& result, const Explanation& explanation, TimeUnit unit) {
  std::vector<std::vector<std::string>> rows{{"rank", "from", "to", "length", "causes", "why"}};
  for (const IdleGap& gap : explanation.gaps) {
    if (rows.size() > most_lines) break;
    rows.push_back({fmt::format("{}", index(gap.rank)), time_text(gap.begin, unit),
                    time_text(gap.end, unit), time_text(gap.end - gap.begin, unit),
                    causes_text(gap.causes, unit), waited_for(*result.plan, gap)});
  }
  const Time idle = explanation.idle.total();
  std::string text =
      fmt::format("idle gaps of all ranks: {}, longest first\n", time_text(idle, unit));
  if (idle != Time{}) text += causes_text(explanation.idle, unit) + "\n" + aligned(rows, {4, 5});
  return text + lines_left_out(explanation.gaps.size(), "gaps");
}

}  // namespace

std::string explanation_text(const RunResult& result, const Explanation& explanation) {
  const TimeUnit unit = unit_for(result.report->makespan);
  std::string text = fmt::format("{}: {} {} (times in {})\n\n", result.title,
                                 time_text(result.report->makespan, unit), unit.name, unit.name);
  text += path_text(result, explanation, unit) + "\n";
  text += shares_text(result, explanation, unit) + "\n";
  text += gaps_text(result, explanation, unit);
  if (explanation.advice.empty()) return text;
  text += "\nwhat to change first\n";
  for (std::size_t i = 0; i < explanation.advice.size(); ++i) {
    text += fmt::format("{}. {}\n", i + 1, explanation.advice[i]);
  }
  return text;
}

}  // namespace penstock
