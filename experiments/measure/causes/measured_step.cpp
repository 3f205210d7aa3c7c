#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "experiments/measure/causes/op_model.hpp"
#include "validate/comparison/readiness.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

/// When the inputs of a task and its rank or link were there. Tasks of a resource come in order.
class Ready {
 public:
  Ready(const Plan& plan, const Timeline& timeline)
      : plan_(plan), timeline_(timeline), free_(plan.resources()) {}

  Time at(TaskId task) const {
    Time ready = free_[plan_.class_of(task).resource];
    plan_.for_each_input(task,
                         [&](TaskId input) { ready = std::max(ready, timeline_.end[input]); });
    return ready;
  }
  void pass(TaskId task, Time latency) {
    Time& free = free_[plan_.class_of(task).resource];
    free = std::max(free, timeline_.end[task] - latency);
  }

 private:
  const Plan& plan_;
  const Timeline& timeline_;
  std::vector<Time> free_;  // by resource
};

/// The first element of each set, which unions join.
class Sets {
 public:
  explicit Sets(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), std::uint32_t{0});
  }
  std::uint32_t of(std::uint32_t one) {
    while (parent_[one] != one) one = parent_[one] = parent_[parent_[one]];
    return one;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[of(a)] = of(b); }

 private:
  std::vector<std::uint32_t> parent_;
};

/// Which pipeline each rank belongs to, in the order of their first ranks.
void find_pipelines(const Plan& plan, RankGroups& groups) {
  Sets sets(plan.ranks);
  for (const WorkClass& work : plan.classes) {
    if (!plan.is_link(work.resource) || is_tail(work.pass)) continue;
    const Link& link = plan.link(work.resource);
    if (is_rank(link.from) && is_rank(link.to)) sets.join(index(link.from), index(link.to));
  }
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    const auto number = static_cast<std::uint32_t>(numbers.size());
    groups.ranks[rank].pipeline = numbers.try_emplace(sets.of(rank), number).first->second;
  }
  groups.pipelines = static_cast<std::uint32_t>(numbers.size());
}

/// By class: the first that is the same pass of the same stage on the same rank or link. Others are
/// those of other microbatches, or hold other buffers.
std::vector<std::uint32_t> classes_of_passes(const Plan& plan) {
  using Kind = std::tuple<Pass, Stage, std::uint32_t, bool, bool>;
  const auto kind_of = [](const WorkClass& work) {
    return Kind{work.pass, work.stage, work.resource, work.recomputes, work.follows_partner};
  };
  std::map<std::pair<Kind, std::optional<Kind>>, std::uint32_t> known;
  std::vector<std::uint32_t> first;
  for (std::uint32_t number = 0; number < plan.classes.size(); ++number) {
    const WorkClass& work = plan.classes[number];
    std::optional<Kind> partner;
    if (work.partner != UINT32_MAX) partner = kind_of(plan.classes[work.partner]);
    first.push_back(known.try_emplace({kind_of(work), partner}, number).first->second);
  }
  return first;
}

/// The plan itself where it has no others.
std::shared_ptr<const Plan> with_classes_of_passes(const Plan& plan) {
  const std::vector<std::uint32_t> first = classes_of_passes(plan);
  bool differ = false;
  for (std::uint32_t number = 0; number < first.size(); ++number) {
    differ = differ || first[number] != number;
  }
  if (!differ) return {std::shared_ptr<const Plan>(), &plan};
  Plan merged = plan;
  for (std::uint32_t& work : merged.work) work = first[work];
  for (WorkClass& work : merged.classes) {
    if (work.partner != UINT32_MAX) work.partner = first[work.partner];
  }
  return std::make_shared<const Plan>(std::move(merged));
}

}  // namespace

MeasuredStep measured_step(const Plan& plan, const Costs& costs, const Timeline& timeline) {
  MeasuredStep step{.plan = with_classes_of_passes(plan),
                    .makespan = makespan(plan, timeline),
                    .begin = timeline.begin,
                    .gap = std::vector<Time>(plan.tasks()),
                    .duration = costs.task_duration,
                    .latency = costs.task_latency};
  Ready ready(plan, timeline);
  const ResourceOrders orders = orders_by_time(plan, timeline);
  for (const TaskId task : orders.tasks) {
    if (plan.class_of(task).follows_partner) {
      step.duration[task] = Time{};
    } else {
      const Time begin = timeline.end[task] - step.length(task);
      step.gap[task] = std::max(begin - ready.at(task), Time{});
    }
    ready.pass(task, step.latency[task]);
  }
  return step;
}

RankGroups rank_groups_of(const Plan& plan) {
  RankGroups groups{.ranks = std::vector<RankPlace>(plan.ranks)};
  find_pipelines(plan, groups);
  std::vector<std::set<std::uint32_t>> stages(plan.ranks);
  for (const WorkClass& work : plan.classes) {
    if (plan.is_link(work.resource) || plan.model_stage.empty()) continue;
    stages[work.resource].insert(plan.model_stage[index(work.stage)]);
  }
  std::map<std::set<std::uint32_t>, std::uint32_t> numbers;
  for (const auto& held : stages) numbers.try_emplace(held, 0);
  for (auto& [held, number] : numbers) number = groups.positions++;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    groups.ranks[rank].position = numbers.at(stages[rank]);
  }
  return groups;
}

OpKind kind_of(const Plan& plan, const WorkClass& work) {
  OpKind kind{work.pass, work.recomputes};
  if (work.partner != UINT32_MAX && work.partner < plan.classes.size()) {
    kind.beside = static_cast<std::uint8_t>(plan.classes[work.partner].pass);
  }
  return kind;
}

ExpectedOps expected_ops(const Recording& run) {
  std::map<std::pair<std::uint32_t, OpKind>, std::vector<double>> lengths;
  const Plan& plan = run.plan;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (work.follows_partner || plan.model_stage.empty()) continue;
    const Time length = run.timeline.end[task] - run.timeline.begin[task];
    lengths[{plan.model_stage[index(work.stage)], kind_of(plan, work)}].push_back(
        static_cast<double>(length.picoseconds));
  }
  ExpectedOps expected;
  for (auto& [key, values] : lengths) expected.of_stage[key] = median(std::move(values));
  return expected;
}

}  // namespace penstock
