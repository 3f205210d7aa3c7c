#include "sim/engines/replicas.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/engines/events.hpp"

namespace penstock {
namespace {

/// Tasks of all replicas side by side, at most: some 40 bytes each.
constexpr std::uint64_t most_side_by_side = 20'000'000;

/// How often all replicas run, at most, to see what else holds their tasks up.
constexpr std::size_t most_rounds = 3;

/// Tasks that replicas do together: none goes on before the last has come to it.
struct Meetings {
  std::vector<TaskId> tasks;             // in plan order
  std::vector<std::uint32_t> groups;     // of each: how many replicas in a row
  std::vector<std::vector<Time>> waits;  // by replica and meeting
  std::vector<Time> ends;                // of each replica, with these waits
};

Meetings meetings_of(const Plan& plan, const Together& together, std::uint32_t replicas) {
  Meetings meetings;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t group = together.replicas_of(plan, plan.class_of(task), replicas);
    if (group < 2) continue;
    meetings.tasks.push_back(task);
    meetings.groups.push_back(group);
  }
  meetings.waits.assign(replicas, std::vector<Time>(meetings.tasks.size()));
  meetings.ends.assign(replicas, Time{});
  return meetings;
}

/// Waits are added to the times of tasks.
void list_tasks(const Plan& plan, Costs& costs) {
  if (!costs.task_latency.empty()) return;
  std::vector<Time> durations, latencies;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    durations.push_back(costs.duration_of(plan, task));
    latencies.push_back(costs.latency_of(plan, task));
  }
  costs.task_duration = std::move(durations);
  costs.task_latency = std::move(latencies);
}

/// Makes a replica wait: a transfer arrives later and does not occupy its link meanwhile, an action
/// takes longer.
void add_waits(const Plan& plan, const Meetings& meetings, std::uint32_t replica, Costs& costs) {
  const std::vector<Time>& waits = meetings.waits[replica];
  if (std::ranges::all_of(waits, [](Time wait) { return wait == Time{}; })) return;
  list_tasks(plan, costs);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const TaskId task = meetings.tasks[i];
    const bool on_link = plan.is_link(plan.class_of(task).resource);
    (on_link ? costs.task_latency : costs.task_duration)[task] += waits[i];
  }
}

/// Draws and runs of all replicas. The plan has the costs of the current one.
struct Draws {
  PricedPlan running;
  std::vector<Costs> undrawn;  // of each replica, or of all
  Chance chance;
  std::uint32_t number;
  std::uint32_t replicas;

  void draw_costs(std::uint32_t replica) {
    Chance own = chance;
    own.replica = replica;
    running.costs = draw(running.plan, undrawn[undrawn.size() == 1 ? 0 : replica], own, number);
  }
};

/// How long each replica takes without the others.
std::variant<std::vector<Time>, Standstill> ends_alone(Draws& draws) {
  std::vector<Time> ends;
  Timeline timeline;
  for (std::uint32_t replica = 0; replica < draws.replicas; ++replica) {
    draws.draw_costs(replica);
    RunOutcome outcome = simulate(draws.running, std::move(timeline));
    if (auto* halt = std::get_if<Standstill>(&outcome)) return std::move(*halt);
    timeline = std::get<Timeline>(std::move(outcome));
    ends.push_back(makespan(draws.running.plan, timeline));
  }
  return ends;
}

// ---- Side by side ----

/// What held up the tasks of a replica in a run, besides their inputs, their ranks and other
/// replicas.
struct Observed {
  std::vector<Time> queued;  // by task: until it began
  std::vector<Time> lasted;  // without latency

  Observed(const PricedPlan& priced, const Timeline& timeline, const Meetings& meetings,
           const std::vector<Time>& waits)
      : queued(priced.plan.tasks()), lasted(priced.plan.tasks()) {
    const auto& [plan, costs, conditions] = priced;
    std::vector<Time> free(plan.ranks);
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      const std::uint32_t resource = plan.class_of(task).resource;
      Time ready{};
      plan.for_each_input(task,
                          [&](TaskId input) { ready = std::max(ready, timeline.end[input]); });
      if (!plan.is_link(resource)) ready = std::max(ready, free[resource]);
      const Time begin = std::max(timeline.begin[task], ready);
      const Time end = timeline.end[task] - costs.latency_of(plan, task);
      queued[task] = begin - ready;
      lasted[task] = end - begin;
      if (!plan.is_link(resource)) free[resource] = end;
    }
    for (std::size_t i = 0; i < waits.size(); ++i) {
      const TaskId task = meetings.tasks[i];
      if (!plan.is_link(plan.class_of(task).resource)) lasted[task] -= waits[i];
    }
  }
};

/// All replicas in one pass over the tasks: as `relax` runs one, or held up as observed.
class SideBySide {
 public:
  SideBySide(const Plan& plan, std::vector<Costs> costs, std::vector<Observed> observed,
             Meetings& meetings)
      : plan_(plan),
        costs_(std::move(costs)),
        observed_(std::move(observed)),
        meetings_(meetings),
        replicas_(static_cast<std::uint32_t>(costs_.size())),
        came_(replicas_),
        end_(std::size_t{plan.tasks()} * replicas_),
        free_(std::size_t{plan.resources()} * replicas_),
        met_(free_.size()),
        launched_(std::size_t{plan.ranks} * replicas_, costs_.front().launch) {}

  /// Finds the waits of all replicas. False: they are as before.
  bool run() {
    bool changed = false;
    std::size_t meeting = 0;
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      for (std::uint32_t replica = 0; replica < replicas_; ++replica) {
        came_[replica] = come_to(task, replica);
      }
      const bool meets = meeting < meetings_.tasks.size() && meetings_.tasks[meeting] == task;
      Time latest{};
      for (std::uint32_t replica = 0; replica < replicas_; ++replica) {
        if (meets && replica % meetings_.groups[meeting] == 0) {
          latest = latest_from(replica, meetings_.groups[meeting]);
        }
        const Time wait = meets ? wait_of(task, replica, latest) : Time{};
        pass(task, replica, wait);
        if (!meets) continue;
        Time& known = meetings_.waits[replica][meeting];
        changed = changed || known != wait;
        known = wait;
      }
      if (meets) ++meeting;
    }
    return changed;
  }

 private:
  std::size_t at(std::size_t item, std::uint32_t replica) const {
    return item * replicas_ + replica;
  }
  Time length(TaskId task, std::uint32_t replica) const {
    return observed_.empty() ? costs_[replica].duration_of(plan_, task)
                             : observed_[replica].lasted[task];
  }
  /// Where a task begins without waiting for others goes to `end_`; returns when all that it needs
  /// but its link is there.
  Time come_to(TaskId task, std::uint32_t replica) {
    const WorkClass& work = plan_.class_of(task);
    const bool on_link = plan_.is_link(work.resource);
    const Costs& costs = costs_[replica];
    Time ready{};
    plan_.for_each_input(task,
                         [&](TaskId input) { ready = std::max(ready, end_[at(input, replica)]); });
    Time begin = ready;
    if (!on_link || observed_.empty()) begin = std::max(begin, free_[at(work.resource, replica)]);
    if (!observed_.empty()) {
      begin += observed_[replica].queued[task];
    } else if (!on_link && !work.follows_partner && costs.has_launches()) {
      begin = std::max(begin, launched_[at(work.resource, replica)] += costs.issue);
    }
    end_[at(task, replica)] = begin;
    return on_link ? ready : begin;
  }
  /// When the last of some replicas in a row has come.
  Time latest_from(std::uint32_t replica, std::uint32_t group) const {
    const auto first = came_.begin() + replica;
    return *std::max_element(first, first + std::min(group, replicas_ - replica));
  }
  /// On each link the first to start also ends first.
  Time wait_of(TaskId task, std::uint32_t replica, Time latest) {
    const std::uint32_t resource = plan_.class_of(task).resource;
    const Time begin = end_[at(task, replica)];
    Time start = std::max(begin, latest);
    if (plan_.is_link(resource)) {
      Time& met = met_[at(resource, replica)];
      start = std::max(start, met);
      met = start + length(task, replica);
    }
    return start - begin;
  }
  void pass(TaskId task, std::uint32_t replica, Time wait) {
    const std::uint32_t resource = plan_.class_of(task).resource;
    Time& end = end_[at(task, replica)];
    Time& free = free_[at(resource, replica)];
    free = end + length(task, replica);
    if (!plan_.is_link(resource)) free += wait;
    end = free + costs_[replica].latency_of(plan_, task);
    if (plan_.is_link(resource)) end += wait;
    meetings_.ends[replica] = std::max(meetings_.ends[replica], end);
  }

  const Plan& plan_;
  std::vector<Costs> costs_;        // by replica
  std::vector<Observed> observed_;  // likewise; none: as `relax`
  Meetings& meetings_;
  std::uint32_t replicas_;
  std::vector<Time> came_;      // to the task at hand, by replica
  std::vector<Time> end_;       // by task and replica
  std::vector<Time> free_;      // by resource and replica
  std::vector<Time> met_;       // likewise: when the meeting before leaves a link
  std::vector<Time> launched_;  // by rank and replica: the last action
};

/// Finds how long replicas wait for each other. Where links are shared, or ranks wait for memory,
/// runs say what that costs each task.
std::optional<Standstill> find_waits(Draws& draws, Meetings& meetings) {
  const Plan& plan = draws.running.plan;
  const bool relaxes = !why_not_relax(plan, draws.running.conditions);
  for (std::size_t round = 0; round < (relaxes ? 1 : most_rounds); ++round) {
    std::vector<Costs> costs;
    std::vector<Observed> observed;
    Timeline timeline;
    for (std::uint32_t replica = 0; replica < draws.replicas; ++replica) {
      draws.draw_costs(replica);
      costs.push_back(draws.running.costs);
      if (relaxes) continue;
      add_waits(plan, meetings, replica, draws.running.costs);
      RunOutcome outcome = simulate(draws.running, std::move(timeline));
      if (auto* halt = std::get_if<Standstill>(&outcome)) return std::move(*halt);
      timeline = std::get<Timeline>(std::move(outcome));
      observed.emplace_back(draws.running, timeline, meetings, meetings.waits[replica]);
    }
    meetings.ends.assign(draws.replicas, Time{});
    if (!SideBySide(plan, std::move(costs), std::move(observed), meetings).run()) break;
  }
  return std::nullopt;
}

/// The replica that ends last; of equals, the slowest without the others; of these, the first.
std::uint32_t last_of(const std::vector<Time>& ends, const std::vector<Time>& alone) {
  std::uint32_t last = 0;
  for (std::uint32_t replica = 1; replica < ends.size(); ++replica) {
    const auto rank = [&](std::uint32_t one) { return std::pair(ends[one], alone[one]); };
    if (rank(replica) > rank(last)) last = replica;
  }
  return last;
}

}  // namespace

bool Together::any() const {
  return std::ranges::find(of_all, true) != of_all.end() ||
         std::ranges::any_of(exchanging, [](std::uint32_t n) { return n > 1; });
}

std::uint32_t Together::replicas_of(const Plan& plan, const WorkClass& work,
                                    std::uint32_t replicas) const {
  if (reduces_gradient(work.pass) || work.pass == Pass::gather_weights) return replicas;
  if (!runs_layers(work.pass) || work.follows_partner) return 0;
  const auto group_of = [&](const WorkClass& part) {
    if (of_all[static_cast<std::size_t>(part.pass)]) return replicas;
    const bool exchanges = part.pass == Pass::forward || part.pass == Pass::backward ||
                           part.pass == Pass::backward_input;
    if (!exchanges || exchanging.empty()) return 0U;
    return std::min(exchanging[plan.model_stage[index(part.stage)]], replicas);
  };
  const std::uint32_t own = group_of(work);
  // Both parts of a fused cell begin together.
  return work.partner == UINT32_MAX ? own : std::max(own, group_of(plan.classes[work.partner]));
}

std::uint32_t drawn_replicas(const Plan& plan, std::uint32_t replicas) {
  const std::uint32_t most = std::min(replicas, most_drawn_replicas);
  const std::uint64_t side_by_side = most_side_by_side / std::max(plan.tasks(), 1U);
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(most, 1, std::max<std::uint64_t>(side_by_side, 2)));
}

std::variant<DrawnReplica, Standstill> draw_among_replicas(PricedPlan priced, const Chance& chance,
                                                           std::uint32_t number,
                                                           std::uint32_t replicas,
                                                           const Together& together,
                                                           const CostsOfReplica& costs_of) {
  std::vector<Costs> undrawn;
  const std::uint32_t drawn = drawn_replicas(priced.plan, replicas);
  for (std::uint32_t replica = 0; costs_of && replica < drawn; ++replica) {
    undrawn.push_back(costs_of(replica));
  }
  if (!costs_of) undrawn.push_back(std::move(priced.costs));
  Draws draws{std::move(priced), std::move(undrawn), chance, number, drawn};
  const bool differ = drawn > 1 && (costs_of || chance.differs_among_replicas());
  Meetings meetings;
  std::uint32_t shown = 0;
  if (differ) {
    meetings = meetings_of(draws.running.plan, together, drawn);
    if (!meetings.tasks.empty()) {
      if (auto halt = find_waits(draws, meetings)) return *std::move(halt);
    }
    std::vector<Time> alone(drawn);
    if (meetings.tasks.empty() || costs_of || together.any()) {
      auto ends = ends_alone(draws);
      if (auto* halt = std::get_if<Standstill>(&ends)) return std::move(*halt);
      alone = std::get<std::vector<Time>>(std::move(ends));
    }
    shown = last_of(meetings.ends, alone);
  }
  draws.draw_costs(shown);
  if (differ && !meetings.tasks.empty()) {
    add_waits(draws.running.plan, meetings, shown, draws.running.costs);
    check_clock(draws.running.plan, draws.running.costs, "/chance");
  }
  return DrawnReplica{std::move(draws.running), shown};
}

}  // namespace penstock
