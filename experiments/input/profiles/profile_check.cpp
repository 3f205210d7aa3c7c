#include "experiments/input/profiles/profile_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "sim/base/error.hpp"
#include "validate/calibration/kernel_sweep.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

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
  const auto add = [&](const char* name, const std::optional<double>& value) {
    if (value) object[name] = *value;
  };
  add("forward_us", point.forward_us);
  add("backward_us", point.backward_us);
  add("backward_input_us", point.backward_input_us);
  add("backward_weight_us", point.backward_weight_us);
  object["rows"] = point.rows;
  return object;
}

ordered_json entry_json(const ProfileEntry& entry) {
  ordered_json object{{"name", entry.layer}, {"numbers", ordered_json::object()}};
  for (const auto& [name, value] : entry.numbers) object["numbers"][name] = value;
  if (entry.sequence) object["sequence"] = *entry.sequence;
  if (entry.counts_tokens) object["counts"] = "tokens";
  object["points"] = ordered_json::array();
  for (const ProfilePoint& point : entry.points) object["points"].push_back(point_json(point));
  return object;
}

/// The environment of the first row; all rows are from one machine.
const std::map<std::string, std::string>& environment_of(const JudgedRows& judged,
                                                         const Profile& profile) {
  const auto found =
      std::find_if(judged.rows.begin(), judged.rows.end(),
                   [&](const StoredRow& row) { return index(row.id) == profile.rows.front().id; });
  return found->row.environment;
}

}  // namespace

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
  ordered_json damaged = ordered_json::array();
  for (const UnreadableRow& row : recovery.damaged) {
    damaged.push_back({{"id", index(row.id)}, {"why", row.why}});
  }
  return {{"penstock", 1}, {"readable", recovery.readable}, {"damaged", damaged}};
}

std::string recovery_text(const Recovery& recovery) {
  std::string text = fmt::format("{} can be read", counted(recovery.readable, "row"));
  if (recovery.damaged.empty()) return text + "\n";
  return text +
         fmt::format("; {} cannot: {}\n", recovery.damaged.size(), ranges_text(recovery.damaged));
}

ordered_json snapshot_json(const JudgedRows& judged, const Profile& profile,
                           const std::string& at) {
  ordered_json inside = ordered_json::object();
  if (!profile.device.empty()) inside["device"] = profile.device;
  inside["environment"] = environment_of(judged, profile);
  inside["taken_at"] = at;
  inside["rows"] = ordered_json::array();
  for (const MeasuredRow& row : profile.rows) inside["rows"].push_back(measured_row_json(row));
  inside["layers"] = ordered_json::array();
  for (const ProfileEntry& entry : profile.entries) inside["layers"].push_back(entry_json(entry));
  return {
      {"penstock", 1},
      {"description", fmt::format("{} of {}", counted(profile.rows.size(), "row"), judged.source)},
      {"profile", inside}};
}

}  // namespace penstock
