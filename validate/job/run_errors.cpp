#include "validate/job/run_errors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "sim/engines/events.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

double share(Time part, Time whole) { return whole > Time{} ? to_us(part) / to_us(whole) : 0; }

double distance(Time a, Time b) { return std::abs(share(a - b, b)); }

/// The plan with the lengths of an iteration's actions, each with the host's time behind it.
PricedPlan with_lengths_and_host(const Measurement& measured, std::size_t number, const Job& job) {
  PricedPlan priced = with_lengths(job, measured.iterations[number]);
  const Plan& plan = priced.plan;
  for (TaskId task = 0; !measured.host.empty() && task < plan.tasks(); ++task) {
    if (plan.is_link(plan.class_of(task).resource)) continue;
    priced.costs.task_duration[task] += measured.host[number][task];
  }
  return priced;
}

double structure_error(const Job& job, const Measurement& measured, std::size_t number) {
  const auto simulated = replayed(job, measured, number);
  if (!simulated) return 1;
  return distance(makespan(job.priced.plan, *simulated),
                  makespan(job.priced.plan, measured.iterations[number]));
}

std::vector<double> idle_shares(const Plan& plan, const Timeline& timeline) {
  const Time all = makespan(plan, timeline);
  std::vector<Time> busy(plan.ranks);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (plan.is_link(resource) || plan.class_of(task).follows_partner) continue;
    busy[resource] += timeline.end[task] - timeline.begin[task];
  }
  std::vector<double> idle;
  for (const Time time : busy) idle.push_back(1 - share(time, all));
  return idle;
}

/// The median makespan of every other iteration, starting with the first or the second.
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

}  // namespace

std::size_t median_iteration(const Plan& plan, const std::vector<Timeline>& iterations) {
  std::vector<std::pair<Time, std::size_t>> order;
  for (const Timeline& iteration : iterations) {
    order.emplace_back(makespan(plan, iteration), order.size());
  }
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
  std::nth_element(order.begin(), middle, order.end());
  return middle->second;
}

PricedPlan with_lengths(const Job& job, const Timeline& run) {
  PricedPlan priced = job.priced;
  auto& [plan, costs, conditions] = priced;
  std::vector<Time> lengths;
  std::vector<Time> latencies;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const bool asked = plan.is_link(plan.class_of(task).resource) && !job.real_links;
    // The second part of a fused cell takes no time of its own.
    const bool follows = plan.class_of(task).follows_partner;
    const Time ran = run.end[task] - run.begin[task] - time_in(run.slowed, task);
    lengths.push_back(asked ? costs.duration_of(plan, task) : follows ? Time{} : ran);
    latencies.push_back(costs.latency_of(plan, task));
  }
  costs.task_duration = std::move(lengths);
  costs.task_latency = std::move(latencies);
  return priced;
}

std::optional<Timeline> replayed(const Job& job, const Measurement& measured,
                                 std::size_t iteration) {
  RunOutcome outcome = simulate(with_lengths_and_host(measured, iteration, job));
  if (auto* const timeline = std::get_if<Timeline>(&outcome)) return std::move(*timeline);
  return std::nullopt;
}

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

RunErrors run_errors(const Job& job, const Measurement& measured) {
  RunErrors errors;
  const Plan& plan = job.priced.plan;
  std::vector<double> structures;
  std::vector<double> makespans;
  for (std::size_t i = 0; i < measured.iterations.size(); ++i) {
    structures.push_back(structure_error(job, measured, i));
    makespans.push_back(to_us(makespan(plan, measured.iterations[i])));
  }
  errors.structure = *std::max_element(structures.begin(), structures.end());
  errors.usual_structure = median(std::move(structures));
  const Timeline simulated = std::get<Timeline>(simulate(profiled(job, measured.profile)));
  errors.simulated = makespan(plan, simulated);
  errors.measured = from_us(median(makespans));
  errors.profile = distance(errors.simulated, errors.measured);
  errors.retest = retest_error(makespans);
  errors.spread = spread_of(makespans).deviation;
  const std::size_t middle = median_iteration(plan, measured.iterations);
  compare_op_by_op(plan, simulated, measured.iterations[middle], errors);
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
