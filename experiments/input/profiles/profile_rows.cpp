#include "experiments/input/profiles/profile_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "experiments/input/files/table.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/times/profile_lookup.hpp"
#include "hardware_models/times/stated_times.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "validate/machine/host.hpp"
#include "validate/statistics/bootstrap.hpp"
#include "validate/store/environment_keys.hpp"
#include "validate/store/layer_point.hpp"
#include "validate/store/row_content.hpp"
#include "validate/store/store_file.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {
namespace {

constexpr std::string_view run_suffix = ", in a run";

/// A row with the time of a layer.
struct LayerRow {
  const StoredRow* stored;
  RowState state;
  LayerPoint layer;
};

bool is_in_run(const LayerRow& row) { return row.stored->row.point.condition == in_run_condition; }

bool is_usable(const KernelPoint& point) {
  return point.condition == solo_condition || point.condition == in_run_condition;
}

/// At one pass and amount, valid rows come before suspect ones; times in a run before times alone,
/// since plans are runs; newer before older.
bool comes_before(const LayerRow& a, const LayerRow& b) {
  if (a.state != b.state) return a.state < b.state;
  if (is_in_run(a) != is_in_run(b)) return is_in_run(a);
  return std::pair(a.stored->row.measured_at, index(a.stored->id)) >
         std::pair(b.stored->row.measured_at, index(b.stored->id));
}

std::vector<LayerRow> layer_rows(const JudgedRows& judged) {
  std::vector<LayerRow> rows;
  for (std::size_t i = 0; i < judged.rows.size(); ++i) {
    const StoredRow& stored = judged.rows[i];
    const RowState state = judged.judgements[i].state;
    if (state == RowState::retired || !is_usable(stored.row.point)) continue;
    if (find_named(layer_kind_entries(), stored.row.point.kernel) == nullptr) continue;
    if (auto layer = layer_point(stored.row.point)) rows.push_back({&stored, state, *layer});
  }
  return rows;
}

void keep_environment(std::vector<LayerRow>& rows, std::int64_t environment) {
  std::erase_if(rows, [&](const LayerRow& row) { return row.stored->environment != environment; });
}

/// "2 (Xeon, cores 8)": the first environment of each machine.
std::string machines_text(const std::map<std::string, std::int64_t>& machines) {
  return joined(machines, [](const auto& machine) {
    return fmt::format("{} ({})", machine.second, machine.first);
  });
}

/// Keeps the rows of this machine; if there are none, those of the only other one.
void keep_machine(const JudgedRows& judged, std::vector<LayerRow>& rows) {
  std::set<RowId> elsewhere;
  for (const RowJudgement& judgement : judged.judgements) {
    if (judgement.elsewhere) elsewhere.insert(judgement.id);
  }
  const auto is_elsewhere = [&](const LayerRow& row) { return elsewhere.contains(row.stored->id); };
  if (!std::ranges::all_of(rows, is_elsewhere)) {
    std::erase_if(rows, is_elsewhere);
    return;
  }
  std::map<std::string, std::int64_t> machines;
  for (const LayerRow& row : rows) {
    machines.emplace(environment_title(row.stored->row.environment), row.stored->environment);
  }
  if (machines.size() < 2) return;
  throw InputError(
      judged.source, "",
      fmt::format("it has rows of other machines alone, and of several: environments {}; choose "
                  "one for a snapshot: penstock profile snapshot {} --environment N -o FILE.json",
                  machines_text(machines), judged.source));
}

using Value = std::optional<double> ProfilePoint::*;
Value value_of(const std::string& pass) {
  if (pass == "backward") return &ProfilePoint::backward_us;
  if (pass == "backward_input") return &ProfilePoint::backward_input_us;
  if (pass == "backward_weight") return &ProfilePoint::backward_weight_us;
  return &ProfilePoint::forward_us;
}

/// The rows of one entry by amount and pass.
using Amounts = std::map<double, std::map<std::string, LayerRow>>;

std::vector<ProfilePoint> points_of(const Amounts& amounts) {
  std::set<std::string> passes;
  for (const auto& amount : amounts) {
    for (const auto& pass : amount.second) passes.insert(pass.first);
  }
  std::vector<ProfilePoint> points;
  for (const auto& [amount, rows] : amounts) {
    if (rows.size() < passes.size() || !rows.contains("forward")) continue;
    ProfilePoint point{.examples = amount};
    for (const auto& [pass, row] : rows) {
      point.*value_of(pass) = median(row.stored->row.samples_ns) / 1000;
      point.rows.push_back(index(row.stored->id));
    }
    std::ranges::sort(point.rows);
    points.push_back(std::move(point));
  }
  return points;
}

MeasuredRow measured_row(const StoredRow& stored, RowState state) {
  const KernelPoint& point = stored.row.point;
  return {.id = index(stored.id),
          .suspect = state == RowState::suspect,
          .kernel = point.kernel,
          .pass = point.pass + std::string(point.condition == in_run_condition ? run_suffix : ""),
          .shape = point.shape,
          .measured_at = stored.row.measured_at};
}

/// The entries of a profile, each with the ids of its rows.
Profile profile_of(const std::vector<LayerRow>& rows) {
  std::map<std::string, std::pair<const LayerRow*, Amounts>> entries;
  for (const LayerRow& row : rows) {
    LayerPoint same = row.layer;
    same.amount = 1;
    same.pass.clear();
    auto& entry = entries[same.kind + "\n" + kernel_point(same).shape];
    entry.first = &row;
    auto& passes = entry.second[row.layer.amount];
    const auto [found, first] = passes.try_emplace(row.layer.pass, row);
    if (!first && comes_before(row, found->second)) found->second = row;
  }
  Profile profile;
  std::set<std::int64_t> taken;
  for (const auto& [name, entry] : entries) {
    const LayerPoint& layer = entry.first->layer;
    std::vector<ProfilePoint> points = points_of(entry.second);
    if (points.empty()) continue;
    for (const ProfilePoint& point : points) taken.insert(point.rows.begin(), point.rows.end());
    profile.entries.push_back({.layer = layer.kind,
                               .points = std::move(points),
                               .numbers = layer.numbers,
                               .sequence = layer.sequence,
                               .counts_tokens = layer.counts_tokens});
  }
  for (const LayerRow& row : rows) {
    if (taken.contains(index(row.stored->id))) {
      profile.rows.push_back(measured_row(*row.stored, row.state));
    }
  }
  return profile;
}

void check_readable(const JudgedRows& judged) {
  if (judged.unreadable.empty()) return;
  const UnreadableRow& first = judged.unreadable.front();
  throw InputError(
      judged.source, "",
      fmt::format("{} of its rows cannot be read, the first of them {}: {}; save the others: "
                  "penstock profile check {} --recover OUT",
                  judged.unreadable.size(), index(first.id), first.why, judged.source));
}

}  // namespace

Today today_here() {
  return {.environment = host_environment(),
          .build = std::string(kernels_build()),
          .date = utc_text(std::time(nullptr))};
}

JudgedRows judged_rows(const ProfileStore& store, const Today& today) {
  StoredRows stored = store.rows();
  JudgedRows judged{.source = store.path(), .rows = std::move(stored.rows)};
  judged.judgements = judge(judged.rows, today);
  judged.unreadable = std::move(stored.unreadable);
  return judged;
}

LayerProfile layer_profile(const JudgedRows& judged, std::optional<std::int64_t> environment) {
  check_readable(judged);
  std::vector<LayerRow> rows = layer_rows(judged);
  if (environment) {
    keep_environment(rows, *environment);
  } else {
    keep_machine(judged, rows);
  }
  LayerProfile layers{profile_of(rows)};
  if (layers.profile.entries.empty()) {
    throw InputError(
        judged.source, "",
        fmt::format("none of its {} can be used for the forward pass of a layer{}; penstock "
                    "profile check {} says why, penstock calibrate -o {} --layers-of SCENARIO "
                    "measures layers",
                    counted(judged.rows.size(), "row"),
                    environment ? fmt::format(" in environment {}", *environment) : std::string(),
                    judged.source, judged.source));
  }
  layers.profile.source = judged.source;
  layers.left_out = judged.rows.size() - layers.profile.rows.size();
  const auto of_layers = std::ranges::count_if(judged.rows, [](const StoredRow& stored) {
    return layer_point(stored.row.point).has_value();
  });
  layers.profile.unused_rows = static_cast<std::size_t>(of_layers) - layers.profile.rows.size();
  const auto first = std::ranges::find_if(rows, [&](const LayerRow& row) {
    return index(row.stored->id) == layers.profile.rows.front().id;
  });
  const auto& facts = layers.profile.environment = first->stored->row.environment;
  if (const auto device = facts.find("device"); device != facts.end()) {
    layers.profile.device = device->second;
  }
  return layers;
}

std::string profile_checksum(nlohmann::json profile) {
  profile.erase("checksum");
  std::uint64_t sum = 0;
  const nlohmann::json flat = profile.flatten();
  for (const auto& [where, value] : flat.items()) {
    const bool is_number = value.is_number();  // 1 and 1.0 are the same
    sum = text_hash(
        fmt::format("{}={}\n", where,
                    is_number ? nlohmann::json(value.get<double>()).dump() : value.dump()),
        sum);
  }
  return fmt::format("{:016x}", sum);
}

std::vector<MeasuredRow> rows_used(const Profile& profile, const ModelGraph& model) {
  if (profile.rows.empty()) return {};
  const ProfileLookup lookup(profile);
  std::set<std::int64_t> used;
  for (const Layer& layer : model.layers) {
    if (states_times(layer)) continue;
    for (const ProfiledPart& part : lookup.find(layer)) {
      for (const ProfilePoint& point : points_at(*part.entry, part.examples)) {
        used.insert(point.rows.begin(), point.rows.end());
      }
    }
  }
  std::vector<MeasuredRow> rows;
  for (const MeasuredRow& row : profile.rows) {
    if (used.contains(row.id)) rows.push_back(row);
  }
  return rows;
}

void check_rows(const Profile& profile, const ModelGraph& model, bool allows_stale) {
  constexpr std::size_t most_named = 8;
  if (allows_stale) return;
  const std::vector<MeasuredRow> used = rows_used(profile, model);
  std::vector<std::int64_t> suspect;
  for (const MeasuredRow& row : used) {
    if (row.suspect) suspect.push_back(row.id);
  }
  if (suspect.empty()) return;
  const std::size_t named = std::min(suspect.size(), most_named);
  const std::string store = looks_like_store(profile.source) ? profile.source : "STORE";
  throw InputError(
      "/hardware/profile",
      fmt::format(
          "{} of the {} rows used are suspect: {}{}; penstock profile check {} says why, and with "
          "--budget 10 measures them again; to use them as they are: penstock run --allow-stale",
          suspect.size(), used.size(),
          fmt::join(suspect.begin(), suspect.begin() + static_cast<std::ptrdiff_t>(named), ", "),
          named < suspect.size() ? " …" : "", store));
}

bool was_in_run(const MeasuredRow& row) { return row.pass.ends_with(run_suffix); }

nlohmann::ordered_json measured_row_json(const MeasuredRow& row) {
  return {{"id", row.id},         {"state", row.suspect ? "suspect" : "valid"},
          {"kernel", row.kernel}, {"pass", row.pass},
          {"shape", row.shape},   {"measured_at", row.measured_at}};
}

std::string rows_text(const std::vector<MeasuredRow>& used) {
  constexpr std::size_t most_rows = 40;
  if (used.empty()) return "";
  const auto cells = [](const MeasuredRow& row) -> TableRow {
    return {fmt::format("{}", row.id),
            row.suspect ? "suspect" : "valid",
            row.kernel,
            row.pass,
            row.measured_at,
            row.shape};
  };
  return "profile rows used\n" +
         aligned(table_rows({"row", "state", "kernel", "pass", "measured at", "shape"}, used, cells,
                            most_rows),
                 {1, 2, 3, 4, 5}) +
         more_text(used.size(), most_rows);
}

}  // namespace penstock
