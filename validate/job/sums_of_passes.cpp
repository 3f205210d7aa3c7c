#include "validate/job/sums_of_passes.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {
namespace {

/// A stage on a rank.
using Copy = std::pair<Stage, std::uint32_t>;

/// Moves the tasks of a plan apart to put the sums before the first update.
class SumsOfPasses {
 public:
  SumsOfPasses(PricedPlan priced, std::uint32_t replicas) : all_(std::move(priced)) {
    const Plan& plan = all_.plan;
    std::set<std::uint32_t> listed;                 // model stages
    std::map<std::uint32_t, std::uint32_t> copies;  // of model stages
    first_update_ = plan.tasks();
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      const WorkClass& work = plan.class_of(task);
      const std::uint32_t stage = plan.model_stage[index(work.stage)];
      if (reduces_gradient(work.pass)) listed.insert(stage);
      if (work.pass == Pass::update) first_update_ = std::min(first_update_, task);
      if (work.pass == Pass::update) copies[stage] += replicas;
      if (ends_activation(work.pass)) last_[{work.stage, work.resource}] = task;
    }
    std::erase_if(last_, [&](const auto& copy) {
      const std::uint32_t stage = plan.model_stage[index(copy.first.first)];
      return listed.contains(stage) || copies[stage] < 2;
    });
  }

  PricedPlan made() {
    if (last_.empty()) return std::move(all_);
    Plan old = all_.plan;
    Plan& plan = all_.plan;
    plan.work.clear();
    plan.microbatch.clear();
    plan.input.clear();
    plan.inputs.clear();
    for (TaskId task = 0; task < old.tasks(); ++task) {
      if (task == first_update_) add_sums(old);
      add_task(plan, old.work[task], old.microbatch[task], add_inputs(plan, inputs_of(old, task)));
    }
    plan.in_one_order = links_in_one_order(plan);
    return std::move(all_);
  }

 private:
  std::uint32_t link_of(std::uint32_t rank) {
    std::vector<Link>& links = all_.plan.links;
    const Link wanted{Rank{rank}, data_replicas};
    const auto found = std::find(links.begin(), links.end(), wanted);
    if (found != links.end()) return static_cast<std::uint32_t>(found - links.begin());
    links.push_back(wanted);
    auto& routes = all_.conditions.network.routes;
    if (!routes.empty()) routes.resize(links.size());
    return static_cast<std::uint32_t>(links.size() - 1);
  }

  std::uint32_t class_of_sum(const Copy& copy) {
    Plan& plan = all_.plan;
    const std::uint32_t resource = plan.ranks + link_of(copy.second);
    const auto buffer = static_cast<std::uint32_t>(plan.buffers.size());
    plan.buffers.push_back({BufferKind::gradient, copy.first, Rank{copy.second}});
    plan.classes.push_back({.pass = Pass::reduce_gradient,
                            .stage = copy.first,
                            .resource = resource,
                            .buffer = buffer,
                            .effects = {}});
    all_.costs.bytes.push_back(0);
    all_.costs.duration.push_back({});
    all_.costs.latency.push_back({});
    return static_cast<std::uint32_t>(plan.classes.size() - 1);
  }

  void add_sums(const Plan& old) {
    for (const auto& [copy, gradient] : last_) {
      sums_[old.model_stage[index(copy.first)]].push_back(all_.plan.tasks());
      add_task(all_.plan, class_of_sum(copy), old.microbatch[gradient], gradient);
    }
  }

  std::vector<TaskId> inputs_of(const Plan& old, TaskId task) const {
    const auto added = static_cast<TaskId>(last_.size());
    std::vector<TaskId> inputs;
    old.for_each_input(task, [&](TaskId input) {
      inputs.push_back(input < first_update_ ? input : input + added);
    });
    const WorkClass& work = old.class_of(task);
    if (work.pass != Pass::update) return inputs;
    const auto sums = sums_.find(old.model_stage[index(work.stage)]);
    if (sums != sums_.end()) {
      inputs.insert(inputs.end(), sums->second.begin(), sums->second.end());
    }
    std::sort(inputs.begin(), inputs.end());
    return inputs;
  }

  PricedPlan all_;
  TaskId first_update_ = 0;
  std::map<Copy, TaskId> last_;                        // weight gradients before the sums to add
  std::map<std::uint32_t, std::vector<TaskId>> sums_;  // by model stage
};

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

PricedPlan with_sums_of_passes(PricedPlan priced, std::uint32_t replicas) {
  return SumsOfPasses(std::move(priced), replicas).made();
}

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
