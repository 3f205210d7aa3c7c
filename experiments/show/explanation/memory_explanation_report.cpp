#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/show/explanation/memory_explanation.hpp"
#include "experiments/show/results/result_json.hpp"
#include "experiments/show/results/result_table.hpp"
#include "experiments/show/results/run_summary.hpp"

namespace penstock {
namespace {

std::vector<std::uint32_t> numbers_of(const std::vector<Stage>& stages) {
  std::vector<std::uint32_t> numbers;
  for (const Stage stage : stages) numbers.push_back(index(stage));
  return numbers;
}

/// What is left beside the reserve; negative if a rank exceeds it.
std::int64_t headroom(const MemoryExplanation& explanation, std::uint64_t peak) {
  return static_cast<std::int64_t>(*explanation.capacity - explanation.reserved) -
         static_cast<std::int64_t>(peak);
}

ordered_json ranks_json(const RunResult& result, const MemoryExplanation& explanation) {
  ordered_json all = ordered_json::array();
  for (std::size_t r = 0; r < explanation.stages.size(); ++r) {
    const MemoryPeak& peak = result.report->ranks[r].memory;
    all.push_back(
        {{"rank", r},
         {"stages", numbers_of(explanation.stages[r])},
         {"peak_memory_bytes", peak.bytes},
         {"headroom_bytes",
          or_null(explanation.capacity, [&](auto) { return headroom(explanation, peak.bytes); })},
         {"memory", judged_json(result.memory[r])},
         {"peak_memory_time_us", to_us(peak.time)},
         {"peak_memory_action", task_json(*result.plan, peak.task)},
         {"memory_by_kind_bytes", memory_json(peak.by_kind)}});
  }
  return all;
}

ordered_json worst_json(const RunResult& result, const MemoryExplanation& explanation) {
  const std::uint32_t worst = index(explanation.worst);
  const auto bytes = static_cast<double>(result.report->ranks[worst].memory.bytes);
  ordered_json above = ordered_json::object();
  for (const KindAboveMean& one : explanation.above_mean) above[name(one.kind)] = one.bytes;
  return {{"rank", worst},
          {"stages", numbers_of(explanation.stages[worst])},
          {"peak_memory_bytes", result.report->ranks[worst].memory.bytes},
          {"mean_bytes", explanation.mean_bytes},
          {"hidden_by_mean", bytes > 0 ? 1 - explanation.mean_bytes / bytes : 0},
          {"above_mean_bytes", std::move(above)}};
}

ordered_json change_json(const TriedChange& change, Time present) {
  const double ratio = present > Time{} ? to_us(change.makespan) / to_us(present) : 1;
  return {{"change", change.change.text()}, {"options", change.change.options()},
          {"rank", index(change.worst)},    {"peak_memory_bytes", change.peak_bytes},
          {"fits", or_null(change.fits())}, {"makespan_us", to_us(change.makespan)},
          {"makespan_ratio", ratio}};
}

const char* aim_name(MemoryAim aim) {
  return aim == MemoryAim::fit ? "fit" : aim == MemoryAim::hold ? "hold" : "buy";
}

/// The most lines of the table of changes; --json has all.
constexpr std::size_t most_changes = 16;

/// A number of bytes that may be negative.
std::string difference_text(double bytes) {
  const std::string size = bytes_text(static_cast<std::uint64_t>(std::llrint(std::abs(bytes))));
  return bytes < 0 ? "-" + size : size;
}

std::string stages_text(const std::vector<Stage>& stages) {
  return fmt::format("{}", fmt::join(numbers_of(stages), " "));
}

std::string ranks_text(const RunResult& result, const MemoryExplanation& explanation,
                       TimeUnit unit) {
  const std::vector<BufferKind> kinds = kinds_held(*result.report);
  std::vector<std::string> heads{"stages", "peak"};
  if (explanation.capacity) heads.emplace_back("headroom");
  heads.insert(heads.end(), {"at", "action"});
  for (const BufferKind kind : kinds) heads.emplace_back(name(kind));
  return table_of_ranks(result.report->ranks.size(), heads, [&](std::size_t r) {
    const MemoryPeak& peak = result.report->ranks[r].memory;
    std::vector<std::string> row{stages_text(explanation.stages[r]), bytes_text(peak.bytes)};
    if (explanation.capacity) {
      row.push_back(difference_text(static_cast<double>(headroom(explanation, peak.bytes))));
    }
    row.push_back(short_time_text(peak.time, unit));
    row.push_back(peak.task == no_task ? "-" : task_text(*result.plan, peak.task));
    for (const BufferKind kind : kinds) {
      row.push_back(bytes_text(peak.by_kind[static_cast<std::size_t>(kind)]));
    }
    return row;
  });
}

/// "stash +15 B, parameters -3 B"
std::string above_text(const std::vector<KindAboveMean>& above) {
  return joined(above, [](const KindAboveMean& one) {
    return fmt::format("{} {}{}", name(one.kind), one.bytes > 0 ? "+" : "",
                       difference_text(one.bytes));
  });
}

std::string worst_text(const RunResult& result, const MemoryExplanation& explanation) {
  const std::uint32_t worst = index(explanation.worst);
  const std::vector<Stage>& stages = explanation.stages[worst];
  const auto peak = result.report->ranks[worst].memory.bytes;
  const double above = static_cast<double>(peak) - explanation.mean_bytes;
  if (above <= 0) return fmt::format("every rank holds {}\n", bytes_text(peak));
  return fmt::format(
      "worst rank: {} ({} {}), {}, {} above the mean\n"
      "difference from the mean: {}\n",
      worst, stages.size() == 1 ? "stage" : "stages", stages_text(stages), bytes_text(peak),
      percent_text(above / explanation.mean_bytes), above_text(explanation.above_mean));
}

std::string heading(const MemoryExplanation& explanation) {
  switch (explanation.aim) {
    case MemoryAim::fit:
      return "it " + std::string(text(*explanation.word)) + "; changes that reduce the peak";
    case MemoryAim::hold:
      return "changes that reduce the peak";
    case MemoryAim::buy:
      break;
  }
  return "everything fits; faster changes that still fit";
}

std::string changes_text(const RunResult& result, const MemoryExplanation& explanation,
                         TimeUnit unit) {
  std::string text = fmt::format("{}, each simulated alone\n", heading(explanation));
  const Time now = result.report->makespan;
  const auto cells = [&](const TriedChange& change) -> TableRow {
    const char* const fits = !change.word ? "-" : *change.fits() ? "yes" : "no";
    return {change.change.options(),
            fits,
            fmt::format("{}", index(change.worst)),
            bytes_text(change.peak_bytes),
            short_time_text(change.makespan, unit),
            now == Time{} ? "" : signed_percent_text(to_us(change.makespan) / to_us(now) - 1)};
  };
  const TableRows rows = table_rows({"change", "fits", "worst rank", "peak", "makespan", "vs now"},
                                    explanation.changes, cells, most_changes);
  text += rows.size() == 1 ? fmt::format("none of {} tried\n", counted(explanation.tried, "change"))
                           : aligned(rows, {0, 1});
  if (explanation.changes.size() > most_changes) {
    text += fmt::format("({} left out; --json has all)\n",
                        counted(explanation.changes.size() - most_changes, "change"));
  }
  if (explanation.not_tried > 0) {
    text += fmt::format("({} not tried, since the run is large)\n",
                        counted(explanation.not_tried, "more change"));
  }
  return text;
}

}  // namespace

ordered_json memory_explanation_json(const RunResult& result,
                                     const MemoryExplanation& explanation) {
  const auto of_change = [&](const TriedChange& change) {
    return change_json(change, result.report->makespan);
  };
  return {{"penstock", 1},
          {"title", result.title},
          {"schedule", result.layout.name},
          {"makespan_us", to_us(result.report->makespan)},
          {"capacity_bytes", or_null(explanation.capacity)},
          {"reserved_bytes", explanation.reserved},
          {"memory", judged_json(worst_memory(result))},
          {"ranks", ranks_json(result, explanation)},
          {"worst", worst_json(result, explanation)},
          {"aim", aim_name(explanation.aim)},
          {"changes", list_json(explanation.changes, of_change)},
          {"changes_tried", explanation.tried},
          {"changes_not_tried", explanation.not_tried},
          {"not_modelled", explanation.not_modelled},
          {"findings", findings_json(result.findings)}};
}

std::string memory_explanation_text(const RunResult& result, const MemoryExplanation& explanation) {
  const TimeUnit unit = unit_for(result.report->makespan);
  std::string text =
      fmt::format("{}: {} {} (times in {})\n", result.title,
                  short_time_text(result.report->makespan, unit), unit.name, unit.name);
  if (explanation.capacity) {
    const std::string apart =
        explanation.reserved == 0
            ? ""
            : fmt::format(", {} of it reserved", bytes_text(explanation.reserved));
    text += fmt::format("capacity per rank: {}{}\n", bytes_text(*explanation.capacity), apart);
    if (explanation.word) text += fit_text(result);
  }
  text += "\npeak memory by rank\n" + ranks_text(result, explanation, unit);
  text += "\n" + worst_text(result, explanation);
  text += findings_text(result, {});
  text += "\n" + changes_text(result, explanation, unit);
  text += "\nnot modelled, so a device holds more than this\n";
  for (const std::string& one : explanation.not_modelled) text += "- " + one + "\n";
  return text;
}

}  // namespace penstock
