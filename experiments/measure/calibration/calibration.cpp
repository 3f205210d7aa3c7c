#include "experiments/measure/calibration/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "validate/machine/clock.hpp"
#include "validate/statistics/summary.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {
namespace {

// Of the budget; the rest is for pipelines.
constexpr double kernel_share = 0.4;
constexpr double in_run_share = 0.1;
constexpr std::size_t least_trained = 5;

/// The most ranks of a small pipeline that the backend can run on this machine. Throws
/// std::runtime_error if it can run none.
std::uint32_t most_ranks(const BackendEntry& backend) {
  std::optional<Obstacle> obstacle;
  for (const std::uint32_t ranks : {8U, 6U, 4U, 3U, 2U}) {
    obstacle = backend.obstacle({*plan_of({.setting = {.ranks = ranks}}), {}});
    if (!obstacle) return ranks;
  }
  throw std::runtime_error(fmt::format("{}: {}", backend.name, obstacle->text));
}

PipelineRuns run_pipelines(const BackendEntry& backend, const std::vector<PipelineCase>& cases,
                           Calibration& so_far, const CalibrationWatch& watch) {
  const CalibrationRequest& request = so_far.request;
  const double budget_s = (1 - kernel_share - in_run_share) * request.budget_s;
  PipelineRuns runs(backend, budget_s);
  const auto count = static_cast<std::uint32_t>(cases.size());
  std::size_t left = count;
  // In random order, so that drift does not look like a difference between schedules.
  for (const std::uint32_t i : shuffled(request.bootstrap.seed, "runs", 0, count)) {
    auto pipeline = pipeline_of(cases[i], {so_far.kernels, so_far.passes});
    if (pipeline) runs.run(std::move(*pipeline), left);
    const bool is_known = so_far.environment.empty() && !runs.environment.empty();
    so_far.environment = runs.environment;
    if (is_known && watch.on_kernels) watch.on_kernels(so_far);
    --left;
    if (watch.on_progress) watch.on_progress("pipelines", count - left, count);
  }
  if (runs.environment.empty() && watch.on_kernels) watch.on_kernels(so_far);
  std::sort(runs.runs.begin(), runs.runs.end(), [](const PipelineRun& a, const PipelineRun& b) {
    return std::tie(a.pipeline.part, a.pipeline.name) < std::tie(b.pipeline.part, b.pipeline.name);
  });
  return runs;
}

/// Why the errors come from the machine rather than the model.
std::optional<std::string> noise_of(const Calibration& calibration) {
  constexpr double steady_retest = 0.05;
  if (calibration.canary.deviation > steady_deviation) {
    return fmt::format("the duration of a fixed piece of work has a median deviation of {:.0f} %",
                       100 * calibration.canary.deviation);
  }
  if (calibration.retest > steady_retest) {
    return fmt::format("repeated runs differ by {:.1f} %, more than {:.0f} %",
                       100 * calibration.retest, 100 * steady_retest);
  }
  return std::nullopt;
}

/// The points of a sweep, then the layers of the request, then the passes of the pipelines' layers.
std::vector<SweepPoint> with(const std::vector<KernelPoint>& layers,
                             const std::vector<SweepPoint>& passes,
                             std::vector<SweepPoint> points) {
  for (const KernelPoint& layer : layers) points.push_back({.kernel = layer});
  points.insert(points.end(), passes.begin(), passes.end());
  return points;
}

/// Takes the last points out of a sweep.
std::vector<SweptPoint> taken_from(std::vector<SweptPoint>& points, std::size_t count) {
  const auto first = points.end() - static_cast<std::ptrdiff_t>(count);
  std::vector<SweptPoint> taken(first, points.end());
  points.erase(first, points.end());
  return taken;
}

/// Measures kernels and layers, and fits the kernels.
void sweep_kernels(const std::vector<PipelineCase>& cases, Calibration& result,
                   const CalibrationWatch& watch) {
  const CalibrationRequest& request = result.request;
  const std::uint64_t seed = request.bootstrap.seed;
  const std::vector<SweepPoint> points = sweep_points(seed);
  SweepLimits limits{.seconds = kernel_share * request.budget_s};
  if (watch.on_progress) {
    limits.on_sample = [&](std::uint64_t done, std::uint64_t total) {
      watch.on_progress("kernel samples", done, total);
    };
  }
  result.kernel_split = split_hash(points);
  const std::vector<SweepPoint> passes = layer_passes_of(cases);
  result.swept = sweep(with(request.layers, passes, points), seed, limits);
  result.passes = taken_from(result.swept.points, passes.size());
  result.layers = taken_from(result.swept.points, request.layers.size());
  result.canary = spread_of(result.swept.canary_ns);
  result.clock = spread_of(result.swept.clock_ns);
  result.kernels = calibrate_kernels(result.swept, request.bootstrap);
}

std::size_t trained_on(const std::vector<PipelineRun>& runs) {
  return static_cast<std::size_t>(std::count_if(
      runs.begin(), runs.end(),
      [](const PipelineRun& run) { return run.pipeline.part == DataPart::training; }));
}

constexpr std::uint32_t least_clean = 5;
constexpr std::uint32_t most_iterations = 20;
constexpr int most_budgets = 8;  // of time; then the rest is left out

}  // namespace

Calibration calibrate(const BackendEntry& backend, const CalibrationRequest& request,
                      const CalibrationWatch& watch) {
  Calibration result{.backend = std::string(backend.name), .request = request};
  const std::vector<PipelineCase> cases =
      pipeline_cases(request.bootstrap.seed, most_ranks(backend), backend.runs_layers);
  result.pipeline_split = split_hash(cases);
  sweep_kernels(cases, result, watch);
  if (request.layers_of) {
    result.in_run = layers_in_run(*request.layers_of, backend, in_run_share * request.budget_s);
  }
  PipelineRuns runs = run_pipelines(backend, cases, result, watch);
  result.left_out = std::move(runs.left_out);
  if (trained_on(runs.runs) < least_trained) {
    result.noise = fmt::format("{} training pipelines ran cleanly; {} are needed",
                               trained_on(runs.runs), least_trained);
    return result;
  }
  result.pipelines = calibrate_pipelines(runs.runs, request.bootstrap);
  std::vector<double> retests;
  for (const auto& one : result.pipelines.predictions) retests.push_back(one.errors.retest);
  result.retest = median(std::move(retests));
  result.noise = noise_of(result);
  return result;
}

PipelineRuns::PipelineRuns(const BackendEntry& backend, double budget_s) : backend_(backend) {
  const std::int64_t now_ns = monotonic_ns();
  end_ns_ = now_ns + static_cast<std::int64_t>(budget_s * 1e9);
  give_up_ns_ = now_ns + static_cast<std::int64_t>(most_budgets * budget_s * 1e9);
}

void PipelineRuns::run(Pipeline pipeline, std::size_t left) {
  Measurement measured;
  auto why = why_left_out(pipeline);
  if (!why) why = measure_within(pipeline, left, measured);
  if (why) {
    left_out.push_back({pipeline.name, *std::move(why)});
  } else {
    runs.push_back({std::move(pipeline), std::move(measured)});
  }
}

std::optional<std::string> PipelineRuns::why_left_out(const Pipeline& pipeline) const {
  if (const auto obstacle = backend_.obstacle(pipeline.job.priced)) return obstacle->text;
  if (monotonic_ns() <= give_up_ns_) return std::nullopt;
  return fmt::format("pipelines had taken {} times their share of --budget", most_budgets);
}

/// Why it failed; nothing on success.
std::optional<std::string> PipelineRuns::measure_within(const Pipeline& pipeline, std::size_t left,
                                                        Measurement& measured) {
  const auto backend = backend_.make(pipeline.job);
  if (environment.empty()) environment = backend->environment();
  auto outcome = measure(*backend, pipeline.job, plan_for(pipeline.job, left));
  if (const auto* halt = std::get_if<Standstill>(&outcome)) return halt->text;
  measured = std::get<Measurement>(std::move(outcome));
  if (measured.iterations.size() >= least_clean) return std::nullopt;
  return fmt::format("{} clean iterations of {}", measured.iterations.size(), measured.tried);
}

/// As many iterations as fit into its share of the remaining time, with one core doing all the
/// work.
MeasuringPlan PipelineRuns::plan_for(const Job& job, std::size_t left) const {
  double work_ns = 0;
  for (TaskId task = 0; task < job.priced.plan.tasks(); ++task) {
    if (job.priced.plan.is_link(job.priced.plan.class_of(task).resource)) continue;
    work_ns += static_cast<double>(job.work_ns(job.priced.plan.work[task]));
  }
  const double share_ns = static_cast<double>(std::max<std::int64_t>(0, end_ns_ - monotonic_ns())) /
                          static_cast<double>(left);
  const double wanted = share_ns / std::max(work_ns, 1.0);
  const auto iterations =
      static_cast<std::uint32_t>(std::clamp(wanted, 1.0 * least_clean + 3, 1.0 * most_iterations));
  return {.iterations = iterations, .steady = 0.1, .most_tries = 3};
}

std::vector<ProfileRow> profile_rows(const Calibration& calibration, const std::string& at) {
  std::vector<ProfileRow> rows;
  for (const auto* points :
       {&calibration.swept.points, &calibration.layers, &calibration.in_run.points}) {
    for (const SweptPoint& point : *points) {
      rows.push_back({.point = point.point.kernel,
                      .build = std::string(kernels_build()),
                      .environment = calibration.environment,
                      .canary_ns = calibration.canary.median,
                      .samples_ns = point.samples_ns,
                      .measured_at = at});
    }
  }
  return rows;
}

}  // namespace penstock
