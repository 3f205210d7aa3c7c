#include "experiments/input/profiles/added_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/profiles/profile_standing.hpp"

namespace penstock {
namespace {

/// A reason without its first number, which varies by row: "it has … samples, fewer than 5".
std::string without_number(const std::string& reason) {
  constexpr std::string_view digits = "0123456789.";
  const std::size_t first = reason.find_first_of("0123456789");
  if (first == std::string::npos) return reason;
  const std::size_t end = std::min(reason.find_first_not_of(digits, first), reason.size());
  return reason.substr(0, first) + "…" + reason.substr(end);
}

/// By reason: the number of rows that are not valid.
std::map<std::string, std::size_t> counts_of_reasons(const JudgedRows& rows) {
  std::map<std::string, std::size_t> counts;
  for (const RowJudgement& judgement : rows.judgements) {
    if (is_sound(judgement)) continue;
    std::set<std::string> reasons;
    for (const std::string& reason : judgement.reasons) reasons.insert(without_number(reason));
    for (const std::string& reason : reasons) ++counts[reason];
  }
  return counts;
}

}  // namespace

JudgedRows judged_rows(const ProfileStore& store, const std::vector<RowId>& ids,
                       const Today& today) {
  const JudgedRows all = judged_rows(store, today);
  const std::set<RowId> wanted(ids.begin(), ids.end());
  JudgedRows some{.source = all.source, .rows = {}, .judgements = {}, .unreadable = {}};
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    if (!wanted.contains(all.rows[i].id)) continue;
    some.rows.push_back(all.rows[i]);
    some.judgements.push_back(all.judgements[i]);
  }
  return some;
}

ordered_json added_rows_json(const JudgedRows& added) {
  ordered_json document{{"file", added.source}, {"added", added.rows.size()}};
  for (const auto& [standing, count] : counts_of(added)) document[std::string(standing)] = count;
  document["reasons"] = counts_of_reasons(added);
  document["not_valid"] = ordered_json::array();
  for (const std::size_t i : most_doubtful_first(added)) {
    if (is_sound(added.judgements[i])) continue;
    document["not_valid"].push_back(judgement_json(added.rows[i], added.judgements[i]));
  }
  return document;
}

std::string added_rows_text(const JudgedRows& added, bool is_of_this_machine) {
  constexpr std::size_t most_lines = 20;
  std::vector<std::string> counts;
  for (const auto& [standing, count] : counts_of(added)) {
    if (count > 0) counts.push_back(fmt::format("{} {}", count, standing));
  }
  std::vector<std::size_t> doubtful = most_doubtful_first(added);
  std::erase_if(doubtful, [&](std::size_t i) { return is_sound(added.judgements[i]); });
  std::string text = fmt::format("{} added to {}{}{}\n", counted(added.rows.size(), "row"),
                                 added.source, counts.empty() ? "" : ": ", fmt::join(counts, ", "));
  for (const auto& [reason, count] : counts_of_reasons(added)) {
    text += fmt::format("  {}: {}\n", counted(count, "row"), reason);
  }
  text = valid_text(text + rows_table(added, doubtful, most_lines));
  return is_of_this_machine ? text + next_steps(added) : text;
}

}  // namespace penstock
