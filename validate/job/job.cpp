#include "validate/job/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The total work of a plan's actions.
struct Work {
  double us = 0;
  std::uint64_t actions = 0;  // that take time
};

Work work_of(const PricedPlan& priced) {
  const auto& [plan, costs, conditions] = priced;
  Work work;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const Time duration = costs.duration_of(plan, task);
    if (plan.is_link(plan.class_of(task).resource) || duration <= Time{}) continue;
    work.us += to_us(duration);
    ++work.actions;
  }
  return work;
}

/// The factor by which all times are scaled.
double scale_for(const PricedPlan& priced, const JobLength& length) {
  const Work work = work_of(priced);
  if (work.actions == 0) throw UsageError("no action takes any time: nothing to measure");
  const double most = static_cast<double>(length.most_work_ns);
  const double least = static_cast<double>(length.least_work_ns) * priced.plan.ranks;
  const double wanted =
      static_cast<double>(length.mean_action_ns) * static_cast<double>(work.actions);
  constexpr double shortest_ns = 1000;
  if (most < shortest_ns * static_cast<double>(work.actions)) {
    throw UsageError(fmt::format("{} actions are too many to measure; at most {}", work.actions,
                                 static_cast<std::uint64_t>(most / shortest_ns)));
  }
  const double floor =
      static_cast<double>(std::min(length.least_action_ns, length.mean_action_ns)) *
      static_cast<double>(work.actions);
  return std::max(floor, std::min(most, std::max(least, wanted))) / (work.us * 1e3);
}

Time scaled_to_ns(Time time, double scale) {
  constexpr double most_ns = 1e12;
  const double ns = to_us(time) * 1e3 * scale;
  if (ns > most_ns) {
    throw UsageError("transfers take too much longer than actions to measure both");
  }
  return from_ns(std::llround(ns));
}

}  // namespace

std::uint64_t Job::tensor_bytes(std::size_t work) const {
  const std::uint32_t buffer = priced.plan.classes[work].buffer;
  return buffer == UINT32_MAX ? 0 : priced.costs.bytes[buffer];
}

Job job_of(PricedPlan priced, const JobLength& length) {
  const double scale = scale_for(priced, length);
  Job job = scaled_job(std::move(priced), scale);
  job.most_tensor_words = length.most_tensor_words;
  return job;
}

Job scaled_job(PricedPlan priced, double scale) {
  Costs& costs = priced.costs;
  for (auto* times : {&costs.duration, &costs.latency, &costs.task_duration, &costs.task_latency}) {
    for (Time& time : *times) time = scaled_to_ns(time, scale);
  }
  costs.issue = scaled_to_ns(costs.issue, scale);
  costs.launch = scaled_to_ns(costs.launch, scale);
  return {.priced = std::move(priced), .scale = scale, .layers = {}};
}

void measure_links(Job& job) {
  job.device.links = DeviceLinks::host;
  Costs& costs = job.priced.costs;
  for (Time& latency : costs.latency) latency = Time{};
  for (Time& latency : costs.task_latency) latency = Time{};
}

void use_measured(Job& job, const std::vector<Time>& profile) {
  auto& [plan, costs, conditions] = job.priced;
  double asked = 0;
  double measured = 0;
  for (const std::uint32_t work : plan.work) {
    if (plan.is_link(plan.classes[work].resource)) continue;
    asked += static_cast<double>(job.work_ns(work));
    measured += static_cast<double>(to_ns(profile[work]));
  }
  const double ratio = measured / asked;
  const auto scaled = [&](std::int64_t ns) {
    return from_ns(std::llround(static_cast<double>(ns) * ratio));
  };
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const bool moves = plan.is_link(plan.classes[c].resource);
    costs.duration[c] = moves ? scaled(job.work_ns(c)) : profile[c];
    if (moves) costs.latency[c] = scaled(job.latency_ns(c));
  }
  costs.issue = scaled(to_ns(costs.issue));
  costs.launch = scaled(to_ns(costs.launch));
  job.scale *= ratio;
}

PricedPlan profiled(const Job& job, std::vector<Time> profile) {
  PricedPlan priced = job.priced;
  auto& [plan, costs, conditions] = priced;
  for (TaskId task = 0; task < costs.task_duration.size(); ++task) {
    const std::uint32_t work = plan.work[task];
    if (plan.is_link(plan.classes[work].resource)) continue;
    const double asked = to_us(costs.duration[work]);
    const double factor = asked > 0 ? to_us(costs.task_duration[task]) / asked : 1;
    costs.task_duration[task] = from_us(to_us(profile[work]) * factor);
  }
  costs.duration = std::move(profile);
  return priced;
}

}  // namespace penstock
