#include "validate/job/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The work of a plan's actions.
struct Work {
  double us = 0;
  std::uint64_t actions = 0;  // that take time
};

Work work_of(const Plan& plan, const Costs& costs) {
  Work work;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const Time duration = costs.duration[plan.work[task]];
    if (plan.is_link(plan.class_of(task).resource) || duration <= Time{}) continue;
    work.us += to_us(duration);
    ++work.actions;
  }
  return work;
}

/// How many times longer everything is to take.
double scale_for(const Plan& plan, const Costs& costs, const JobLength& length) {
  const Work work = work_of(plan, costs);
  if (work.actions == 0) throw UsageError("no action takes any time: there is nothing to measure");
  const double most = static_cast<double>(length.most_work_ns);
  const double least = static_cast<double>(length.least_work_ns) * plan.ranks;
  const double wanted =
      static_cast<double>(length.mean_action_ns) * static_cast<double>(work.actions);
  constexpr double shortest_ns = 1000;
  if (most < shortest_ns * static_cast<double>(work.actions)) {
    throw UsageError(fmt::format("{} actions are too many to be measured; {} are the most",
                                 work.actions, static_cast<std::uint64_t>(most / shortest_ns)));
  }
  const double floor =
      static_cast<double>(std::min(length.least_action_ns, length.mean_action_ns)) *
      static_cast<double>(work.actions);
  return std::max(floor, std::min(most, std::max(least, wanted))) / (work.us * 1e3);
}

std::int64_t scaled_ns(Time time, double scale) {
  constexpr double most_ns = 1e12;
  const double ns = to_us(time) * 1e3 * scale;
  if (ns > most_ns) {
    throw UsageError("transfers take so much longer than actions that these cannot be measured");
  }
  return std::llround(ns);
}

}  // namespace

Job job_of(Plan plan, const Costs& costs, const JobLength& length) {
  const double scale = scale_for(plan, costs, length);
  Job job = scaled_job(std::move(plan), costs, scale);
  job.most_tensor_words = length.most_tensor_words;
  return job;
}

Job scaled_job(Plan plan, const Costs& costs, double scale) {
  Job job;
  job.scale = scale;
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const std::uint32_t buffer = plan.classes[c].buffer;
    job.work_ns.push_back(scaled_ns(costs.duration[c], job.scale));
    job.latency_ns.push_back(scaled_ns(costs.latency[c], job.scale));
    job.bytes.push_back(buffer == UINT32_MAX ? 0 : costs.bytes[buffer]);
  }
  job.plan = std::move(plan);
  return job;
}

void use_measured(Job& job, const std::vector<std::int64_t>& profile_ns) {
  double asked = 0;
  double measured = 0;
  for (const std::uint32_t work : job.plan.work) {
    if (job.plan.is_link(job.plan.classes[work].resource)) continue;
    asked += static_cast<double>(job.work_ns[work]);
    measured += static_cast<double>(profile_ns[work]);
  }
  const double ratio = measured / asked;
  const auto scale = [&](std::int64_t& ns) { ns = std::llround(static_cast<double>(ns) * ratio); };
  for (std::size_t c = 0; c < job.work_ns.size(); ++c) {
    if (job.plan.is_link(job.plan.classes[c].resource)) {
      scale(job.work_ns[c]);
      scale(job.latency_ns[c]);
    } else {
      job.work_ns[c] = profile_ns[c];
    }
  }
  job.scale *= ratio;
}

}  // namespace penstock
