#include "validate/job/run_errors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/engines/relax.hpp"

namespace penstock {
namespace {

Time from_ns(std::int64_t ns) { return {ns * 1000}; }

double share(Time part, Time whole) { return whole > Time{} ? to_us(part) / to_us(whole) : 0; }

double distance(Time a, Time b) { return std::abs(share(a - b, b)); }

/// What a job costs when each action takes what it took in an iteration. Links have their word.
Costs costs_of_iteration(const Job& job, const Iteration& iteration) {
  Costs costs = costs_of(job, job.work_ns);
  const Plan& plan = job.plan;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const bool moves = plan.is_link(plan.class_of(task).resource);
    costs.task_duration.push_back(moves
                                      ? costs.duration[plan.work[task]]
                                      : from_ns(iteration[task].end_ns - iteration[task].begin_ns));
    costs.task_latency.push_back(costs.latency[plan.work[task]]);
  }
  return costs;
}

double structure_error(const Job& job, const Iteration& iteration) {
  const Timeline replayed = relax({job.plan, costs_of_iteration(job, iteration)});
  return distance(makespan(job.plan, replayed), makespan(job.plan, timeline_of(job, iteration)));
}

std::vector<double> idle_shares(const Plan& plan, const Timeline& timeline) {
  const Time all = makespan(plan, timeline);
  std::vector<Time> busy(plan.ranks);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (!plan.is_link(resource)) busy[resource] += timeline.end[task] - timeline.begin[task];
  }
  std::vector<double> idle;
  for (const Time time : busy) idle.push_back(1 - share(time, all));
  return idle;
}

/// The median of the makespans of every other iteration, from the first or the second on.
double median_of_every_other(const std::vector<double>& makespans, std::size_t first) {
  std::vector<double> values;
  for (std::size_t i = first; i < makespans.size(); i += 2) values.push_back(makespans[i]);
  return median(std::move(values));
}

double retest_error(const std::vector<double>& makespans) {
  const double all = median(makespans);
  if (makespans.size() < 2 || all == 0) return 0;
  const double apart = median_of_every_other(makespans, 0) - median_of_every_other(makespans, 1);
  return std::abs(apart) / all;
}

/// The iteration that as many are shorter than as are longer.
std::size_t in_the_middle(const std::vector<double>& makespans) {
  std::vector<std::size_t> order(makespans.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
  std::nth_element(order.begin(), middle, order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(makespans[a], a) < std::pair(makespans[b], b);
  });
  return *middle;
}

/// Starts and idle shares of the median iteration against the simulation.
void compare_op_by_op(const Plan& plan, const Timeline& simulated, const Timeline& measured,
                      RunErrors& errors) {
  const Time all = makespan(plan, measured);
  std::vector<double> residuals;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    residuals.push_back(std::abs(share(measured.begin[task] - simulated.begin[task], all)));
  }
  errors.start = median(std::move(residuals));
  errors.bubble = idle_shares(plan, measured);
  const std::vector<double> expected = idle_shares(plan, simulated);
  for (std::size_t rank = 0; rank < expected.size(); ++rank) errors.bubble[rank] -= expected[rank];
}

}  // namespace

Costs costs_of(const Job& job, const std::vector<std::int64_t>& work_ns) {
  Costs costs;
  for (std::size_t c = 0; c < work_ns.size(); ++c) {
    costs.duration.push_back(from_ns(work_ns[c]));
    costs.latency.push_back(from_ns(job.latency_ns[c]));
  }
  costs.bytes.resize(job.plan.buffers.size());
  return costs;
}

Timeline timeline_of(const Job& job, const Iteration& iteration) {
  Timeline timeline;
  for (TaskId task = 0; task < job.plan.tasks(); ++task) {
    timeline.begin.push_back(from_ns(iteration[task].begin_ns));
    timeline.end.push_back(from_ns(iteration[task].end_ns));
    TaskId last = no_task;
    job.plan.for_each_input(task, [&](TaskId input) {
      if (last == no_task || iteration[input].end_ns > iteration[last].end_ns) last = input;
    });
    timeline.last_input.push_back(last);
  }
  return timeline;
}

RunErrors run_errors(const Job& job, const Measurement& measured) {
  RunErrors errors;
  std::vector<double> structures;
  std::vector<double> makespans;
  for (const Iteration& iteration : measured.iterations) {
    structures.push_back(structure_error(job, iteration));
    makespans.push_back(to_us(makespan(job.plan, timeline_of(job, iteration))));
  }
  errors.structure = *std::max_element(structures.begin(), structures.end());
  errors.usual_structure = median(std::move(structures));
  const Timeline simulated = relax({job.plan, costs_of(job, measured.profile_ns)});
  errors.simulated = makespan(job.plan, simulated);
  errors.measured = from_us(median(makespans));
  errors.profile = distance(errors.simulated, errors.measured);
  errors.retest = retest_error(makespans);
  if (errors.measured > Time{}) errors.spread = median_deviation(makespans) / median(makespans);
  errors.median_iteration = in_the_middle(makespans);
  const Iteration& typical = measured.iterations[errors.median_iteration];
  compare_op_by_op(job.plan, simulated, timeline_of(job, typical), errors);
  return errors;
}

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 3> names{"pass", "fail", "inconclusive"};
  return names[static_cast<std::size_t>(verdict)];
}

double judged_structure(const RunErrors& errors, const Targets& targets) {
  return targets.wall_clock ? errors.usual_structure : errors.structure;
}

Verdict judge(const RunErrors& errors, const Measurement& measured, const Targets& targets) {
  const bool structure_holds = judged_structure(errors, targets) <= targets.structure;
  if (!structure_holds && !targets.wall_clock) return Verdict::fail;
  if (!measured.complete) return Verdict::inconclusive;
  if (errors.profile > std::max(targets.profile, 2 * errors.retest)) return Verdict::fail;
  if (errors.retest > targets.profile) return Verdict::inconclusive;
  return structure_holds ? Verdict::pass : Verdict::fail;
}

}  // namespace penstock
