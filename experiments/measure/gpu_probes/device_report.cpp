#include "experiments/measure/gpu_probes/device_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "sim/base/error.hpp"
#include "validate/backends/gpu/gpu_backend.hpp"
#include "validate/calibration/gpu/device_fit.hpp"
#include "validate/calibration/gpu/device_probe.hpp"
#include "validate/store/environment_keys.hpp"
#include "validate/store/layer_point.hpp"

namespace penstock {
namespace {

std::string fact_of(const std::map<std::string, std::string>& environment, const char* key) {
  const auto found = environment.find(key);
  return found == environment.end() ? "" : found->second;
}

/// "NVIDIA H200, 132 SMs, cc 9.0, driver 580.159.03, CUDA 13.0, cuBLASLt 13.1.0, Xeon"
std::string device_title(const std::map<std::string, std::string>& environment) {
  constexpr std::pair<const char*, const char*> words[] = {
      {"cc", "cc "}, {"driver", "driver "}, {"cudart", "CUDA "}, {"cublaslt", "cuBLASLt "}};
  std::string title = fact_of(environment, "device");
  if (const std::string sms = fact_of(environment, "sms"); !sms.empty())
    title += ", " + sms + " SMs";
  for (const auto& [key, word] : words) {
    if (const std::string value = fact_of(environment, key); !value.empty()) {
      title += ", " + (word + value);
    }
  }
  const std::string cpu = fact_of(environment, "cpu");
  return cpu.empty() ? title : title + ", " + cpu;
}

/// Whether it was to run on part of the SMs, and the driver did not split them at that time.
bool is_on_unsplit_part(const ProfileRow& row) {
  if (fact_of(row.environment, "mode") != "streams_unpartitioned") return false;
  const auto sizes = shape_numbers(row.point.shape);
  return sizes && sizes->contains("sms");
}

std::string number_line(const FittedNumber& number) {
  return fmt::format("  {}: {} {} (95 %: {} to {})\n", number.name, number_text(number.value),
                     number.unit == "us" ? "µs" : number.unit, number_text(number.interval.low),
                     number_text(number.interval.high));
}

std::string errors_line(const DeviceFit& fit, bool held_out) {
  const ErrorSummary errors = errors_of(fit, held_out);
  if (errors.count == 0) return "";
  return fmt::format("  {}: mean error {}, worst {}\n",
                     counted(errors.count, held_out ? "predicted point" : "fitted point"),
                     percent_text(errors.mean), percent_text(errors.most));
}

/// Their places, or of many those with the largest errors, in order.
std::vector<std::size_t> shown_points(const DeviceFit& fit, std::size_t most) {
  std::vector<std::size_t> places(fit.points.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (places.size() <= most) return places;
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(fit.points[a].error()) > std::abs(fit.points[b].error());
  });
  places.resize(most);
  std::sort(places.begin(), places.end());
  return places;
}

std::string points_table(const DeviceFit& fit) {
  constexpr std::size_t most = 12;
  std::vector<std::vector<std::string>> rows{
      {"  kernel", "shape", "condition", "µs", "fitted µs", "error"}};
  if (!fit.rate_unit.empty()) rows.front().push_back(fit.rate_unit);
  for (const std::size_t place : shown_points(fit, most)) {
    const FittedPoint& point = fit.points[place];
    rows.push_back({"  " + point.kernel, point.shape,
                    point.condition + (point.is_held_out ? ", predicted" : ""),
                    number_text(1e-3 * point.measured_ns), number_text(1e-3 * point.fitted_ns),
                    signed_percent_text(point.error())});
    if (!fit.rate_unit.empty()) rows.back().push_back(number_text(point.rate));
  }
  std::string text = aligned(rows, {0, 1, 2});
  if (fit.points.size() > most) {
    text += fmt::format("  the {} points with the largest errors, of {}; --json has all\n", most,
                        fit.points.size());
  }
  return text;
}

std::string fit_text(const DeviceFit& fit) {
  if (!fit.refusal.empty()) return fmt::format("\n{}: not fitted: {}\n", fit.name, fit.refusal);
  std::string text = fmt::format("\n{}: {}\n", fit.name, fit.form);
  for (const FittedNumber& number : fit.numbers) text += number_line(number);
  text += errors_line(fit, false) + errors_line(fit, true);
  for (const std::string& note : fit.notes) text += fmt::format("  {}\n", note);
  return text + points_table(fit);
}

ordered_json errors_json(const ErrorSummary& errors) {
  return {{"count", errors.count},
          {"mean", errors.mean},
          {"median", errors.median},
          {"most", errors.most},
          {"bias", errors.bias}};
}

ordered_json number_json(const FittedNumber& number) {
  return {{"name", number.name},
          {"unit", number.unit},
          {"value", number.value},
          {"low", number.interval.low},
          {"high", number.interval.high}};
}

ordered_json point_json(const FittedPoint& point, bool with_rate) {
  ordered_json document{{"kernel", point.kernel},       {"shape", point.shape},
                        {"condition", point.condition}, {"measured_ns", point.measured_ns},
                        {"fitted_ns", point.fitted_ns}, {"error", point.error()},
                        {"held_out", point.is_held_out}};
  if (with_rate) document["rate"] = point.rate;
  return document;
}

ordered_json fit_json(const DeviceFit& fit) {
  ordered_json document{{"name", fit.name}, {"form", fit.form}, {"fitted", fit.refusal.empty()}};
  if (!fit.refusal.empty()) {
    document["refusal"] = fit.refusal;
    return document;
  }
  document["numbers"] = list_json(fit.numbers, number_json);
  document["errors"] = errors_json(errors_of(fit, false));
  document["held_out_errors"] = errors_json(errors_of(fit, true));
  document["notes"] = fit.notes;
  if (!fit.rate_unit.empty()) document["rate_unit"] = fit.rate_unit;
  document["points"] = list_json(fit.points, [&](const FittedPoint& point) {
    return point_json(point, !fit.rate_unit.empty());
  });
  return document;
}

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
  const std::string all = joined(gpus, [](const auto& gpu) { return gpu.second; });
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

DeviceReport device_report(ProbeRows probes, const BootstrapPlan& plan) {
  std::vector<ProfileRow> measured = probes.rows;
  const std::size_t on_parts = std::erase_if(measured, is_on_unsplit_part);
  return {std::move(probes), fit_device(device_probes(measured), plan), on_parts};
}

ordered_json device_report_json(const DeviceReport& report) {
  return {{"penstock", 1},
          {"kind", "device"},
          {"environment", report.probes.environment},
          {"rows",
           {{"used", report.probes.rows.size()},
            {"suspect", report.probes.suspect},
            {"retired", report.probes.retired},
            {"on_parts", report.on_parts}}},
          {"scope", one_gpu_scope},
          {"fits", list_json(report.fits, fit_json)}};
}

std::string device_report_text(const DeviceReport& report) {
  std::string text = fmt::format("{}: {}", device_title(report.probes.environment),
                                 counted(report.probes.rows.size(), "measurement"));
  if (report.probes.suspect > 0) text += fmt::format(", {} of them suspect", report.probes.suspect);
  if (report.probes.retired > 0) text += fmt::format("; {} retired", report.probes.retired);
  text += "\n";
  if (report.on_parts > 0) {
    text += fmt::format("{} on parts of the SMs left out: the driver did not split them\n",
                        counted(report.on_parts, "measurement"));
  }
  for (const DeviceFit& fit : report.fits) text += fit_text(fit);
  return text + fmt::format("\n{}\n", one_gpu_scope);
}

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
