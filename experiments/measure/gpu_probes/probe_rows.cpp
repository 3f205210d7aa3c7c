#include "experiments/measure/gpu_probes/probe_rows.hpp"

#include <fmt/format.h>

#include <set>
#include <tuple>

#include "sim/base/error.hpp"
#include "validate/calibration/gpu/device_probe.hpp"
#include "validate/store/environment_keys.hpp"
#include "validate/store/layer_point.hpp"

namespace penstock {
namespace {

/// What makes two rows the same measurement.
std::string measurement_key(const ProfileRow& row) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", row.point.kernel, row.point.pass,
                     row.point.shape, row.point.condition, row.build, row.measured_at,
                     identity_of(row.environment), fmt::join(row.samples_ns, " "));
}

bool is_probe(const ProfileRow& row) {
  return row.environment.contains("device") && neighbours_of(row.point.condition) &&
         shape_numbers(row.point.shape);
}

/// "2 (NVIDIA H200, sms 132 …)" by identity.
std::map<std::string, std::string> gpus_of(const JudgedRows& judged) {
  std::map<std::string, std::string> gpus;
  for (const StoredRow& stored : judged.rows) {
    if (!is_probe(stored.row)) continue;
    gpus.try_emplace(
        identity_of(stored.row.environment),
        fmt::format("{} ({})", stored.environment, environment_title(stored.row.environment)));
  }
  return gpus;
}

InputError refused_rows(const JudgedRows& judged, const std::string& why) {
  return InputError(fmt::format("{}: {}", judged.source, why));
}

std::string chosen_gpu(const JudgedRows& judged, std::optional<std::int64_t> environment) {
  const auto gpus = gpus_of(judged);
  if (gpus.empty()) {
    throw refused_rows(judged,
                       "it has no measurements of a GPU; penstock calibrate --import OUT -o STORE "
                       "adds those of penstock_gpu_check --all OUT");
  }
  std::string all;
  for (const auto& [identity, title] : gpus) all += (all.empty() ? "" : ", ") + title;
  if (!environment) {
    if (gpus.size() == 1) return gpus.begin()->first;
    throw refused_rows(judged,
                       fmt::format("it has measurements of several GPUs: environments {}; choose "
                                   "one with --environment N",
                                   all));
  }
  for (const StoredRow& stored : judged.rows) {
    if (stored.environment == *environment && is_probe(stored.row)) {
      return identity_of(stored.row.environment);
    }
  }
  throw refused_rows(judged,
                     fmt::format("environment {} has no measurements of a GPU; those with some: {}",
                                 *environment, all));
}

}  // namespace

AddedProbes add_probes(ProfileStore& store, const std::vector<ProfileRow>& rows) {
  std::set<std::string> present;
  for (const StoredRow& stored : store.rows().rows) present.insert(measurement_key(stored.row));
  std::vector<ProfileRow> fresh;
  for (const ProfileRow& row : rows) {
    if (present.insert(measurement_key(row)).second) fresh.push_back(row);
  }
  return {store.add(fresh), rows.size() - fresh.size()};
}

JudgedRows judged_probes(const std::string& source, const std::vector<ProfileRow>& rows,
                         const Today& today) {
  JudgedRows judged{.source = source, .rows = {}, .judgements = {}, .unreadable = {}};
  for (const ProfileRow& row : rows) {
    const RowId id{static_cast<std::int64_t>(judged.rows.size()) + 1};
    judged.rows.push_back({.id = id, .row = row, .environment = 1, .schema = store_schema});
  }
  judged.judgements = judge(judged.rows, today);
  return judged;
}

ProbeRows probe_rows(const JudgedRows& judged, std::optional<std::int64_t> environment) {
  const std::string gpu = chosen_gpu(judged, environment);
  ProbeRows chosen;
  for (std::size_t i = 0; i < judged.rows.size(); ++i) {
    const ProfileRow& row = judged.rows[i].row;
    const RowJudgement& judgement = judged.judgements[i];
    if (!is_probe(row) || identity_of(row.environment) != gpu || judgement.superseded_by) continue;
    chosen.environment = row.environment;
    if (judgement.state == RowState::retired) {
      ++chosen.retired;
      continue;
    }
    if (judgement.state == RowState::suspect) ++chosen.suspect;
    chosen.rows.push_back(row);
  }
  return chosen;
}

}  // namespace penstock
