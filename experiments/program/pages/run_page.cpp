#include "experiments/program/pages/run_page.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/document.hpp"
#include "experiments/plan/sweeps/configured.hpp"
#include "experiments/plan/sweeps/row_text.hpp"
#include "experiments/program/pages/live_timeline.hpp"
#include "experiments/show/explanation/explanation.hpp"
#include "experiments/show/results/result_table.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/base/error.hpp"
#include "sim/report/critical_path.hpp"

namespace penstock {
namespace {

constexpr double gibibyte_of_page = 1073741824.0;

PageCell number_cell(double value) { return {number_text(value), fmt::format("{}", value)}; }

using nlohmann::ordered_json;

constexpr double timeline_width = 900;

/// A word of a command line, quoted for the shell where it needs that.
std::string shell_word(const std::string& text) {
  const bool plain = text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                         "/=._-+:,%@") == std::string::npos;
  if (plain && !text.empty()) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

PageFigure picture_of(const Plan& plan, const Timeline& timeline, const std::string& title,
                      const TimelineExplanation& explanation) {
  PictureOptions options;
  options.width = timeline_width;
  const bool path = !explanation.critical_path.empty();
  return {path ? "timeline; idle time by cause, the critical path outlined"
               : "timeline; idle time by cause",
          draw_run(PictureFormat::svg, plan, timeline, title, options, explanation)};
}

std::vector<PageText> texts_of_run(const Scenario& scenario, const RunResult& result,
                                   const Explanation& explanation) {
  return {{"Where the time goes", explanation_text(result, explanation)},
          {"Scenario", document_text(scenario)}};
}

ordered_json configuration_in(std::string_view row) {
  return row_document(row, 1)["configuration"];
}

/// Changes are simulated only where the run does not fit: a page may have many runs.
Explanation explained(const Scenario& scenario, const RunResult& result) {
  return does_not_fit(result) ? explain(scenario, result) : explain(result);
}

/// An unfinished run has its findings.
PageDetail detail_of_run(const Scenario& scenario, const RunResult& result) {
  if (!result.report) {
    return {{{"What was found", result_table(result)}, {"Scenario", document_text(scenario)}}, {}};
  }
  const Explanation explanation = explained(scenario, result);
  return {texts_of_run(scenario, result, explanation),
          {picture_of(*result.plan, result.timeline, result.title,
                      {explanation.gaps, tasks_of(result.report->critical_path)})}};
}

}  // namespace

ResultPage timeline_page(const PagedRun& run) {
  ResultPage page{.title = run.title,
                  .summary = run.summary,
                  .table_heading = "Ranks",
                  .columns = {{"rank", "rank", true},
                              {"busy, ms", "time in actions", true},
                              {"idle, ms", "makespan without busy", true},
                              {"idle, %", "of the makespan", true},
                              {"peak memory, GiB", "largest memory", true},
                              {"fit", "fits, may fit or does not fit", false},
                              {"actions", "actions", true}}};
  if (run.report.makespan == Time{}) {
    page.notes.emplace_back("No op takes time, so there is no timeline.");
  } else if (run.plan.tasks() <= most_live_tasks) {
    page.live = live_timeline(run.plan, run.timeline, tasks_of(run.report.critical_path));
  } else {
    page.notes.push_back(
        fmt::format("The timeline is a picture: it has more than {} tasks.", most_live_tasks));
    page.figures.push_back(
        picture_of(run.plan, run.timeline, run.title, {idle_gaps(run.plan, run.timeline), {}}));
  }
  const bool knows = knows_memory(run.report);
  const double makespan_ms = to_us(run.report.makespan) / 1000;
  for (const RankReport& rank : run.report.ranks) {
    const double idle_ms = to_us(rank.idle) / 1000;
    const std::size_t number = page.rows.size();
    const auto word = number < run.memory.size() ? run.memory[number].word : std::nullopt;
    page.rows.push_back(
        {{std::to_string(number)},
         number_cell(to_us(rank.busy) / 1000),
         number_cell(idle_ms),
         number_cell(makespan_ms > 0 ? 100 * idle_ms / makespan_ms : 0),
         knows ? number_cell(static_cast<double>(rank.memory.bytes) / gibibyte_of_page)
               : PageCell{},
         {std::string(word ? text(*word) : "")},
         {std::to_string(rank.actions)}});
  }
  return page;
}

ResultPage run_page(const Scenario& scenario, const RunResult& result) {
  ResultPage page = timeline_page(
      {result.title, run_summary(result) + numbered_notes(result) + findings_text(result, {}),
       *result.plan, result.timeline, *result.report, result.memory});
  page.texts = texts_of_run(scenario, result, explained(scenario, result));
  return page;
}

PageText settings_of_row(std::string_view row) {
  std::string text;
  const ordered_json configuration = configuration_in(row);
  for (const auto& [pointer, value] : configuration.items()) {
    const std::string word = value.is_string() ? value.get<std::string>() : value.dump();
    text += fmt::format("{}--set {}", text.empty() ? "" : " ",
                        shell_word(fmt::format("{}={}", pointer, word)));
  }
  return {"Configuration", text};
}

void check_base(std::string_view row, const SweepRequest& sweep) {
  const ordered_json document = row_document(row, 1);
  const std::string expected =
      hash_of_texts({hash_of_base(sweep), std::string(configuration_text(row))});
  const std::string hash = document.value("hash", "");
  if (hash == expected) return;
  throw InputError(fmt::format(
      "row {} is of another scenario: its hash is {}, of this one it would be {}; give the "
      "scenario or sweep file, and the --set, with which the rows were made",
      document["item"].dump(), hash, expected));
}

PageDetail detail_of_row(std::string_view row, const SweepRequest& sweep) {
  check_base(row, sweep);
  std::vector<std::string> pointers, values;
  const ordered_json configuration = configuration_in(row);
  for (const auto& [pointer, value] : configuration.items()) {
    pointers.push_back(pointer);
    values.push_back(value.dump());
  }
  PageDetail detail;
  try {
    const Scenario scenario =
        scenario_from(configured(*sweep.base, pointers, values), sweep.source);
    detail = detail_of_run(scenario, run(scenario));
  } catch (const InputError& error) {
    detail.texts.push_back({"What was found", error.what()});
  } catch (const UsageError& error) {
    detail.texts.push_back({"What was found", error.what()});
  }
  detail.texts.insert(detail.texts.begin(), settings_of_row(row));
  return detail;
}

}  // namespace penstock
