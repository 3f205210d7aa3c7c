#include "validate/calibration/pipeline_calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "sim/engines/relax.hpp"
#include "validate/statistics/median.hpp"
#include "validate/statistics/rank_correlation.hpp"

namespace penstock {
namespace {

constexpr double makespan_interval_share = 0.9;

Time simulated(const PricedPlan& priced) { return makespan(priced.plan, relax(priced)); }

/// Isolated durations, and free links.
PricedPlan plain(const Pipeline& pipeline) {
  PricedPlan priced = pipeline.job.priced;
  auto& [plan, costs, conditions] = priced;
  for (std::size_t work = 0; work < plan.classes.size(); ++work) {
    costs.duration[work] =
        plan.is_link(plan.classes[work].resource) ? Time{} : from_us(pipeline.alone_ns[work] / 1e3);
    costs.latency[work] = {};
  }
  return priced;
}

/// The work of each rank per microbatch, over all its stages, on average.
std::vector<double> work_of_ranks_us(const Plan& plan, const std::vector<Time>& times) {
  std::vector<double> sums(plan.ranks);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (!plan.is_link(resource))
      sums[resource] += 1e-3 * static_cast<double>(to_ns(times[plan.work[task]]));
  }
  for (double& sum : sums) sum /= plan.microbatches;
  return sums;
}

Time formula(const Plan& plan, const std::vector<Time>& times) {
  const std::vector<double> ranks = work_of_ranks_us(plan, times);
  double all = 0;
  for (const double rank : ranks) all += rank;
  return from_us((plan.microbatches - 1) * *std::max_element(ranks.begin(), ranks.end()) + all);
}

PipelinePrediction predicted(const PipelineRun& run, const InSitu& in_situ) {
  const Pipeline& pipeline = run.pipeline;
  PipelinePrediction prediction{.name = pipeline.name,
                                .family = pipeline.family,
                                .setting = pipeline.setting,
                                .schedule = pipeline.schedule,
                                .part = pipeline.part};
  Measurement measured = run.measured;
  measured.profile = in_situ_times(pipeline, in_situ);
  prediction.iterations = static_cast<std::uint32_t>(measured.iterations.size());
  prediction.errors = run_errors(pipeline.job, measured);
  prediction.formula = formula(pipeline.job.priced.plan, measured.profile);
  prediction.plain = simulated(plain(pipeline));
  return prediction;
}

/// Measured over simulated, for the training runs.
std::vector<double> misses_of(const std::vector<PipelinePrediction>& predictions) {
  std::vector<double> misses;
  for (const PipelinePrediction& prediction : predictions) {
    if (prediction.part == PipelinePart::training) misses.push_back(1 / (1 + prediction.error()));
  }
  return misses;
}

/// Each draw is simulated with its own constants, and has the error of some training run.
Interval interval_of(const Pipeline& pipeline, const InSitu& in_situ,
                     const std::vector<double>& misses, std::uint32_t place, std::uint64_t seed) {
  std::vector<double> makespans;
  const auto count = static_cast<std::uint32_t>(misses.size());
  for (std::uint32_t draw = 0; draw < in_situ.model.draws.size(); ++draw) {
    const double miss = misses[drawn_number(seed, "misses", draw, place, count)];
    makespans.push_back(
        miss * to_us(simulated(profiled(pipeline.job, in_situ_times(pipeline, in_situ, draw)))));
  }
  return middle_share(makespans, makespan_interval_share);
}

double worst_bubble(const RunErrors& errors) {
  double worst = 0;
  for (const double error : errors.bubble) worst = std::max(worst, std::abs(error));
  return worst;
}

PartErrors errors_of(PipelinePart part, const std::vector<const PipelinePrediction*>& predictions) {
  std::vector<double> errors, by_formula, plain, starts, bubbles;
  double covered = 0;
  for (const PipelinePrediction* one : predictions) {
    const double measured = to_us(one->errors.measured);
    errors.push_back(one->error());
    by_formula.push_back(to_us(one->formula) / measured - 1);
    plain.push_back(to_us(one->plain) / measured - 1);
    starts.push_back(one->errors.start);
    bubbles.push_back(worst_bubble(one->errors));
    if (one->interval_us.covers(measured)) ++covered;
  }
  return {.part = part,
          .simulated = summarize_errors(errors),
          .formula = summarize_errors(by_formula),
          .plain = summarize_errors(plain),
          .covered = covered / static_cast<double>(predictions.size()),
          .start = median(starts),
          .bubble = median(bubbles)};
}

std::vector<PartErrors> errors_by_part(const std::vector<PipelinePrediction>& predictions) {
  std::map<PipelinePart, std::vector<const PipelinePrediction*>> by_part;
  for (const PipelinePrediction& one : predictions) by_part[one.part].push_back(&one);
  std::vector<PartErrors> all;
  for (const auto& [part, members] : by_part) all.push_back(errors_of(part, members));
  return all;
}

SettingRanking ranking_of(const std::string& setting,
                          const std::vector<const PipelinePrediction*>& members) {
  std::vector<TwoMoments> moments;
  for (const PipelinePrediction* one : members) {
    moments.push_back({one->errors.simulated, one->errors.measured});
  }
  const auto best = [&](Time RunErrors::*time) {
    return *std::min_element(members.begin(), members.end(), [&](const auto* a, const auto* b) {
      return a->errors.*time < b->errors.*time;
    });
  };
  const PipelinePrediction& predicted = *best(&RunErrors::simulated);
  const PipelinePrediction& measured = *best(&RunErrors::measured);
  return {.setting = setting,
          .schedules = static_cast<std::uint32_t>(members.size()),
          .correlation = rank_correlation(moments),
          .predicted_best = predicted.schedule,
          .measured_best = measured.schedule,
          .regret = to_us(predicted.errors.measured) / to_us(measured.errors.measured) - 1};
}

std::vector<SettingRanking> rankings(const std::vector<PipelinePrediction>& predictions) {
  std::map<std::string, std::vector<const PipelinePrediction*>> by_setting;
  for (const PipelinePrediction& one : predictions) by_setting[one.setting].push_back(&one);
  std::vector<SettingRanking> all;
  for (const auto& [setting, members] : by_setting) {
    if (members.size() > 1) all.push_back(ranking_of(setting, members));
  }
  return all;
}

}  // namespace

std::string_view name(PipelinePart part) {
  constexpr std::array<std::string_view, 4> names{"training", "interpolation", "extrapolation",
                                                  "transfer"};
  return names[static_cast<std::size_t>(part)];
}

PipelineCalibration calibrate_pipelines(const std::vector<PipelineRun>& runs,
                                        const BootstrapPlan& plan) {
  std::vector<const PipelineRun*> training;
  for (const PipelineRun& run : runs) {
    if (run.pipeline.part == PipelinePart::training) training.push_back(&run);
  }
  PipelineCalibration result;
  result.in_situ = fit_in_situ(training, plan);
  for (const PipelineRun& run : runs) {
    result.predictions.push_back(predicted(run, result.in_situ));
  }
  const std::vector<double> misses = misses_of(result.predictions);
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    result.predictions[i].interval_us =
        interval_of(runs[i].pipeline, result.in_situ, misses, i, plan.seed);
  }
  result.parts = errors_by_part(result.predictions);
  result.rankings = rankings(result.predictions);
  return result;
}

}  // namespace penstock
