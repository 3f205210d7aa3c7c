#include "validate/job/ties_of_copies.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {
namespace {

/// A copy of a stage at an end: in its chain, on its rank.
using EndCopy = std::pair<Stage, std::uint32_t>;

/// The exchanges of each copy, by model stage.
using Exchanges = std::map<std::uint32_t, std::map<EndCopy, std::vector<TaskId>>>;

Exchanges exchanges_of(const Plan& plan) {
  Exchanges exchanges;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (work.pass != Pass::tie_gradient) continue;
    const EndCopy copy{work.stage, index(plan.link(work.resource).from)};
    exchanges[plan.model_stage[index(work.stage)]][copy].push_back(task);
  }
  return exchanges;
}

/// The inputs of an update, with an exchange of each copy on another rank.
std::vector<TaskId> with_all(const Plan& plan, TaskId update,
                             const std::map<EndCopy, std::vector<TaskId>>& exchanges) {
  std::set<TaskId> inputs;
  std::set<EndCopy> listed;
  plan.for_each_input(update, [&](TaskId input) {
    const WorkClass& work = plan.class_of(input);
    inputs.insert(input);
    if (work.pass == Pass::tie_gradient) {
      listed.emplace(work.stage, index(plan.link(work.resource).from));
    }
  });
  const std::uint32_t rank = plan.class_of(update).resource;
  for (const auto& [copy, tasks] : exchanges) {
    if (copy.second != rank && !listed.contains(copy)) inputs.insert(tasks.front());
  }
  return {inputs.begin(), inputs.end()};
}

}  // namespace

PricedPlan with_ties_of_copies(PricedPlan priced) {
  Plan& plan = priced.plan;
  const Exchanges exchanges = exchanges_of(plan);
  if (exchanges.size() < 2) return priced;
  const std::uint32_t last = exchanges.rbegin()->first;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    const std::uint32_t stage = plan.model_stage[index(work.stage)];
    if (work.pass != Pass::update || (stage != 0 && stage != last)) continue;
    plan.input[task] = add_inputs(plan, with_all(plan, task, exchanges.at(last - stage)));
  }
  plan.in_one_order = links_in_one_order(plan);
  return priced;
}

}  // namespace penstock
