#include "experiments/measure/calibration/pipeline_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "validate/probes/timing/probe_timing.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t least_clean = 5;
constexpr std::uint32_t most_iterations = 20;
constexpr int most_budgets = 8;  // of time; then the rest is left out

}  // namespace

PipelineRuns::PipelineRuns(const BackendEntry& backend, double budget_s) : backend_(backend) {
  const std::int64_t now_ns = steady_ns();
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
  if (steady_ns() <= give_up_ns_) return std::nullopt;
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
  const double share_ns = static_cast<double>(std::max<std::int64_t>(0, end_ns_ - steady_ns())) /
                          static_cast<double>(left);
  const double wanted = share_ns / std::max(work_ns, 1.0);
  const auto iterations =
      static_cast<std::uint32_t>(std::clamp(wanted, 1.0 * least_clean + 3, 1.0 * most_iterations));
  return {.iterations = iterations, .steady = 0.1, .most_tries = 3};
}

}  // namespace penstock
