#include "validate/calibration/pipeline_calibration.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/engines/events.hpp"
#include "validate/statistics/summary.hpp"

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
                                .work = pipeline.work,
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

/// A fit to runs of one kind of work, and how far off it is for runs that it was not fitted to.
struct WorkFit {
  InSitu in_situ;
  std::vector<double> misses;  // measured over simulated
};

using Runs = std::vector<const PipelineRun*>;

/// Of each run, by a fit to the others: a fit is closer to the runs that it was fitted to than to
/// new ones.
std::vector<double> misses_of(const Runs& training, const InSitu& of_all) {
  constexpr std::size_t least_others = 3;
  std::vector<double> misses;
  for (std::size_t left_out = 0; left_out < training.size(); ++left_out) {
    Runs others = training;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
    const bool enough = others.size() >= least_others;
    const InSitu fit = enough ? fit_in_situ(others, {.seed = 0, .draws = 0}) : of_all;
    misses.push_back(1 / (1 + predicted(*training[left_out], fit).error()));
  }
  return misses;
}

/// How much further a new run is off than few known ones show: Student's t over the normal
/// quantile, for an interval of 90 %.
double few_runs_factor(std::size_t runs) {
  if (runs < 2) return 1;
  const double count = static_cast<double>(runs);
  const double normal = 1.645;
  return (1 + (normal * normal + 1) / (4 * (count - 1))) * std::sqrt(1 + 1 / count);
}

WorkFit fit_of(const Runs& training, const BootstrapPlan& plan) {
  WorkFit fit{fit_in_situ(training, plan), {}};
  fit.misses = misses_of(training, fit.in_situ);
  const double middle = median(fit.misses);
  for (double& miss : fit.misses) {
    miss = std::max(0.0, middle + (miss - middle) * few_runs_factor(fit.misses.size()));
  }
  return fit;
}

/// The fits of all kinds of work with enough training runs, and one to all runs, named "".
std::map<std::string, WorkFit> fits_of(const std::vector<PipelineRun>& runs,
                                       const BootstrapPlan& plan) {
  constexpr std::size_t least_runs = 3;
  std::map<std::string, Runs> training;
  for (const PipelineRun& run : runs) {
    if (run.pipeline.part != DataPart::training) continue;
    training[""].push_back(&run);
    training[run.pipeline.work].push_back(&run);
  }
  std::map<std::string, WorkFit> fits;
  for (const auto& [work, own] : training) {
    if (work.empty() || own.size() >= least_runs) fits.emplace(work, fit_of(own, plan));
  }
  return fits;
}

const WorkFit& fit_for(const std::map<std::string, WorkFit>& fits, const Pipeline& pipeline) {
  const auto own = fits.find(pipeline.work);
  return own != fits.end() ? own->second : fits.at("");
}

/// Each draw is simulated with its own constants, and has the error of some training run.
Interval interval_of(const Pipeline& pipeline, const WorkFit& fit, std::uint32_t place,
                     std::uint64_t seed) {
  std::vector<double> makespans;
  const InSitu& in_situ = fit.in_situ;
  const auto count = static_cast<std::uint32_t>(fit.misses.size());
  for (std::uint32_t draw = 0; draw < in_situ.model.draws.size(); ++draw) {
    const double miss = fit.misses[drawn_number(seed, "misses", draw, place, count)];
    makespans.push_back(
        miss * to_us(simulated(profiled(pipeline.job, in_situ_times(pipeline, in_situ, draw)))));
  }
  return middle_share(makespans, makespan_interval_share);
}

PartErrors errors_of(DataPart part, const std::vector<const PipelinePrediction*>& predictions) {
  std::vector<double> errors, by_formula, plain, starts, bubbles;
  double covered = 0;
  for (const PipelinePrediction* one : predictions) {
    const double measured = to_us(one->errors.measured);
    errors.push_back(one->error());
    by_formula.push_back(to_us(one->formula) / measured - 1);
    plain.push_back(to_us(one->plain) / measured - 1);
    starts.push_back(one->errors.start);
    double& worst = bubbles.emplace_back(0);
    for (const double error : one->errors.bubble) worst = std::max(worst, std::abs(error));
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
  std::map<DataPart, std::vector<const PipelinePrediction*>> by_part;
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

PipelineCalibration calibrate_pipelines(const std::vector<PipelineRun>& runs,
                                        const BootstrapPlan& plan) {
  const std::map<std::string, WorkFit> fits = fits_of(runs, plan);
  PipelineCalibration result;
  for (const PipelineRun& run : runs) {
    const Pipeline& pipeline = run.pipeline;
    const WorkFit& fit = fit_for(fits, pipeline);
    const auto place = static_cast<std::uint32_t>(result.predictions.size());
    result.in_situ.try_emplace(pipeline.work, fit.in_situ);
    result.predictions.push_back(predicted(run, fit.in_situ));
    result.predictions.back().interval_us = interval_of(pipeline, fit, place, plan.seed);
  }
  result.parts = errors_by_part(result.predictions);
  result.rankings = rankings(result.predictions);
  return result;
}

}  // namespace penstock
