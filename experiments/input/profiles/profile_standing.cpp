#include "experiments/input/profiles/profile_standing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"

namespace penstock {

std::string_view standing_of(const RowJudgement& judgement) {
  if (judgement.superseded_by) return "past";
  return judgement.unfit ? "unfit" : name(judgement.state);
}

std::vector<std::pair<std::string_view, std::size_t>> counts_of(const JudgedRows& judged) {
  std::vector<std::pair<std::string_view, std::size_t>> counts;
  for (const std::string_view standing : standings) {
    const auto count =
        std::count_if(judged.judgements.begin(), judged.judgements.end(),
                      [&](const RowJudgement& one) { return standing_of(one) == standing; });
    counts.emplace_back(standing, static_cast<std::size_t>(count));
  }
  return counts;
}

bool is_sound(const RowJudgement& judgement) {
  return judgement.superseded_by || judgement.state == RowState::valid;
}

std::vector<std::size_t> most_doubtful_first(const JudgedRows& judged) {
  constexpr std::array<std::string_view, 5> doubt{"suspect", "retired", "unfit", "valid", "past"};
  const auto rank = [&](std::size_t i) {
    const RowJudgement& one = judged.judgements[i];
    const auto found = std::find(doubt.begin(), doubt.end(), standing_of(one));
    return std::pair(found - doubt.begin(), -one.score);
  };
  std::vector<std::size_t> places(judged.rows.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return places;
}

std::string rows_table(const JudgedRows& judged, const std::vector<std::size_t>& places,
                       std::size_t most_lines) {
  if (places.empty()) return "";
  std::vector<std::vector<std::string>> table{{"row", "state", "kernel", "pass", "shape", "why"}};
  for (const std::size_t i : places) {
    if (table.size() > most_lines) break;
    const RowJudgement& judgement = judged.judgements[i];
    const KernelPoint& point = judged.rows[i].row.point;
    table.push_back({fmt::format("{}", index(judgement.id)), std::string(standing_of(judgement)),
                     point.kernel, point.pass, point.shape,
                     fmt::format("{}", fmt::join(judgement.reasons, "; "))});
  }
  std::string text = aligned(table, {1, 2, 3, 4, 5});
  if (places.size() > most_lines) {
    text += fmt::format("({} more; --json has all)\n", places.size() - most_lines);
  }
  return text;
}

std::string next_steps(const JudgedRows& judged) {
  std::string text;
  for (const auto& [standing, count] : counts_of(judged)) {
    if (count == 0) continue;
    if (standing == "suspect") {
      text += fmt::format(
          "suspect rows are refused by run unless --allow-stale is given; measure them again: "
          "penstock profile check {} --budget 10\n",
          judged.source);
    } else if (standing == "retired") {
      text += fmt::format(
          "retired rows are never used; replace them on a quiet machine, rows of layers with "
          "--layers-of SCENARIO: penstock calibrate -o {}\n",
          judged.source);
    }
  }
  return text;
}

ordered_json judgement_json(const StoredRow& stored, const RowJudgement& judgement) {
  const KernelPoint& point = stored.row.point;
  return {{"id", index(stored.id)},
          {"state", name(judgement.state)},
          {"unfit", judgement.unfit},
          {"state_in_store", name(stored.state)},
          {"score", judgement.score},
          {"reasons", judgement.reasons},
          {"of_this_machine", !judgement.elsewhere},
          {"superseded_by", judgement.superseded_by ? ordered_json(index(*judgement.superseded_by))
                                                    : ordered_json()},
          {"kernel", point.kernel},
          {"pass", point.pass},
          {"shape", point.shape},
          {"condition", point.condition},
          {"environment", stored.environment},
          {"measured_at", stored.row.measured_at}};
}

ordered_json unreadable_json(const JudgedRows& judged) {
  ordered_json all = ordered_json::array();
  for (const UnreadableRow& row : judged.unreadable) {
    all.push_back({{"id", index(row.id)}, {"why", row.why}});
  }
  return all;
}

std::string unreadable_text(const JudgedRows& judged) {
  std::string text;
  for (const UnreadableRow& row : judged.unreadable) {
    text += fmt::format("row {} cannot be read: {}\n", index(row.id), row.why);
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace penstock
