#include "validate/job/replica_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {
namespace {

/// Numbers everything of each replica anew.
class ReplicaRanks {
 public:
  ReplicaRanks(const PricedPlan& one, const std::vector<Costs>& replicas)
      : one_(one.plan), replicas_(replicas), count_(static_cast<std::uint32_t>(replicas.size())) {
    for (const Microbatch microbatch : one_.microbatch) {
      microbatches_ = std::max(microbatches_, index(microbatch) + 1);
    }
    all_.conditions = one.conditions;
  }

  PricedPlan made() {
    Plan& plan = all_.plan;
    plan.schedule = one_.schedule;
    plan.ranks = one_.ranks * count_;
    plan.microbatches = one_.microbatches * count_;
    plan.model_stage = one_.model_stage;
    plan.written = one_.written;
    for (std::uint32_t replica = 0; replica < count_; ++replica) {
      add_links(replica);
      add_classes(replica);
      add_costs(replica);
    }
    add_network();
    add_tasks();
    return std::move(all_);
  }

 private:
  Rank rank_in(std::uint32_t replica, Rank rank) const {
    return is_rank(rank) ? Rank{index(rank) + replica * one_.ranks} : rank;
  }

  void add_links(std::uint32_t replica) {
    for (const Link& link : one_.links) {
      all_.plan.links.push_back({rank_in(replica, link.from), rank_in(replica, link.to)});
    }
    const auto& in_order = one_.in_one_order;
    all_.plan.in_one_order.insert(all_.plan.in_one_order.end(), in_order.begin(), in_order.end());
  }

  std::uint32_t resource_in(std::uint32_t replica, std::uint32_t resource) const {
    if (!one_.is_link(resource)) return resource + replica * one_.ranks;
    const auto links = static_cast<std::uint32_t>(one_.links.size());
    return one_.ranks * count_ + replica * links + (resource - one_.ranks);
  }

  void add_classes(std::uint32_t replica) {
    const auto classes = static_cast<std::uint32_t>(one_.classes.size());
    const auto buffers = static_cast<std::uint32_t>(one_.buffers.size());
    for (WorkClass work : one_.classes) {
      work.resource = resource_in(replica, work.resource);
      if (work.buffer != UINT32_MAX) work.buffer += replica * buffers;
      if (work.partner != UINT32_MAX) work.partner += replica * classes;
      for (MemoryEffect& effect : work.effects) effect.buffer += replica * buffers;
      all_.plan.classes.push_back(std::move(work));
    }
    for (BufferClass buffer : one_.buffers) {
      buffer.rank = rank_in(replica, buffer.rank);
      all_.plan.buffers.push_back(buffer);
    }
  }

  void add_costs(std::uint32_t replica) {
    const Costs& own = replicas_[replica];
    const auto append = [](const auto& from, auto& to) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(own.duration, all_.costs.duration);
    append(own.latency, all_.costs.latency);
    append(own.bytes, all_.costs.bytes);
    all_.costs.issue = own.issue;
    all_.costs.launch = own.launch;
  }

  /// Each replica has physical links of its own: what replicas share is in the prices already.
  void add_network() {
    Network& network = all_.conditions.network;
    const Network one = network;
    for (std::uint32_t replica = 1; replica < count_; ++replica) {
      const auto first = static_cast<std::uint32_t>(network.links.size());
      network.links.insert(network.links.end(), one.links.begin(), one.links.end());
      for (Route route : one.routes) {
        for (std::uint32_t& link : route) link += first;
        network.routes.push_back(std::move(route));
      }
    }
  }

  /// The tasks of all replicas take turns, so that each still follows its inputs; both parts of a
  /// fused cell stay together.
  void add_tasks() {
    number_.assign(count_, std::vector<TaskId>(one_.tasks()));
    for (TaskId task = 0; task < one_.tasks();) {
      const bool leads = task + 1 < one_.tasks() && one_.class_of(task + 1).follows_partner;
      for (std::uint32_t replica = 0; replica < count_; ++replica) {
        add(replica, task);
        if (leads) add(replica, task + 1);
      }
      task += leads ? 2 : 1;
    }
  }

  void add(std::uint32_t replica, TaskId task) {
    Plan& plan = all_.plan;
    const auto classes = static_cast<std::uint32_t>(one_.classes.size());
    const Microbatch microbatch{index(one_.microbatch[task]) + replica * microbatches_};
    number_[replica][task] = add_task(plan, one_.work[task] + replica * classes, microbatch,
                                      add_inputs(plan, inputs_of(replica, task)));
    if (one_.class_of(task).follows_partner) plan.followers.push_back(number_[replica][task]);
    if (replicas_[replica].task_duration.empty()) return;
    all_.costs.task_duration.push_back(replicas_[replica].task_duration[task]);
    all_.costs.task_latency.push_back(replicas_[replica].task_latency[task]);
  }

  /// An update needs the sums of all replicas, everything else what its own replica has.
  std::vector<TaskId> inputs_of(std::uint32_t replica, TaskId task) const {
    const bool updates = one_.class_of(task).pass == Pass::update;
    std::vector<TaskId> inputs;
    one_.for_each_input(task, [&](TaskId input) {
      const Pass brought_by = one_.class_of(input).pass;
      const bool sums = reduces_gradient(brought_by) || brought_by == Pass::tie_gradient;
      if (!updates || !sums) {
        return inputs.push_back(number_[replica][input]);
      }
      for (std::uint32_t other = 0; other < count_; ++other)
        inputs.push_back(number_[other][input]);
    });
    std::sort(inputs.begin(), inputs.end());
    return inputs;
  }

  const Plan& one_;
  const std::vector<Costs>& replicas_;
  std::uint32_t count_;
  std::uint32_t microbatches_ = 0;           // numbers of a replica
  std::vector<std::vector<TaskId>> number_;  // by replica and task
  PricedPlan all_;
};

std::string ranks_text(const RankGroup& group) {
  if (group.size() == 1) return fmt::format("rank {}", group.first);
  const char* between = group.size() == 2 ? ", " : " to ";
  return fmt::format("ranks {}{}{}", group.first, between, group.end - 1);
}

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

/// The exchanges of each copy, by model stage.
using Exchanges = std::map<std::uint32_t, std::map<Copy, std::vector<TaskId>>>;

Exchanges exchanges_of(const Plan& plan) {
  Exchanges exchanges;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (work.pass != Pass::tie_gradient) continue;
    const Copy copy{work.stage, index(plan.link(work.resource).from)};
    exchanges[plan.model_stage[index(work.stage)]][copy].push_back(task);
  }
  return exchanges;
}

/// The inputs of an update, with an exchange of each copy on another rank.
std::vector<TaskId> with_all(const Plan& plan, TaskId update,
                             const std::map<Copy, std::vector<TaskId>>& exchanges) {
  std::set<TaskId> inputs;
  std::set<Copy> listed;
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

PricedPlan with_replica_ranks(const PricedPlan& one, const std::vector<Costs>& replicas) {
  return ReplicaRanks(one, replicas).made();
}

std::vector<RankGroup> rank_groups(std::uint32_t ranks, std::uint32_t processes) {
  std::vector<RankGroup> groups;
  for (std::uint64_t process = 0; process < processes; ++process) {
    const auto border = [&](std::uint64_t at) {
      return static_cast<std::uint32_t>(at * ranks / processes);
    };
    groups.push_back({border(process), border(process + 1)});
  }
  return groups;
}

std::uint32_t process_of(const std::vector<RankGroup>& groups, std::uint32_t rank) {
  const auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](const RankGroup& one) { return one.contains(rank); });
  return static_cast<std::uint32_t>(group - groups.begin());
}

std::string process_text(const std::vector<RankGroup>& groups, std::uint32_t process) {
  return fmt::format("process {} ({})", process, ranks_text(groups[process]));
}

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
