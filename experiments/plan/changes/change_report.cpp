#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/document.hpp"
#include "experiments/plan/changes/change_plan.hpp"
#include "experiments/show/results/cost_report.hpp"

namespace penstock {
namespace {

std::string word_text(const TriedChange& change) {
  return std::string(change.word ? text(*change.word) : "unknown");
}

/// The training with a change; empty if none is asked.
std::optional<TrainingCost> cost_of(const TriedChange& change, const ChangePlan& plan) {
  if (!plan.training) return std::nullopt;
  return scaled(*plan.training, 1 - gain_of(change, plan.now));
}

TableRow row_of(const TriedChange& change, const ChangePlan& plan) {
  TableRow row{short_time_text(change.makespan), gain_text(change, plan.now),
               bytes_text(change.peak_bytes), word_text(change)};
  if (const auto cost = cost_of(change, plan)) {
    for (std::string& cell : cost_cells(*cost, &*plan.training)) row.push_back(std::move(cell));
  }
  row.emplace_back(text(change.effort));
  row.push_back(change.change.options());
  return row;
}

std::string table_of(const std::vector<TriedChange>& changes, const ChangePlan& plan) {
  TableRow heads{"step time", "vs now", "memory", "fit"};
  if (plan.training) {
    for (std::string& head : cost_heads(*plan.training)) heads.push_back(std::move(head));
  }
  heads.insert(heads.end(), {"to do", "change"});
  const std::size_t last = heads.size() - 1;
  const auto row = [&](const TriedChange& change) { return row_of(change, plan); };
  return aligned(table_rows(std::move(heads), changes, row), {3, last - 1, last});
}

/// Faster changes that fit worse, listed at most.
constexpr std::size_t most_lacking = 5;

std::string list_text(const char* number, const ChangeList& list, const ChangePlan& plan,
                      std::size_t best) {
  const std::vector<TriedChange> listed = cheapest(list, best);
  std::string text = fmt::format("\n{}\n", number);
  text += listed.empty() ? fmt::format("none of {} tried is worth it\n", list.tried)
                         : table_of(listed, plan) + more_text(list.worth.size(), listed.size());
  if (list.lacking.empty()) return text;
  std::vector<TriedChange> lacking = list.lacking;
  if (lacking.size() > most_lacking) lacking.resize(most_lacking);
  return text + fmt::format("{}: faster, but short of memory\n", number) + table_of(lacking, plan) +
         more_text(list.lacking.size(), lacking.size());
}

std::string notes_text(const Scenario& scenario, const ChangePlan& plan) {
  std::string text = fmt::format(
      "\nleft out: what saves less than {} of a step, and other cuts and chunk counts than the "
      "best\n"
      "to do, from a checkpoint: a flag (each device keeps its weights), layers move (between "
      "pipeline ranks), reshard (other degrees or ZeRO level)\n",
      percent_text(least_gain));
  if (plan.not_tried > 0) {
    text += fmt::format("{} not tried, since the run is large\n",
                        counted(plan.not_tried, "more change"));
  }
  if (!plan.now.draws.empty()) {
    text += fmt::format(
        "step times are means of {} draws of documents, the same for each change, ± half of the 95 "
        "% interval; memory is that of the first draw\n",
        plan.now.draws.size());
  }
  if (plan.training) text += "training as it is: " + cost_text(*plan.training) + "\n";
  const std::vector<TriedChange> first = cheapest(plan.one, 1);
  if (first.empty()) return text;
  const ScenarioChange& change = first.front().change;
  const std::string how = change.left_out.empty()
                              ? fmt::format("penstock run {} {}", scenario.source, change.options())
                              : "the scenario that -o FOLDER writes";
  return text + "the fastest single one: " + how + "\n";
}

ordered_json change_json(const TriedChange& change, const ChangePlan& plan) {
  ordered_json document{
      {"change", change.change.text()},
      {"options", change.change.options()},
      {"settings", change.change.settings},
      {"without", change.change.left_out},
      {"makespan_us", to_us(change.makespan)},
      {"gain", gain_of(change, plan.now)},
      {"peak_memory_bytes", change.peak_bytes},
      {"memory", or_null(change.word, [](MemoryWord word) { return text(word); })},
      {"to_do", text(change.effort)}};
  if (const auto within = gain_within(change, plan.now)) {
    document["gain_within"] = {within->first, within->second};
  }
  if (const auto cost = cost_of(change, plan)) {
    document["training"] = cost_json(*cost, &*plan.training);
  }
  return document;
}

ordered_json list_json_of(const ChangeList& list, const ChangePlan& plan) {
  const auto of_change = [&](const TriedChange& change) { return change_json(change, plan); };
  return {{"worth", list_json(list.worth, of_change)},
          {"lacking_memory", list_json(list.lacking, of_change)},
          {"tried", list.tried}};
}

}  // namespace

std::string changed_document(const Scenario& scenario, const TriedChange& change,
                             const std::string& folder) {
  const ScenarioChange& made = change.change;
  nlohmann::json document = moved_document(changed(scenario, made.settings, made.left_out), folder);
  document["description"] =
      fmt::format("{} with {}, written by penstock layout",
                  std::filesystem::path(scenario.source).filename().string(), made.text());
  return document.dump(2) + "\n";
}

std::string change_plan_text(const Scenario& scenario, const RunResult& result,
                             const ChangePlan& plan, std::size_t best) {
  return fmt::format("{}\nnow: step time {}, memory {}, {}\n", result.title,
                     short_time_text(plan.now.makespan), bytes_text(plan.now.peak_bytes),
                     plan.now.word ? text(*plan.now.word) : "the capacity is unknown") +
         list_text("one change", plan.one, plan, best) +
         list_text("two changes", plan.two, plan, best) + notes_text(scenario, plan);
}

ordered_json change_plan_json(const Scenario& scenario, const RunResult& result,
                              const ChangePlan& plan) {
  return {{"penstock", 1},
          {"scenario", scenario.source},
          {"title", result.title},
          {"least_gain", least_gain},
          {"now", change_json(plan.now, plan)},
          {"one_change", list_json_of(plan.one, plan)},
          {"two_changes", list_json_of(plan.two, plan)},
          {"not_tried", plan.not_tried}};
}

}  // namespace penstock
