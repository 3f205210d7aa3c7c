#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/profiles/profile_report.hpp"
#include "experiments/input/profiles/profile_standing.hpp"

namespace penstock {
namespace {

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
                        result.holds ? "still valid" : "retired");
  }
  if (spot.measured.empty()) text += "  nothing\n";
  const std::pair<const char*, const std::vector<RowId>&> others[] = {
      {"retired with their group", spot.retired_with_group},
      {"copied from before the update, as rows", spot.taken_over},
      {"cannot be measured here", spot.cannot_be_measured},
      {"unchanged, since the machine was not quiet", spot.not_quiet},
      {"not measured, out of time", spot.left}};
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
  ordered_json document{{"penstock", 1}, {"store", judged.source}, {"rows", judged.rows.size()}};
  for (const auto& [standing, count] : counts_of(judged)) document[std::string(standing)] = count;
  ordered_json doubtful = ordered_json::array(), sound = ordered_json::array();
  for (const std::size_t i : most_doubtful_first(judged)) {
    ordered_json& rows = is_sound(judged.judgements[i]) ? sound : doubtful;
    rows.push_back(judgement_json(judged.rows[i], judged.judgements[i]));
  }
  document["not_valid"] = std::move(doubtful);
  document["sound"] = std::move(sound);
  document["unreadable"] = unreadable_json(judged);
  if (measured != nullptr) document["spot_check"] = spot_json(*measured);
  return document;
}

std::string profile_check_text(const JudgedRows& judged, const SpotCheck* measured) {
  constexpr std::size_t most_lines = 60;
  std::vector<std::string> counts;
  for (const auto& [standing, count] : counts_of(judged)) {
    counts.push_back(fmt::format("{} {}", count, standing));
  }
  std::string text =
      fmt::format("{}: {}\n", counted(judged.rows.size(), "row"), fmt::join(counts, ", "));
  if (!judged.rows.empty()) {
    text += "\n" + rows_table(judged, most_doubtful_first(judged), most_lines);
  }
  text += unreadable_text(judged);
  if (measured != nullptr) text += spot_text(*measured);
  const std::string next = next_steps(judged);
  if (!next.empty()) text += "\n" + next;
  return valid_text(text);
}

}  // namespace penstock
