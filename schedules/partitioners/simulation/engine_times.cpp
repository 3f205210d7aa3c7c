#include "schedules/partitioners/simulation/engine_times.hpp"

#include <string_view>
#include <utility>
#include <variant>

#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/engines/relax.hpp"
#include "sim/plan/lower.hpp"

namespace penstock {
namespace {

Plan lowered(const Schedule& schedule, const Placement& placement) {
  auto plan = lower(schedule, placement);
  if (const auto* deadlock = std::get_if<Deadlock>(&plan)) {
    throw InputError("/schedule", text(*deadlock));
  }
  return std::get<Plan>(std::move(plan));
}

Plan plan_of(const CutProblem& problem, std::uint32_t stages) {
  if (problem.schedule != nullptr && problem.placement != nullptr) {
    return lowered(*problem.schedule, *problem.placement);
  }
  const bool loops = problem.chunks > 1;
  const std::string_view name = loops ? "interleaved-1f1b" : "1f1b";
  const ScheduleEntry& rule = *find_named(schedule_entries(), name);
  const Placement placement =
      loops ? rule.place(problem.ranks, stages / problem.ranks) : rule.place(stages, 1);
  const Schedule schedule = make_schedule(rule, placement, {problem.microbatches, {}});
  return lowered(schedule, placement);
}

Time duration_of(const WorkClass& work, std::uint32_t begin, std::uint32_t end,
                 const StageTimes& times) {
  switch (work.pass) {
    case Pass::forward:
    case Pass::recompute:
      return times.forward(begin, end);
    case Pass::backward:
      return times.backward(begin, end);
    case Pass::backward_input:
      return times.input(begin, end);
    case Pass::backward_weight:
      return times.weight(begin, end);
    case Pass::send_activation:
      return times.transfer(end);
    case Pass::send_gradient:
      return times.transfer(begin);
    default:
      return {};
  }
}

}  // namespace

EngineTimes::EngineTimes(const CutProblem& problem, const StageTimes& times, std::uint32_t stages)
    : times_(times) {
  priced_.plan = plan_of(problem, stages);
  for (const WorkClass& work : priced_.plan.classes) {
    priced_.costs.duration.emplace_back();
    priced_.costs.latency.push_back(passes_on(work.pass) ? times_.latency() : Time{});
  }
}

Time EngineTimes::operator()(std::span<const std::uint32_t> cuts) {
  ++runs_;
  const Plan& plan = priced_.plan;
  for (std::size_t work = 0; work < plan.classes.size(); ++work) {
    const std::uint32_t stage = plan.model_stage[index(plan.classes[work].stage)];
    priced_.costs.duration[work] =
        duration_of(plan.classes[work], cuts[stage], cuts[stage + 1], times_);
  }
  check_clock(plan, priced_.costs, "/model");
  timeline_ = relax(priced_, std::move(timeline_));
  return makespan(plan, timeline_);
}

}  // namespace penstock
