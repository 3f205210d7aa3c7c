#include "gui/models/run/run_pair.hpp"

#include <algorithm>
#include <cstdlib>

namespace penstock {
namespace {

ComparedRun compared(const ViewedRun& run) {
  return {run.source, Recording{run.plan, run.timeline, run.title}};
}

double share_of(Time part, Time whole) {
  if (whole == Time{}) return 0;
  return static_cast<double>(part.picoseconds) / static_cast<double>(whole.picoseconds);
}

/// The largest relative difference of the durations of each stage and microbatch, with its sign;
/// nothing if no op is in both.
std::vector<std::vector<double>> residuals_of(const ViewedRun& run, const Comparison& comparison) {
  std::size_t stages = 0;
  std::size_t microbatches = 0;
  for (const WorkClass& work : run.plan.classes)
    stages = std::max<std::size_t>(stages, index(work.stage) + 1);
  for (const Microbatch m : run.plan.microbatch) {
    microbatches = std::max<std::size_t>(microbatches, index(m) + 1);
  }
  std::vector<std::vector<double>> residuals(stages, std::vector<double>(microbatches));
  bool any = false;
  for (const OpDifference& op : comparison.ops) {
    const WorkClass& work = run.plan.class_of(op.task.a);
    if (run.plan.is_link(work.resource)) continue;
    any = true;
    const Time own = run.timeline.end[op.task.a] - run.timeline.begin[op.task.a];
    double& cell = residuals[index(work.stage)][index(run.plan.microbatch[op.task.a])];
    const double share = share_of(op.duration(), own);
    if (std::abs(share) > std::abs(cell)) cell = share;
  }
  if (!any) return {};
  return residuals;
}

}  // namespace

RunPair pair_of(const ViewedRunPtr& first, const ViewedRunPtr& second, Alignment alignment) {
  const ComparedRun a = compared(*first);
  const ComparedRun b = compared(*second);
  CompareOptions options{.alignment = alignment};
  options.resolution = std::max(resolution_of(first->timeline), resolution_of(second->timeline));
  const Comparison comparison =
      compare(first->plan, first->timeline, second->plan, second->timeline, options);
  RunPair pair;
  auto moved = std::make_shared<ViewedRun>(*second);
  moved->timeline = comparison.b;
  pair.second = std::move(moved);
  for (const OpDifference& op : comparison.ops) {
    pair.largest = std::max(pair.largest, Time{std::llabs(op.end.picoseconds)});
  }
  pair.differences.resize(first->plan.tasks());
  for (const OpDifference& op : comparison.ops) {
    pair.differences[op.task.a] = share_of(op.end, pair.largest);
  }
  if (comparison.first) pair.first = comparison.ops[comparison.first->op].task.a;
  pair.text = comparison_text(a, b, comparison);
  pair.residuals = residuals_of(*first, comparison);
  return pair;
}

}  // namespace penstock
