#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/measure/measured_runs/outputs.hpp"

namespace penstock {
namespace {

const char* profile_key(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "forward_us";
    case Pass::backward_input:
      return "backward_input_us";
    case Pass::backward_weight:
      return "backward_weight_us";
    default:
      return "backward_us";
  }
}

/// A number that JSON writes without a fraction if it is whole.
ordered_json plain(double value) {
  constexpr double exact = 1e15;
  if (value == std::floor(value) && std::abs(value) < exact) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

ordered_json layers_json(const MergedTimes& merged, double examples) {
  ordered_json layers = ordered_json::array();
  for (const OpTimes& op : merged.times) {
    if (op.model_stage == layers.size()) {
      layers.push_back({{"name", fmt::format("stage {}", op.model_stage)},
                        {"points", ordered_json::array({{{"examples", plain(examples)}}})}});
    }
    layers[op.model_stage]["points"][0][profile_key(op.pass)] = plain(op.median_ns / 1e3);
  }
  return layers;
}

ordered_json schedule_json(const MeasuredRun& run, const ScenarioParts& parts) {
  if (!parts.order.empty()) return {{"file", parts.order}};
  return {{"name", *run.schedule}, {"microbatches", run.job.priced.plan.microbatches}};
}

}  // namespace

std::string profile_text(const std::vector<MeasuredRun>& runs, const MergedTimes& merged,
                         double examples) {
  ordered_json profile = ordered_json::object();
  std::vector<std::string> titles;
  for (const MeasuredRun& each : runs) titles.push_back(each.title);
  const std::string& device = runs.front().ranks.front().device;
  if (!device.empty()) profile["device"] = device;
  if (merged.host_us > 0) {
    profile["environment"] = {
        {"host_us_between_ops", fmt::format("{:.3f}", merged.host_us + merged.op_us)}};
  }
  profile["layers"] = layers_json(merged, examples);
  return printed({{"penstock", 1},
                  {"description", fmt::format("medians of a traced training ({}), a layer a stage",
                                              fmt::join(titles, "; "))},
                  {"profile", std::move(profile)}});
}

std::string scenario_text(const MeasuredRun& run, const MergedTimes& merged,
                          const ScenarioParts& parts, double examples) {
  ordered_json scenario = {{"penstock", 1},
                           {"model", {{"file", parts.profile}, {"microbatch", plain(examples)}}},
                           {"hardware",
                            {{"name", "ideal"},
                             {"devices", run.job.priced.plan.ranks},
                             {"transfer_us", plain(merged.transfer_us.value_or(0))}}},
                           {"schedule", schedule_json(run, parts)}};
  if (parts.chunks) scenario["parallel"] = {{"chunks", *parts.chunks}};
  if (merged.host_us > 0) {
    scenario["overheads"] = {{"host_us", plain(merged.host_us + merged.op_us)}};
  }
  return printed(scenario);
}

}  // namespace penstock
