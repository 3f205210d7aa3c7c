#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/measure/calibration/calibration.hpp"

namespace penstock {
namespace {

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

ordered_json summary_json(const ErrorSummary& errors) {
  return {{"count", errors.count},
          {"mean", errors.mean},
          {"median", errors.median},
          {"most", errors.most},
          {"bias", errors.bias}};
}

ordered_json terms_json(const TermModel& model) {
  ordered_json terms = ordered_json::array();
  for (std::size_t i = 0; i < model.names.size(); ++i) {
    terms.push_back({{"name", model.names[i]},
                     {"value", model.coefficients[i]},
                     {"low", model.intervals[i].low},
                     {"high", model.intervals[i].high}});
  }
  return {{"terms", std::move(terms)}, {"dropped", model.dropped}, {"condition", model.condition}};
}

ordered_json pieces_json(const LinkPieces& pieces) {
  return list_json(pieces, [](const LinkPiece& piece) {
    return ordered_json{{"from_bytes", piece.from_bytes},
                        {"latency_ns", piece.latency_ns},
                        {"ns_per_byte", piece.ns_per_byte}};
  });
}

ordered_json point_json(const KernelPrediction& point) {
  return {{"shape", point.point.kernel.shape},    {"part", name(point.point.part)},
          {"measured_ns", point.measured.median}, {"deviation", point.measured.deviation},
          {"predicted_ns", point.predicted_ns},   {"low_ns", point.interval_ns.low},
          {"high_ns", point.interval_ns.high}};
}

ordered_json kernel_json(const KernelCalibration& kernel) {
  ordered_json errors;
  for (const DataPart part :
       {DataPart::training, DataPart::interpolation, DataPart::extrapolation}) {
    errors[std::string(name(part))] = summary_json(errors_of(kernel.points, part));
  }
  errors["simple_form"] = summary_json(kernel.simple);
  ordered_json document{
      {"kernel", kernel.model.kernel}, {"pass", kernel.model.pass}, {"form", kernel.model.form()}};
  document.update(terms_json(kernel.model.terms));
  if (!kernel.model.pieces.empty()) document["pieces"] = pieces_json(kernel.model.pieces);
  document["errors"] = std::move(errors);
  document["points"] = list_json(kernel.points, point_json);
  return document;
}

ordered_json layers_json(const std::vector<SweptPoint>& layers) {
  return list_json(layers, [](const SweptPoint& layer) {
    const SampleSpread spread = spread_of(layer.samples_ns);
    return ordered_json{{"kind", layer.point.kernel.kernel},
                        {"pass", layer.point.kernel.pass},
                        {"shape", layer.point.kernel.shape},
                        {"measured_ns", spread.median},
                        {"deviation", spread.deviation}};
  });
}

ordered_json run_json(const PipelinePrediction& run) {
  return {{"name", run.name},
          {"family", run.family},
          {"work", run.work},
          {"setting", run.setting},
          {"schedule", run.schedule},
          {"part", name(run.part)},
          {"iterations", run.iterations},
          {"measured_us", to_us(run.errors.measured)},
          {"predicted_us", to_us(run.errors.simulated)},
          {"low_us", run.interval_us.low},
          {"high_us", run.interval_us.high},
          {"formula_us", to_us(run.formula)},
          {"plain_us", to_us(run.plain)},
          {"structure_error", run.errors.structure},
          {"retest_error", run.errors.retest},
          {"start_residual", run.errors.start},
          {"bubble_error", run.errors.bubble}};
}

ordered_json part_json(const PartErrors& part) {
  return {{"part", name(part.part)},
          {"simulated", summary_json(part.simulated)},
          {"formula", summary_json(part.formula)},
          {"plain", summary_json(part.plain)},
          {"covered", part.covered},
          {"start_residual", part.start},
          {"bubble_error", part.bubble}};
}

ordered_json setting_json(const SettingRanking& ranking) {
  return {{"setting", ranking.setting},
          {"schedules", ranking.schedules},
          {"kendall_tau", or_null(ranking.correlation)},
          {"predicted_best", ranking.predicted_best},
          {"measured_best", ranking.measured_best},
          {"regret", ranking.regret}};
}

ordered_json pipelines_json(const Calibration& calibration) {
  const PipelineCalibration& pipelines = calibration.pipelines;
  ordered_json in_situ = ordered_json::object();
  for (const auto& [work, fit] : pipelines.in_situ) in_situ[work] = terms_json(fit.model);
  return {{"in_situ", std::move(in_situ)},
          {"errors", list_json(pipelines.parts, part_json)},
          {"rankings", list_json(pipelines.rankings, setting_json)},
          {"runs", list_json(pipelines.predictions, run_json)},
          {"left_out", list_json(calibration.left_out, [](const LeftOut& one) {
             return ordered_json{{"name", one.name}, {"why", one.why}};
           })}};
}

}  // namespace

ordered_json calibration_json(const Calibration& calibration) {
  return {{"penstock", 1},
          {"kind", "calibration"},
          {"backend", calibration.backend},
          {"verdict", calibration.noise ? "inconclusive" : "judged"},
          {"noise", or_null(calibration.noise)},
          {"seed", calibration.request.bootstrap.seed},
          {"draws", calibration.request.bootstrap.draws},
          {"budget_s", calibration.request.budget_s},
          {"rounds", calibration.swept.rounds},
          {"canary_deviation", calibration.canary.deviation},
          {"clock_ns", calibration.clock.median},
          {"retest_error", calibration.retest},
          {"split",
           {{"kernels", hash_text(calibration.kernel_split)},
            {"pipelines", hash_text(calibration.pipeline_split)}}},
          {"environment", calibration.environment},
          {"kernels", list_json(calibration.kernels, kernel_json)},
          {"layers", layers_json(calibration.layers)},
          {"layers_in_run", layers_json(calibration.in_run.points)},
          {"why_not_in_run", calibration.in_run.why_not},
          {"pipelines", pipelines_json(calibration)}};
}

}  // namespace penstock
