#include "gui/models/run/run_pair.hpp"

#include <algorithm>
#include <cstdlib>

#include "sim/base/error.hpp"

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

static_assert(static_cast<int>(PairAlignment::makespan) == static_cast<int>(Alignment::makespan));

/// Moves the second run so that an op begins when it does in the first.
void anchor_at(const ViewedRun& first, TaskId anchor, Comparison& comparison) {
  const auto op = std::find_if(comparison.ops.begin(), comparison.ops.end(),
                               [&](const OpDifference& each) { return each.task.a == anchor; });
  if (op == comparison.ops.end()) throw InputError("B has no such op to align by");
  const Time shift = first.timeline.begin[anchor] - comparison.b.begin[op->task.b];
  const Time earliest = *std::min_element(comparison.b.begin.begin(), comparison.b.begin.end());
  if (earliest + shift < Time{}) {
    throw InputError("B would begin before time 0; swap A and B, then align");
  }
  for (Time& time : comparison.b.begin) time += shift;
  for (Time& time : comparison.b.end) time += shift;
  for (OpDifference& each : comparison.ops) {
    each.start += shift;
    each.end += shift;
  }
}

}  // namespace

RunPair pair_of(const ViewedRunPtr& first, const ViewedRunPtr& given, PairAlignment alignment,
                std::optional<TaskId> anchor) {
  const bool by_iteration = alignment == PairAlignment::iteration;
  const bool both = first->iterations != nullptr && given->iterations != nullptr;
  const ViewedRunPtr second =
      by_iteration && both ? at_iteration(*given, first->timeline.iteration) : given;
  const ComparedRun a = compared(*first);
  const ComparedRun b = compared(*second);
  CompareOptions options{.alignment =
                             by_iteration ? Alignment::start : static_cast<Alignment>(alignment)};
  options.resolution = std::max(resolution_of(first->timeline), resolution_of(second->timeline));
  Comparison comparison =
      compare(first->plan, first->timeline, second->plan, second->timeline, options);
  RunPair pair;
  pair.text = comparison_text(a, b, comparison);
  if (anchor) anchor_at(*first, *anchor, comparison);
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
  pair.residuals = residuals_of(*first, comparison);
  return pair;
}

}  // namespace penstock
