#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "experiments/input/files/table.hpp"
#include "experiments/measure/calibration/calibration.hpp"

namespace penstock {
namespace {

std::vector<std::string> row_of(std::vector<std::string> row, const ErrorSummary& errors) {
  row.push_back(fmt::format("{}", errors.count));
  for (const double error : {errors.mean, errors.median, errors.most}) {
    row.push_back(errors.count == 0 ? "" : percent_text(error));
  }
  row.push_back(errors.count == 0 ? "" : signed_percent_text(errors.bias));
  return row;
}

/// "start 401 (380 to 433), MNK 0.0312 (0.031 to 0.0315)", in nanoseconds.
std::string terms_text(const TermModel& model) {
  std::string text;
  for (std::size_t i = 0; i < model.names.size(); ++i) {
    if (std::find(model.dropped.begin(), model.dropped.end(), model.names[i]) !=
        model.dropped.end()) {
      continue;
    }
    text += fmt::format("{}{} {:.4g} ({:.4g} to {:.4g})", text.empty() ? "" : ", ", model.names[i],
                        model.coefficients[i], model.intervals[i].low, model.intervals[i].high);
  }
  return text;
}

std::string fit_text(const TermModel& model) {
  return (model.dropped.empty() ? ""
                                : fmt::format("; dropped {}", fmt::join(model.dropped, ", "))) +
         fmt::format("; condition {:.3g}\n", model.condition);
}

/// "gemm", "mlp backward_input".
std::string title_of(const KernelModel& model) {
  return model.pass.empty() ? model.kernel : fmt::format("{} {}", model.kernel, model.pass);
}

std::string form_text(const KernelModel& model) {
  std::string text = title_of(model) + ": ";
  if (model.curve) {
    text += fmt::format("a curve through its points; as terms {}", terms_text(model.terms));
  } else if (!model.pieces.empty()) {
    text += joined(model.pieces, [](const LinkPiece& piece) {
      return fmt::format("from {} bytes {:.4g} and {:.4g} a byte", number_text(piece.from_bytes),
                         piece.latency_ns, piece.ns_per_byte);
    });
  } else {
    text += terms_text(model.terms);
  }
  return text + fit_text(model.terms);
}

std::string kernels_text(const std::vector<KernelCalibration>& kernels) {
  std::string text = "kernels, in ns (95 % of the draws)\n";
  TableRows rows{{"kernel", "points", "count", "mean", "median", "most", "bias"}};
  for (const KernelCalibration& kernel : kernels) {
    text += form_text(kernel.model);
    for (const DataPart part :
         {DataPart::training, DataPart::interpolation, DataPart::extrapolation}) {
      const ErrorSummary errors = errors_of(kernel.points, part);
      if (errors.count > 0) {
        rows.push_back(row_of({title_of(kernel.model), std::string(name(part))}, errors));
      }
    }
    rows.push_back(
        row_of({title_of(kernel.model), "held out, start and rate alone"}, kernel.simple));
  }
  return text + "\nerrors of kernels\n" + aligned(rows, {0, 1});
}

/// Noisy points, which have less weight.
std::string noisy_text(const std::vector<KernelCalibration>& kernels) {
  std::string text;
  for (const KernelCalibration& kernel : kernels) {
    for (const KernelPrediction& point : kernel.points) {
      if (point.measured.deviation <= steady_deviation) continue;
      text += fmt::format("{}{} {} ({:.0f} %)", text.empty() ? "" : ", ", title_of(kernel.model),
                          point.point.kernel.shape, 100 * point.measured.deviation);
    }
  }
  return text.empty() ? text
                      : fmt::format("deviate by more than {:.0f} % and count less: {}\n",
                                    100 * steady_deviation, text);
}

/// Time in a run, its deviation, and its factor over the time alone; empty cells if not measured.
std::vector<std::string> in_run_cells(const LayersInRun& in_run, const SweptPoint& alone) {
  for (const SweptPoint& point : in_run.points) {
    KernelPoint same = point.point.kernel;
    same.condition = alone.point.kernel.condition;
    if (same != alone.point.kernel) continue;
    const SampleSpread spread = spread_of(point.samples_ns);
    return {fmt::format("{:.4g}", spread.median / 1e3), percent_text(spread.deviation),
            fmt::format("{:.2f}", spread.median / spread_of(alone.samples_ns).median)};
  }
  return {"", "", ""};
}

std::string layers_text(const Calibration& calibration) {
  if (calibration.layers.empty()) return "";
  TableRows rows{
      {"layer", "pass", "shape", "µs alone", "deviation", "µs in a run", "deviation", "factor"}};
  for (const SweptPoint& layer : calibration.layers) {
    const SampleSpread spread = spread_of(layer.samples_ns);
    rows.push_back({layer.point.kernel.kernel, layer.point.kernel.pass, layer.point.kernel.shape,
                    fmt::format("{:.4g}", spread.median / 1e3), percent_text(spread.deviation)});
    for (std::string& cell : in_run_cells(calibration.in_run, layer)) {
      rows.back().push_back(std::move(cell));
    }
  }
  const LayersInRun& in_run = calibration.in_run;
  return "\nlayers of the scenario\n" + aligned(rows, {0, 1, 2}) +
         (in_run.why_not.empty()
              ? fmt::format("in a run: means of {} iterations of 1f1b\n", in_run.iterations)
              : fmt::format("not measured in a run: {}\n", in_run.why_not));
}

std::string parts_text(const PipelineCalibration& pipelines) {
  TableRows rows{{"pipelines", "predicted by", "count", "mean", "median", "most", "bias", "covered",
                  "starts", "bubbles"}};
  for (const PartErrors& part : pipelines.parts) {
    const std::string of(name(part.part));
    rows.push_back(row_of({of, "calibrated simulation"}, part.simulated));
    for (const double share : {part.covered, part.start, part.bubble}) {
      rows.back().push_back(percent_text(share));
    }
    rows.push_back(row_of({of, "closed formula"}, part.formula));
    rows.push_back(row_of({of, "without links and overheads"}, part.plain));
    for (auto row = rows.end() - 2; row != rows.end(); ++row) row->resize(rows.front().size());
  }
  return aligned(rows, {0, 1});
}

std::string rankings_text(const std::vector<SettingRanking>& rankings) {
  TableRows rows{{"setting", "schedules", "Kendall's tau", "fastest predicted", "fastest measured",
                  "lost by it"}};
  for (const SettingRanking& one : rankings) {
    rows.push_back({one.setting, fmt::format("{}", one.schedules),
                    one.correlation ? fmt::format("{:.2f}", *one.correlation) : "",
                    one.predicted_best, one.measured_best, percent_text(one.regret)});
  }
  return aligned(rows, {0, 3, 4});
}

std::string left_out_text(const std::vector<LeftOut>& all) {
  constexpr std::size_t most_names = 3;
  std::map<std::string, std::vector<std::string>> names;  // by reason
  for (const LeftOut& one : all) names[one.why].push_back(one.name);
  std::string text;
  for (const auto& [why, of] : names) {
    const std::string which = of.size() > most_names ? fmt::format("{} pipelines", of.size())
                                                     : fmt::format("{}", fmt::join(of, ", "));
    text += fmt::format("left out: {}: {}\n", which, why);
  }
  return text;
}

std::string pipelines_text(const PipelineCalibration& pipelines) {
  if (pipelines.predictions.empty()) return "";
  std::string text = "\nin a run, in ns and times the isolated duration\n";
  for (const auto& [work, in_situ] : pipelines.in_situ) {
    text += fmt::format("{}: {}{}", work, terms_text(in_situ.model), fit_text(in_situ.model));
  }
  return text + "\n" + parts_text(pipelines) + "\n" + rankings_text(pipelines.rankings);
}

}  // namespace

std::string calibration_text(const Calibration& calibration) {
  const CalibrationRequest& request = calibration.request;
  std::string text = fmt::format(
      "{}: seed {}, {} draws, split {:016x} {:016x}, {} rounds of kernels, {} pipelines\n",
      calibration.backend, request.bootstrap.seed, request.bootstrap.draws,
      calibration.kernel_split, calibration.pipeline_split, calibration.swept.rounds,
      calibration.pipelines.predictions.size());
  text += fmt::format("noise: a fixed piece of work {}, runs {} from themselves\n\n",
                      percent_text(calibration.canary.deviation), percent_text(calibration.retest));
  text +=
      fmt::format("reading the clock around an action takes {:.4g} ns\n", calibration.clock.median);
  text += kernels_text(calibration.kernels) + noisy_text(calibration.kernels) +
          layers_text(calibration);
  text += pipelines_text(calibration.pipelines) + left_out_text(calibration.left_out);
  return text + fmt::format("\nverdict: {}\n", calibration.noise
                                                   ? "inconclusive: " + *calibration.noise
                                                   : std::string("judged"));
}

}  // namespace penstock
