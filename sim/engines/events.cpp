#include "sim/engines/events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "sim/base/large_pages.hpp"
#include "sim/engines/stepwise.hpp"
#include "sim/engines/transfers.hpp"
#include "sim/plan/transfer_readers.hpp"
#include "sim/timeline/memory_events.hpp"
#include "sim/timeline/peak_bytes.hpp"

namespace penstock {
namespace {

/// The fields of a work class that the loop needs, contiguous.
struct ClassCost {
  Time duration;
  Time latency;
  std::uint32_t resource;
  bool launched;  // by its rank's host; the second part of a fused cell comes with the first
};

std::vector<ClassCost> class_costs(const Plan& plan, const Costs& costs) {
  std::vector<ClassCost> all;
  all.reserve(plan.classes.size());
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const WorkClass& work = plan.classes[c];
    all.push_back({costs.duration[c], costs.latency[c], work.resource,
                   !plan.is_link(work.resource) && !work.follows_partner});
  }
  return all;
}

/// The pass over the tasks, specialised so that rare features cost nothing: `by_task` when tasks of
/// a class differ, `launches` when actions wait for their host.
template <bool by_task, bool launches>
void run_tasks(const Plan& plan, const Costs& costs, Timeline& timeline) {
  const std::vector<ClassCost> class_cost = class_costs(plan, costs);
  std::vector<Time> free_at(plan.resources());
  std::vector<Time> launched_at(plan.ranks, costs.launch);  // the last action of each rank
  // Plain pointers: the compiler cannot see that the arrays do not alias.
  Time* const begin = timeline.begin.data();
  Time* const end = timeline.end.data();
  TaskId* const last_input = timeline.last_input.data();
  const std::uint32_t tasks = plan.tasks();
  for (TaskId task = 0; task < tasks; ++task) {
    const ClassCost& cost = class_cost[plan.work[task]];
    Time& free = free_at[cost.resource];
    TaskId input = plan.input[task];
    Time start = free;
    if (input != no_task) {
      if ((input & Plan::several) != 0) input = last_input_of(plan, timeline.end, task);
      start = std::max(start, end[input]);
    }
    if constexpr (launches) {
      if (cost.launched) start = std::max(start, launched_at[cost.resource] += costs.issue);
    }
    begin[task] = start;
    free = start + (by_task ? costs.duration_of(plan, task) : cost.duration);
    end[task] = free + (by_task ? costs.latency_of(plan, task) : cost.latency);
    last_input[task] = input;
  }
}

constexpr Time unknown{-1};

class RunAhead {
 public:
  RunAhead(const Plan& plan, const Costs& costs, const Conditions& conditions, Timeline& timeline)
      : plan_(plan),
        costs_(costs),
        timeline_(timeline),
        orders_(resource_orders(plan)),
        readers_(plan),
        far_readers_(plan),
        private_(private_links(plan, conditions.network)),
        link_free_(plan.links.size()),
        transfers_(plan, costs, conditions, timeline, events_, Transfers::Ends::known_late) {
    const bool all_private = std::ranges::find(private_, false) == private_.end();
    if (!all_private) timeline.slowed.assign(plan.tasks(), Time{});
    for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
      rows_.push_back({.next = orders_.tasks.data() + orders_.first[rank],
                       .end = orders_.tasks.data() + orders_.first[rank + 1]});
    }
  }

  std::optional<Standstill> run() {
    for (std::uint32_t rank = plan_.ranks; rank-- > 0;) runnable_.push_back(rank);
    for (const TaskId transfer : readers_.of_none()) {
      timeline_.last_input[transfer] = no_task;
      send(transfer, Time{});
    }
    for (;;) {
      while (!runnable_.empty()) {
        const std::uint32_t rank = runnable_.back();
        runnable_.pop_back();
        advance(rank);
      }
      if (events_.empty()) break;
      now_ = events_.next_time();
      // All that happens at one moment is known before anything is decided.
      while (const auto event = events_.pop_at(now_)) happen(*event);
      transfers_.settle(now_);
    }
    for (const TaskId task : plan_.followers) timeline_.begin[task] = timeline_.begin[task - 1];
    const bool done =
        std::ranges::all_of(rows_, [](const Row& row) { return row.next == row.end; });
    if (done) return std::nullopt;
    return standstill();
  }

 private:
  /// The progress of a rank.
  struct Row {
    const TaskId* next;
    const TaskId* end;
    Time free{};
    Time issued{};
    TaskId waits_for = no_task;
  };

  /// Runs the actions of a rank until one waits for a transfer with an unknown end.
  void advance(std::uint32_t rank) {
    Row& row = rows_[rank];
    while (row.next != row.end && place(row, *row.next)) hand_over(*row.next++);
  }

  bool place(Row& row, TaskId task) {
    TaskId last = plan_.input[task];
    Time start = row.free;
    if (last != no_task) {
      const Time there = last_end(task, last);
      if (there == unknown) {
        row.waits_for = last;
        return false;
      }
      start = std::max(start, there);
    }
    if (!plan_.class_of(task).follows_partner) {
      row.issued += costs_.issue;
      start = std::max(start, row.issued + costs_.launch);
    }
    timeline_.begin[task] = start;
    row.free = start + costs_.duration_of(plan_, task);
    timeline_.end[task] = row.free + costs_.latency_of(plan_, task);
    timeline_.last_input[task] = last;
    return true;
  }

  /// Starts the transfers for which a task was the last input. One that also waits for another of
  /// them has started with that one.
  void hand_over(TaskId task) {
    for (const TaskId transfer : readers_.of(task)) {
      if (timeline_.last_input[transfer] != no_task) continue;
      TaskId last = plan_.input[transfer];
      const Time ready = last_end(transfer, last);
      if (ready == unknown) continue;
      timeline_.last_input[transfer] = last;
      send(transfer, ready);
    }
  }

  void send(TaskId transfer, Time ready) {
    const std::uint32_t link = plan_.class_of(transfer).resource - plan_.ranks;
    if (!private_[link]) {
      events_.push({ready, EventKind::ready, transfer});
      return;
    }
    const Time begin = std::max(link_free_[link], ready);
    link_free_[link] = begin + costs_.duration_of(plan_, transfer);
    timeline_.begin[transfer] = begin;
    timeline_.end[transfer] = link_free_[link] + costs_.latency_of(plan_, transfer);
    known(transfer);
  }

  /// The end of a transfer is known: its readers can continue.
  void known(TaskId transfer) {
    const Link& link = plan_.link(plan_.class_of(transfer).resource);
    wake(link.to, transfer);
    wake(link.from, transfer);
    far_readers_.for_each_of(transfer, [&](std::uint32_t rank) { wake(Rank{rank}, transfer); });
    hand_over(transfer);
  }

  void wake(Rank rank, TaskId transfer) {
    if (index(rank) >= plan_.ranks || rows_[index(rank)].waits_for != transfer) return;
    rows_[index(rank)].waits_for = no_task;
    runnable_.push_back(index(rank));
  }

  void happen(Event event) {
    if (event.kind() == EventKind::ready) return transfers_.ready(event.id());
    known(transfers_.leave(event));
  }

  /// When the last input of a task arrives, and which it is, ties to the first; `unknown` and the
  /// first unknown one otherwise.
  Time last_end(TaskId task, TaskId& last) const {
    if ((last & Plan::several) == 0) return timeline_.end[last];
    Time latest = unknown;
    bool all_known = true;
    plan_.for_each_input(task, [&](TaskId input) {
      const Time end = timeline_.end[input];
      if (!all_known) return;
      all_known = end != unknown;
      if (!all_known || end > latest) last = input;
      latest = all_known ? std::max(latest, end) : unknown;
    });
    return latest;
  }

  Standstill standstill() const {
    std::vector<Stuck> stuck;
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      const Row& row = rows_[rank];
      if (row.next == row.end) continue;
      stuck.push_back({rank, *row.next, task_text(plan_, row.waits_for)});
    }
    return deadlock_at(now_, plan_, stuck);
  }

  const Plan& plan_;
  const Costs& costs_;
  Timeline& timeline_;
  ResourceOrders orders_;
  TransferReaders readers_;
  FarReaders far_readers_;
  std::vector<bool> private_;
  std::vector<Row> rows_;
  std::vector<Time> link_free_;  // of private links
  EventQueue events_;
  Transfers transfers_;
  std::vector<std::uint32_t> runnable_;
  Time now_{};
};

/// Whether nothing but transfers and limits makes what a rank can do depend on others.
bool nothing_delays(const Conditions& conditions) {
  return conditions.compute_slowdown == 1 && conditions.transfer_slowdown == 1 &&
         !conditions.blocking_sends && !conditions.rendezvous;
}

bool all_private(const Plan& plan, const Network& network) {
  const std::vector<bool> is_private = private_links(plan, network);
  return std::ranges::find(is_private, false) == is_private.end();
}

/// Whether ranks ever have more than `most` transfers in flight that they send, or receive. Those
/// that take no time are counted for a moment.
bool exceeds_in_flight(const Plan& plan, const Timeline& timeline, bool sends, std::uint32_t most) {
  std::vector<std::vector<Time>> begins(plan.ranks), ends(plan.ranks);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (!plan.is_link(resource)) continue;
    const Rank rank = sends ? plan.link(resource).from : plan.link(resource).to;
    if (index(rank) >= plan.ranks) continue;
    const Time begin = timeline.begin[task];
    begins[index(rank)].push_back(begin);
    ends[index(rank)].push_back(std::max(timeline.end[task], begin + Time{1}));
  }
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    for (auto* times : {&begins[rank], &ends[rank]}) {
      if (!std::ranges::is_sorted(*times)) std::ranges::sort(*times);
    }
    std::size_t ended = 0;
    for (std::size_t begun = 0; begun < begins[rank].size(); ++begun) {
      while (ends[rank][ended] <= begins[rank][begun]) ++ended;
      if (begun + 1 - ended > most) return true;
    }
  }
  return false;
}

/// Whether a rank may have to wait for memory that never holds more than its capacity: where
/// activations move, cells are fused, or something takes no time, so that more than one thing
/// happens to a rank at a moment.
bool may_wait_within_capacity(const Plan& plan, const Timeline& timeline) {
  return evicts(plan) || !plan.followers.empty() ||
         std::mismatch(timeline.begin.begin(), timeline.begin.end(), timeline.end.begin(),
                       std::less<>())
                 .first != timeline.begin.end();
}

/// Whether a limit of memory or in flight may keep something waiting that `timeline`, made without
/// limits, does not.
bool limits_bind(const PricedPlan& priced, const Timeline& timeline) {
  const auto& [plan, costs, conditions] = priced;
  for (const bool sends : {true, false}) {
    const std::uint32_t most = conditions.most_in_flight(sends);
    if (most != 0 && exceeds_in_flight(plan, timeline, sends, most)) return true;
  }
  if (!conditions.stall_above_bytes) return false;
  if (may_wait_within_capacity(plan, timeline)) return true;
  const std::vector<std::uint64_t> peaks = peak_bytes(plan, costs, timeline);
  return std::ranges::any_of(
      peaks, [most = *conditions.stall_above_bytes](std::uint64_t peak) { return peak > most; });
}

}  // namespace

RunOutcome run_events(const PricedPlan& priced, Timeline reused) {
  return may_run_ahead(priced.conditions) ? run_ahead(priced, std::move(reused))
                                          : run_stepwise(priced, std::move(reused));
}

RunOutcome simulate(const PricedPlan& priced, Timeline reused) {
  const auto& [plan, costs, conditions] = priced;
  if (!why_not_relax(plan, conditions)) return relax(priced, std::move(reused));
  if (!nothing_delays(conditions) || !all_private(plan, conditions.network)) {
    return run_events(priced, std::move(reused));
  }
  // Whether a limit ever binds shows in the run that knows of none.
  reused = relax(priced, std::move(reused));
  if (limits_bind(priced, reused)) return run_stepwise(priced, std::move(reused));
  reused.slowed.assign(plan.tasks(), Time{});
  if (conditions.stall_above_bytes) reused.memory_wait.assign(plan.tasks(), Time{});
  return reused;
}

std::optional<std::string> why_not_relax(const Plan& plan, const Conditions& conditions) {
  if (conditions.stall_above_bytes) return "actions wait for memory";
  if (conditions.compute_slowdown != 1) return "transfers slow actions down";
  if (conditions.transfer_slowdown != 1) return "actions slow transfers down";
  if (conditions.blocking_sends) return "ranks wait for what they send";
  if (conditions.rendezvous) return "transfers wait for their readers";
  if (conditions.limits_in_flight()) return "the transfers in flight are limited";
  const std::vector<bool> is_private = private_links(plan, conditions.network);
  const auto shared = std::ranges::find(is_private, false);
  if (shared == is_private.end()) return std::nullopt;
  const Link& link = plan.links[static_cast<std::size_t>(shared - is_private.begin())];
  return fmt::format("the transfers from {} to {} share links, or come in no fixed order",
                     end_phrase(link.from), end_phrase(link.to));
}

Timeline relax(const PricedPlan& priced, Timeline reused) {
  const auto& [plan, costs, conditions] = priced;
  resize_large(reused.begin, plan.tasks());
  resize_large(reused.end, plan.tasks());
  resize_large(reused.last_input, plan.tasks());
  reused.slowed.clear();
  reused.memory_wait.clear();
  reused.memory.clear();
  const bool by_task = !costs.task_duration.empty() || !costs.task_latency.empty();
  const auto run = costs.has_launches()
                       ? (by_task ? run_tasks<true, true> : run_tasks<false, true>)
                       : (by_task ? run_tasks<true, false> : run_tasks<false, false>);
  run(plan, costs, reused);
  for (const TaskId task : plan.followers) reused.begin[task] = reused.begin[task - 1];
  return reused;
}

bool may_run_ahead(const Conditions& conditions) {
  return nothing_delays(conditions) && !conditions.stall_above_bytes &&
         !conditions.limits_in_flight();
}

RunOutcome run_ahead(const PricedPlan& priced, Timeline reused) {
  prepare(priced.plan, reused);
  auto halt = RunAhead(priced.plan, priced.costs, priced.conditions, reused).run();
  if (halt) return *std::move(halt);
  return reused;
}

}  // namespace penstock
