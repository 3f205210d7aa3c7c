#include "experiments/input/profiles/profile_snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"

namespace penstock {
namespace {

ordered_json row_json(const MeasuredRow& row) {
  return {{"id", row.id},         {"state", row.suspect ? "suspect" : "valid"},
          {"kernel", row.kernel}, {"pass", row.pass},
          {"shape", row.shape},   {"measured_at", row.measured_at}};
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

ordered_json snapshot_json(const JudgedRows& judged, const Profile& profile,
                           const std::string& at) {
  ordered_json inside = ordered_json::object();
  if (!profile.device.empty()) inside["device"] = profile.device;
  inside["environment"] = environment_of(judged, profile);
  inside["taken_at"] = at;
  inside["rows"] = ordered_json::array();
  for (const MeasuredRow& row : profile.rows) inside["rows"].push_back(row_json(row));
  inside["layers"] = ordered_json::array();
  for (const ProfileEntry& entry : profile.entries) inside["layers"].push_back(entry_json(entry));
  return {
      {"penstock", 1},
      {"description", fmt::format("{} of {}", counted(profile.rows.size(), "row"), judged.source)},
      {"profile", inside}};
}

}  // namespace penstock
