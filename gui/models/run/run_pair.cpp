#include "gui/models/run/run_pair.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "experiments/measure/comparison/comparison.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

ComparedRun compared(const ViewedRun& run) {
  ComparedRun compared{run.source, Recording{run.plan, run.timeline, run.title}};
  if (run.layout) compared.work = step_work_of(*run.layout, compared.recording);
  return compared;
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
  for (TaskId task = 0; task < run.plan.tasks(); ++task) {
    microbatches = std::max<std::size_t>(microbatches, microbatch_of(run, task) + 1);
  }
  std::vector<std::vector<double>> residuals(stages, std::vector<double>(microbatches));
  bool any = false;
  for (const OpDifference& op : comparison.ops) {
    const WorkClass& work = run.plan.class_of(op.task.a);
    if (run.plan.is_link(work.resource)) continue;
    any = true;
    const Time own = run.timeline.end[op.task.a] - run.timeline.begin[op.task.a];
    double& cell = residuals[index(work.stage)][microbatch_of(run, op.task.a)];
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
  if (op == comparison.ops.end()) throw InputError("The other run has no such op to align by");
  const Time shift = first.timeline.begin[anchor] - comparison.b.begin[op->task.b];
  const Time earliest = *std::min_element(comparison.b.begin.begin(), comparison.b.begin.end());
  if (earliest + shift < Time{}) {
    throw InputError("The other run would begin before time 0; swap A and B, then align");
  }
  for (Time& time : comparison.b.begin) time += shift;
  for (Time& time : comparison.b.end) time += shift;
  for (OpDifference& each : comparison.ops) {
    each.start += shift;
    each.end += shift;
  }
}

Comparison aligned(const ViewedRun& a, const ViewedRun& b, Alignment alignment) {
  CompareOptions options{.alignment = alignment};
  options.resolution = std::max(resolution_of(a.timeline), resolution_of(b.timeline));
  return compare(a.plan, a.timeline, b.plan, b.timeline, options);
}

void set_tasks(const Plan& a, const Plan& b, const TaskMatch& match, AgainstA& against) {
  if (number_alike(a, b)) return;
  against.here.assign(a.tasks(), no_task);
  against.in_a.assign(b.tasks(), no_task);
  for (const TaskPair& pair : match.shared) {
    against.here[pair.a] = pair.b;
    against.in_a[pair.b] = pair.a;
  }
}

/// The differences of a run to A, the first of a comparison, and tables of them. `own_a`: with its
/// times as they are without alignment.
void set_differences(const ViewedRun& a, const ViewedRun& own_a, const ViewedRun& now,
                     const Comparison& comparison, RunPair& pair) {
  Time largest{};
  for (const OpDifference& op : comparison.ops) {
    largest = std::max(largest, Time{std::llabs(op.end.picoseconds)});
  }
  auto against = std::make_shared<AgainstA>();
  against->differences.resize(a.plan.tasks());
  for (const OpDifference& op : comparison.ops) {
    against->differences[op.task.a] = share_of(op.end, largest);
  }
  set_tasks(a.plan, now.plan, comparison.tasks, *against);
  pair.against_a = std::move(against);
  pair.residuals = residuals_of(a, comparison);
  if (a.brief || now.brief) return;
  pair.moved = moved_ops(comparison);
  pair.changes = changes_of(own_a, now);
}

/// With both aligned by iteration, the second shows that of the first.
ViewedRunPtr at_same_iteration(const ViewedRun& first, const ViewedRunPtr& second,
                               PairAlignment alignment) {
  const bool both = first.iterations != nullptr && second->iterations != nullptr;
  const bool moves = alignment == PairAlignment::iteration && both;
  return moves ? at_iteration(*second, first.timeline.iteration) : second;
}

}  // namespace

RunPair pair_of(const ViewedRunPtr& first, const ViewedRunPtr& given, PairAlignment alignment,
                std::optional<TaskId> anchor) {
  const ViewedRunPtr second = at_same_iteration(*first, given, alignment);
  const bool by_iteration = alignment == PairAlignment::iteration;
  Comparison comparison =
      aligned(*first, *second, by_iteration ? Alignment::start : static_cast<Alignment>(alignment));
  RunPair pair;
  pair.text = comparison_text(compared(*first), compared(*second), comparison);
  if (anchor) anchor_at(*first, *anchor, comparison);
  set_differences(*first, *first, *second, comparison, pair);
  if (comparison.first) pair.first = comparison.ops[comparison.first->op].task.a;
  auto moved = std::make_shared<ViewedRun>(*second);
  moved->timeline = std::move(comparison.b);
  moved->unaligned = second;
  pair.second = std::move(moved);
  pair.a = first;
  pair.now = pair.second;
  return pair;
}

RunPair pair_against(const ViewedRunPtr& first, const ViewedRunPtr& given, PairAlignment alignment,
                     std::optional<TaskId> anchor) {
  const ViewedRunPtr second = at_same_iteration(*first, given, alignment);
  const bool stays = alignment == PairAlignment::start || alignment == PairAlignment::iteration;
  RunPair pair;
  pair.second = stays && !anchor ? second : pair_of(first, second, alignment, anchor).second;
  const Comparison comparison = aligned(*pair.second, *first, Alignment::start);
  pair.text = comparison_text(compared(*second), compared(*first), comparison);
  set_differences(*pair.second, *second, *first, comparison, pair);
  if (comparison.first) pair.first = comparison.ops[comparison.first->op].task.b;
  pair.a = pair.second;
  pair.now = first;
  return pair;
}

bool number_alike(const Plan& one, const Plan& other) {
  const auto alike = [](const WorkClass& a, const WorkClass& b) {
    return a.resource == b.resource && a.pass == b.pass && a.stage == b.stage;
  };
  return one.work == other.work && one.microbatch == other.microbatch &&
         std::equal(one.classes.begin(), one.classes.end(), other.classes.begin(),
                    other.classes.end(), alike);
}

std::vector<TaskId> same_ops(const Plan& from, const std::vector<TaskId>& tasks, const Plan& to) {
  if (tasks.empty() || &from == &to || number_alike(from, to)) return tasks;
  std::vector<TaskId> there(from.tasks(), no_task);
  for (const TaskPair& pair : match_tasks(from, to).shared) there[pair.a] = pair.b;
  std::vector<TaskId> found;
  for (const TaskId task : tasks) {
    if (there[task] != no_task) found.push_back(there[task]);
  }
  return found;
}

}  // namespace penstock
