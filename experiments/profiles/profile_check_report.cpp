#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "experiments/files/json_output.hpp"
#include "experiments/files/plain_text.hpp"
#include "experiments/files/table.hpp"
#include "experiments/profiles/profile_report.hpp"
#include "experiments/profiles/profile_standing.hpp"

namespace penstock {
namespace {

bool is_sound(const RowJudgement& judgement) {
  return judgement.superseded_by || judgement.state == RowState::valid;
}

ordered_json ids_json(const std::vector<RowId>& ids) {
  ordered_json all = ordered_json::array();
  for (const RowId id : ids) all.push_back(index(id));
  return all;
}

ordered_json spot_json(const SpotCheck& spot) {
  ordered_json measured = ordered_json::array();
  for (const SpotResult& result : spot.measured) {
    measured.push_back(
        {{"id", index(result.id)},
         {"holds", result.holds},
         {"change", result.change},
         {"again", result.again ? ordered_json(index(*result.again)) : ordered_json()}});
  }
  return {{"measured", measured},
          {"retired_with_group", ids_json(spot.retired_with_group)},
          {"taken_over", ids_json(spot.taken_over)},
          {"cannot_be_measured", ids_json(spot.cannot_be_measured)},
          {"not_quiet", ids_json(spot.not_quiet)},
          {"left", ids_json(spot.left)}};
}

std::string ids_text(const std::vector<RowId>& ids) {
  std::vector<std::int64_t> numbers;
  for (const RowId id : ids) numbers.push_back(index(id));
  return fmt::format("{}", fmt::join(numbers, ", "));
}

std::string spot_text(const SpotCheck& spot) {
  std::string text = "\nmeasured again\n";
  for (const SpotResult& result : spot.measured) {
    text += fmt::format("  row {}: {}, {}\n", index(result.id), signed_percent_text(result.change),
                        result.holds ? "it holds" : "retired");
  }
  if (spot.measured.empty()) text += "  nothing\n";
  const std::pair<const char*, const std::vector<RowId>&> others[] = {
      {"retired with their group", spot.retired_with_group},
      {"taken over from before the update, as rows", spot.taken_over},
      {"cannot be measured here", spot.cannot_be_measured},
      {"left as they are, since the machine was not quiet", spot.not_quiet},
      {"left for want of time", spot.left}};
  for (const auto& [what, ids] : others) {
    if (!ids.empty()) text += fmt::format("  {}: {}\n", what, ids_text(ids));
  }
  return text;
}

}  // namespace

bool all_valid(const JudgedRows& judged) {
  return judged.unreadable.empty() &&
         std::all_of(judged.judgements.begin(), judged.judgements.end(), is_sound);
}

ordered_json profile_check_json(const JudgedRows& judged, const SpotCheck* measured) {
  ordered_json rows = ordered_json::array();
  std::map<std::string_view, std::size_t> counts;
  for (std::size_t i = 0; i < judged.rows.size(); ++i) {
    ++counts[standing_of(judged.judgements[i])];
    if (is_sound(judged.judgements[i])) continue;
    rows.push_back(judgement_json(judged.rows[i], judged.judgements[i]));
  }
  ordered_json document{{"penstock", 1}, {"store", judged.source}, {"rows", judged.rows.size()}};
  for (const std::string_view standing : standings) {
    document[std::string(standing)] = counts[standing];
  }
  document["not_valid"] = rows;
  document["unreadable"] = unreadable_json(judged);
  if (measured != nullptr) document["spot_check"] = spot_json(*measured);
  return document;
}

std::string profile_check_text(const JudgedRows& judged, const SpotCheck* measured) {
  constexpr std::size_t most_lines = 60;
  std::map<std::string_view, std::size_t> counts;
  std::vector<std::vector<std::string>> table{{"row", "state", "kernel", "pass", "shape", "why"}};
  for (std::size_t i = 0; i < judged.rows.size(); ++i) {
    const RowJudgement& judgement = judged.judgements[i];
    ++counts[standing_of(judgement)];
    if (is_sound(judgement)) continue;
    const KernelPoint& point = judged.rows[i].row.point;
    table.push_back({fmt::format("{}", index(judgement.id)), std::string(standing_of(judgement)),
                     point.kernel, point.pass, point.shape,
                     fmt::format("{}", fmt::join(judgement.reasons, "; "))});
  }
  std::string text = fmt::format("{} rows: {} valid, {} suspect, {} retired, {} unfit, {} past\n",
                                 judged.rows.size(), counts["valid"], counts["suspect"],
                                 counts["retired"], counts["unfit"], counts["past"]);
  const std::size_t wrong = table.size() - 1;
  if (wrong > most_lines) table.resize(most_lines + 1);
  if (wrong > 0) text += "\n" + aligned(table, {1, 2, 3, 4, 5});
  if (wrong > most_lines) text += fmt::format("({} more; --json has all)\n", wrong - most_lines);
  text += unreadable_text(judged);
  if (measured != nullptr) text += spot_text(*measured);
  return valid_text(text);
}

}  // namespace penstock
