#include "validate/calibration/pipeline_run.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock {
namespace {

bool is_action(const Plan& plan, std::size_t work) {
  return !plan.is_link(plan.classes[work].resource);
}

/// By work class: the mean duration of its tasks in an iteration, then the median over iterations.
/// A makespan adds durations, so within an iteration the mean predicts it better.
std::vector<std::vector<double>> lengths_by_class(const PipelineRun& run) {
  const Plan& plan = run.pipeline.job.priced.plan;
  std::vector<std::vector<double>> lengths(plan.classes.size());
  for (const Timeline& iteration : run.measured.iterations) {
    std::vector<double> sums(plan.classes.size());
    std::vector<std::uint32_t> counts(plan.classes.size());
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      sums[plan.work[task]] +=
          static_cast<double>(to_ns(iteration.end[task] - iteration.begin[task]));
      ++counts[plan.work[task]];
    }
    for (std::size_t work = 0; work < sums.size(); ++work) {
      if (counts[work] > 0) lengths[work].push_back(sums[work] / counts[work]);
    }
  }
  return lengths;
}

std::vector<Pass> kinds_of(const std::vector<const PipelineRun*>& runs) {
  std::vector<Pass> kinds;
  for (const PipelineRun* run : runs) {
    const Plan& plan = run->pipeline.job.priced.plan;
    for (std::size_t work = 0; work < plan.classes.size(); ++work) {
      if (!is_action(plan, work) || run->pipeline.alone_ns[work] <= 0) continue;
      kinds.push_back(plan.classes[work].pass);
    }
  }
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

/// 1, and the isolated duration of the action at the position of its kind.
std::vector<double> terms_of(const std::vector<Pass>& kinds, Pass kind, double alone_ns) {
  std::vector<double> terms(kinds.size() + 1);
  terms[0] = 1;
  const auto place = std::find(kinds.begin(), kinds.end(), kind) - kinds.begin();
  if (place < static_cast<std::ptrdiff_t>(kinds.size())) {
    terms[static_cast<std::size_t>(place) + 1] = alone_ns;
  }
  return terms;
}

Pass nearest(Pass kind) {
  if (kind == Pass::backward_input || kind == Pass::backward_weight) return Pass::backward;
  return kind == Pass::recompute ? Pass::forward : kind;
}

void add_points(const PipelineRun& run, const std::vector<Pass>& kinds, std::uint32_t block,
                std::vector<TermPoint>& points) {
  const Plan& plan = run.pipeline.job.priced.plan;
  const auto lengths = lengths_by_class(run);
  for (std::size_t work = 0; work < lengths.size(); ++work) {
    if (!is_action(plan, work) || lengths[work].empty()) continue;
    const SampleSpread spread = spread_of(lengths[work]);
    if (spread.median <= 0) continue;
    points.push_back({terms_of(kinds, plan.classes[work].pass, run.pipeline.alone_ns[work]),
                      spread.median, weight_of(spread), block});
  }
}

}  // namespace

double InSitu::at(Pass kind, double alone_ns, std::optional<std::size_t> draw) const {
  const auto has_factor = [&](Pass wanted) {
    return std::find(kinds.begin(), kinds.end(), wanted) != kinds.end();
  };
  const Pass known = has_factor(kind) ? kind : nearest(kind);
  const std::vector<double> terms = terms_of(kinds, known, alone_ns);
  const double taken = draw ? model.at(terms, *draw) : model.at(terms);
  return has_factor(known) ? taken : taken + alone_ns;
}

InSitu fit_in_situ(const std::vector<const PipelineRun*>& runs, const BootstrapPlan& plan) {
  InSitu in_situ{kinds_of(runs), {}};
  std::vector<std::string> names{"an action"};
  for (const Pass kind : in_situ.kinds) names.emplace_back(letters(kind));
  std::vector<TermPoint> points;
  std::uint32_t block = 0;
  for (const PipelineRun* run : runs) add_points(*run, in_situ.kinds, block++, points);
  in_situ.model = calibrate_terms(std::move(names), points, plan);
  return in_situ;
}

std::vector<Time> in_situ_times(const Pipeline& pipeline, const InSitu& in_situ,
                                std::optional<std::size_t> draw) {
  const Plan& plan = pipeline.job.priced.plan;
  std::vector<Time> all = pipeline.job.priced.costs.duration;
  const bool moves = draw && !pipeline.alone_draws_ns.empty();
  const std::vector<double>& alone = moves ? pipeline.alone_draws_ns[*draw] : pipeline.alone_ns;
  for (std::size_t work = 0; work < all.size(); ++work) {
    if (!is_action(plan, work)) continue;
    all[work] = from_ns(std::llround(in_situ.at(plan.classes[work].pass, alone[work], draw)));
  }
  return all;
}

}  // namespace penstock
