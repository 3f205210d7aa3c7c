#include "schedules/partitioners/simulation/engine_times.hpp"

#include <stdexcept>
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
  priced_.costs.bytes.assign(priced_.plan.buffers.size(), 0);
}

Costs EngineTimes::costs_of(std::span<const std::uint32_t> cuts) const {
  const Plan& plan = priced_.plan;
  Costs costs;
  costs.bytes = priced_.costs.bytes;
  for (const WorkClass& work : plan.classes) {
    const std::uint32_t stage = plan.model_stage[index(work.stage)];
    costs.duration.push_back(duration_of(work, cuts[stage], cuts[stage + 1], times_));
    costs.latency.push_back(passes_on(work.pass) ? times_.latency() : Time{});
  }
  return costs;
}

Time EngineTimes::operator()(std::span<const std::uint32_t> cuts) {
  ++runs_;
  Costs costs = costs_of(cuts);
  if (!run_) {
    PricedPlan priced = priced_;
    priced.costs = std::move(costs);
    Timeline timeline = relax(priced);
    run_.emplace(std::move(priced), std::move(timeline));
  } else if (!std::holds_alternative<Rerun::Done>(run_->set_costs(std::move(costs)))) {
    throw std::logic_error("the engine refused the costs of a cut");
  }
  return makespan(run_->plan(), run_->timeline());
}

}  // namespace penstock
