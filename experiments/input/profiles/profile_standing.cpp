#include "experiments/input/profiles/profile_standing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string_view>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "sim/base/error.hpp"
#include "validate/calibration/kernel_sweep.hpp"
#include "validate/statistics/summary.hpp"

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

std::optional<std::vector<double>> measured_here(const KernelPoint& point, int repeats) {
  return sample_kernel(point, static_cast<std::uint32_t>(repeats));
}

/// The current time of a fixed piece of work; 0 if it cannot be measured.
double canary_here() {
  const auto samples = measured_here({.kernel = "canary", .condition = "solo"}, 10);
  return samples ? median(*samples) : 0;
}

/// Opens a store; the error for a damaged one states how much of it is readable.
ProfileStore opened(const std::string& path, ProfileStore::Access access) {
  try {
    return ProfileStore(path, access);
  } catch (const InputError& error) {
    const std::string text = error.what();
    if (text.find("the file is damaged") == std::string::npos) throw;
    const Recovery recovery = examine_store(path);
    throw InputError(fmt::format("{}\n{}", text, recovery_text(recovery)));
  }
}

/// Judged rows. A row that is not valid although no rule applies has the reason of its last
/// verdict.
JudgedRows judged_with_last_words(const ProfileStore& store, const Today& today) {
  JudgedRows judged = judged_rows(store, today);
  for (RowJudgement& judgement : judged.judgements) {
    if (judgement.state == RowState::valid || !judgement.reasons.empty()) continue;
    const std::vector<RowVerdict> verdicts = store.verdicts(judgement.id);
    if (!verdicts.empty()) judgement.reasons.push_back(verdicts.back().why);
  }
  return judged;
}

/// "3-17, 20": consecutive numbers as a range.
std::string ranges_text(const std::vector<UnreadableRow>& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t last = i;
    while (last + 1 < rows.size() && index(rows[last + 1].id) == index(rows[last].id) + 1) ++last;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}", index(rows[i].id));
    if (last > i) text += fmt::format("-{}", index(rows[last].id));
    i = last + 1;
  }
  return text;
}

ordered_json point_json(const ProfilePoint& point) {
  ordered_json object{{"examples", point.examples}};
  for (const ProfileNumber& number : profile_numbers) {
    if (point.*number.value) object[number.name] = *(point.*number.value);
  }
  object["rows"] = point.rows;
  return object;
}

ordered_json entry_json(const ProfileEntry& entry) {
  ordered_json object{{"name", entry.layer}, {"numbers", ordered_json::object()}};
  for (const auto& [name, value] : entry.numbers) object["numbers"][name] = value;
  if (entry.sequence) object["sequence"] = *entry.sequence;
  if (entry.counts_tokens) object["counts"] = "tokens";
  object["points"] = list_json(entry.points, point_json);
  return object;
}

}  // namespace

std::string_view standing_of(const RowJudgement& judgement) {
  if (judgement.superseded_by) return "past";
  return judgement.unfit ? "unfit" : name(judgement.state);
}

std::vector<std::pair<std::string_view, std::size_t>> counts_of(const JudgedRows& judged) {
  std::vector<std::pair<std::string_view, std::size_t>> counts;
  for (const std::string_view standing : standings) {
    const auto count = std::ranges::count_if(
        judged.judgements, [&](const RowJudgement& one) { return standing_of(one) == standing; });
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
    const auto found = std::ranges::find(doubt, standing_of(one));
    return std::pair(found - doubt.begin(), -one.score);
  };
  std::vector<std::size_t> places(judged.rows.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return places;
}

std::string rows_table(const JudgedRows& judged, const std::vector<std::size_t>& places,
                       std::size_t most_lines) {
  if (places.empty()) return "";
  const auto cells = [&](std::size_t i) -> TableRow {
    const RowJudgement& judgement = judged.judgements[i];
    const KernelPoint& point = judged.rows[i].row.point;
    return {fmt::format("{}", index(judgement.id)),
            std::string(standing_of(judgement)),
            point.kernel,
            point.pass,
            point.shape,
            fmt::format("{}", fmt::join(judgement.reasons, "; "))};
  };
  return aligned(table_rows({"row", "state", "kernel", "pass", "shape", "why"}, places, cells,
                            most_lines),
                 {1, 2, 3, 4, 5}) +
         more_text(places.size(), most_lines);
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
  const auto number = [](RowId id) { return index(id); };
  return {{"id", index(stored.id)},
          {"state", name(judgement.state)},
          {"unfit", judgement.unfit},
          {"state_in_store", name(stored.state)},
          {"score", judgement.score},
          {"reasons", judgement.reasons},
          {"of_this_machine", !judgement.elsewhere},
          {"superseded_by", or_null(judgement.superseded_by, number)},
          {"kernel", point.kernel},
          {"pass", point.pass},
          {"shape", point.shape},
          {"condition", point.condition},
          {"environment", stored.environment},
          {"measured_at", stored.row.measured_at}};
}

ordered_json unreadable_json(const std::vector<UnreadableRow>& rows) {
  return list_json(rows, [](const UnreadableRow& row) {
    return ordered_json{{"id", index(row.id)}, {"why", row.why}};
  });
}

std::string unreadable_text(const JudgedRows& judged) {
  std::string text;
  for (const UnreadableRow& row : judged.unreadable) {
    text += fmt::format("row {} cannot be read: {}\n", index(row.id), row.why);
  }
  return text.empty() ? text : "\n" + text;
}

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
  const std::string counts = joined(counts_of(added), [](const auto& of_standing) {
    return of_standing.second > 0 ? fmt::format("{} {}", of_standing.second, of_standing.first)
                                  : std::string();
  });
  std::vector<std::size_t> doubtful = most_doubtful_first(added);
  std::erase_if(doubtful, [&](std::size_t i) { return is_sound(added.judgements[i]); });
  std::string text = fmt::format("{} added to {}{}{}\n", counted(added.rows.size(), "row"),
                                 added.source, counts.empty() ? "" : ": ", counts);
  for (const auto& [reason, count] : counts_of_reasons(added)) {
    text += fmt::format("  {}: {}\n", counted(count, "row"), reason);
  }
  text = valid_text(text + rows_table(added, doubtful, most_lines));
  return is_of_this_machine ? text + next_steps(added) : text;
}

CheckedStore plain_check(const std::string& path, bool records) {
  ProfileStore store =
      opened(path, records ? ProfileStore::Access::write : ProfileStore::Access::read);
  const Today today = today_here();
  CheckedStore checked{judged_with_last_words(store, today), {}};
  if (records) record(store, checked.judged.rows, checked.judged.judgements, today);
  return checked;
}

CheckedStore measured_check(const std::string& path, double budget_s) {
  ProfileStore store = opened(path, ProfileStore::Access::write);
  const Today today = today_here();
  const JudgedRows before = judged_rows(store, today);
  record(store, before.rows, before.judgements, today);
  SpotCheck spot = spot_check(store, today, measured_here, canary_here, {.seconds = budget_s});
  return {judged_with_last_words(store, today), std::move(spot)};
}

ordered_json recovery_json(const Recovery& recovery) {
  return {{"penstock", 1},
          {"readable", recovery.readable},
          {"damaged", unreadable_json(recovery.damaged)},
          {"count_known", recovery.count_is_known}};
}

std::string recovery_text(const Recovery& recovery) {
  std::string text = fmt::format("{} can be read", counted(recovery.readable, "row"));
  if (!recovery.damaged.empty()) {
    text += fmt::format("; {} cannot: {}", recovery.damaged.size(), ranges_text(recovery.damaged));
  }
  if (!recovery.count_is_known) text += "; nobody knows how many there were";
  return text + "\n";
}

ordered_json snapshot_json(const JudgedRows& judged, const Profile& profile,
                           const std::string& at) {
  ordered_json inside = ordered_json::object();
  if (!profile.device.empty()) inside["device"] = profile.device;
  inside["environment"] = profile.environment;
  inside["taken_at"] = at;
  inside["rows"] = list_json(profile.rows, measured_row_json);
  inside["layers"] = list_json(profile.entries, entry_json);
  inside["checksum"] = profile_checksum(nlohmann::json::parse(printed(inside)));
  return {{"penstock", 1},
          {"description", fmt::format("{} of {}, written by penstock",
                                      counted(profile.rows.size(), "row"), judged.source)},
          {"profile", inside}};
}

}  // namespace penstock
