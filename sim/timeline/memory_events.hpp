#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/fifo.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// The turns of a task, and of what it reads, in its place of the row.
enum class MemoryTurn : std::uint8_t {
  arrival,
  at_read,  // what was received is given back
  at_start,
  at_end,
};

/// What a task of a class does to one rank, and its turn in the place of the task.
struct RankEffect {
  std::uint64_t change;  // of what the rank holds, modulo 2^64
  std::uint32_t buffer;
  std::uint32_t rank;
  BufferKind kind;
  MemoryTurn turn;
  bool takes;

  bool at_end() const { return turn == MemoryTurn::at_end; }
};

/// Orders what happens to a rank in one moment.
inline std::uint64_t place_of(TaskId in_place_of, MemoryTurn turn) {
  return std::uint64_t{in_place_of} * 4 + static_cast<std::uint64_t>(turn);
}

/// Whether activations are evicted.
bool evicts(const Plan& plan);

/// The effects of each work class on the buffers that weigh anything, side by side and in order.
class RankEffects {
 public:
  /// What the passes over the tasks need of a class; those of the plan would fill the cache.
  struct OfClass {
    std::uint32_t first, last;  // of its effects
    std::uint32_t resource;
    bool is_link, evicts, is_fused, follows_partner;
  };

  /// `weights`: by buffer class.
  RankEffects(const Plan& plan, const std::vector<std::uint64_t>& weights);

  const OfClass& of_class(std::uint32_t work) const { return classes_[work]; }
  const RankEffect& operator[](std::uint32_t effect) const { return effects_[effect]; }
  std::span<const RankEffect> of(const OfClass& work) const {
    return {effects_.data() + work.first, effects_.data() + work.last};
  }

 private:
  std::vector<OfClass> classes_;
  std::vector<RankEffect> effects_;
};

/// The action with which what a transfer brings counts: the first on its rank that waits for it.
/// Where an order has its own communication, several may: for a tensor that came before the one
/// that they read, or, on another rank, until one has been sent.
class CountingActions {
 public:
  explicit CountingActions(const Plan& plan);

  bool counts(TaskId transfer, TaskId action) const {
    return first_.empty() || first_[transfer] == action;
  }

 private:
  std::vector<TaskId> first_;  // by task; empty: each transfer has one reader
};

/// A buffer taken or given back. `place` orders events of one moment: as the rank's row has them,
/// an arrival directly before the task that reads it, so that something received and read in the
/// same moment never counts beside what was freed just then.
struct MemoryEvent {
  Time time{};
  std::uint64_t place = 0;
  TaskId task = no_task;
  std::uint32_t effect = 0;

  friend bool operator<(const MemoryEvent& a, const MemoryEvent& b) {
    return a.time != b.time ? a.time < b.time : a.place < b.place;
  }
};
static_assert(sizeof(MemoryEvent) == 24, "there are many of them");

/// The events of every rank that concern the buffers that weigh anything. While a rank runs its
/// cells one after the other, and what it reads arrives in the order in which it reads it, as on
/// most simulated ranks, they follow from the plan in one pass. A rank of which the pass finds
/// otherwise is left; its events are listed and sorted afterwards.
class MemoryEvents {
 public:
  /// `weights`: by buffer class.
  MemoryEvents(const Plan& plan, const Timeline& timeline,
               const std::vector<std::uint64_t>& weights);

  /// Calls `start(rank)` for each rank, and `visit(rank, time, task, effect)` with its events in
  /// order, of equals first what moves. When a rank starts again, what was visited of it is void.
  template <class Start, class Visitor>
  void for_each(Start start, Visitor visit_effect) {
    const auto visit = [&](std::uint32_t rank, const MemoryEvent& event) {
      visit_effect(rank, event.time, event.task, effects_[event.effect]);
    };
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) start(rank);
    follow_plan(visit);
    const Lists lists = list_others();
    for (std::uint32_t rank = 0; rank < lists.own.size(); ++rank) {
      if (rows_[rank].in_sequence) continue;
      start(rank);
      merge(lists.own[rank], lists.moved[rank],
            [&](const MemoryEvent& event) { visit(rank, event); });
    }
  }

 private:
  /// How far the pass over the plan has come on a rank.
  struct Row {
    Fifo<MemoryEvent> waiting;  // own events for which it is not known yet what arrives before them
    MemoryEvent moved;          // the last that a transfer brought about
    Time free{};                // when its actions so far have ended
    bool receives = false;      // transfers change what it holds
    bool in_sequence = true;    // its events follow from the plan
  };
  /// By rank, of those not in sequence; empty when all are.
  struct Lists {
    std::vector<std::vector<MemoryEvent>> own, moved;
  };

  Lists list_others() const;
  void leave(Row& row) {
    row.in_sequence = false;
    row.waiting = {};
  }

  MemoryEvent event_of(TaskId task, std::uint32_t effect, TaskId in_place_of,
                       MemoryTurn turn) const {
    const bool ends = effects_[effect].at_end();
    return {ends ? timeline_.end[task] : timeline_.begin[task], place_of(in_place_of, turn), task,
            effect};
  }

  /// Calls `visit(event)` with what an action does, in order.
  template <class Visitor>
  void for_each_own(TaskId task, const RankEffects::OfClass& work, Visitor&& visit) const {
    for (std::uint32_t effect = work.first; effect < work.last; ++effect) {
      const MemoryTurn turn = effects_[effect].turn;
      // Both parts of a fused cell read before either takes.
      const bool with_first = turn == MemoryTurn::at_read && work.follows_partner;
      visit(event_of(task, effect, with_first ? task - 1 : task, turn));
    }
  }

  /// Calls `visit(rank, event)` with what a task brings about through transfers. An arrival comes
  /// before the task that reads it in the plan; it counts with that.
  template <class Visitor>
  void for_each_moved(const TaskId& task, const RankEffects::OfClass& work, Visitor&& visit) const {
    if (work.is_link && !work.evicts) return;
    // No action reads what goes away: that belongs to the E that asked for it.
    const auto [action, turn] = work.is_link ? std::pair(plan_.input[task], MemoryTurn::at_end)
                                             : std::pair(task, MemoryTurn::arrival);
    for (const TaskId transfer : work.is_link ? std::span(&task, 1) : plan_.inputs_of(task)) {
      if (!work.is_link && !counting_.counts(transfer, task)) continue;
      const RankEffects::OfClass& moves = effects_.of_class(plan_.work[transfer]);
      for (std::uint32_t effect = moves.first; effect < moves.last; ++effect) {
        visit(effects_[effect].rank, event_of(transfer, effect, action, turn));
      }
    }
  }

  /// Visits the events of all ranks, for as long as they follow from the plan.
  template <class Visitor>
  void follow_plan(Visitor visit) {
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      const RankEffects::OfClass& work = effects_.of_class(plan_.work[task]);
      for_each_moved(task, work, [&](std::uint32_t rank, const MemoryEvent& event) {
        follow_moved(rank, event, rank == work.resource && event.time <= timeline_.begin[task],
                     visit);
      });
      if (!work.is_link) follow_action(task, work, visit);
    }
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      Fifo<MemoryEvent>& own = rows_[rank].waiting;
      for (; !own.empty(); own.pop()) visit(rank, own.front());
    }
  }

  /// `arrived`: on the rank of its reader, and no later than read.
  template <class Visitor>
  void follow_moved(std::uint32_t rank, const MemoryEvent& event, bool arrived, Visitor&& visit) {
    Row& row = rows_[rank];
    if (!row.in_sequence) return;
    if (!arrived || event < row.moved) return leave(row);
    row.moved = event;
    Fifo<MemoryEvent>& own = row.waiting;
    for (; !own.empty() && own.front() < event; own.pop()) visit(rank, own.front());
    visit(rank, event);
  }

  template <class Visitor>
  void follow_action(TaskId task, const RankEffects::OfClass& work, Visitor&& visit) {
    const std::uint32_t rank = work.resource;
    Row& row = rows_[rank];
    if (!row.in_sequence) return;
    const Time begin = timeline_.begin[task], end = timeline_.end[task];
    if (end < begin || begin < (work.follows_partner ? timeline_.begin[task - 1] : row.free)) {
      return leave(row);
    }
    row.free = std::max(row.free, end);
    const auto visit_own = [&](const MemoryEvent& event) {
      row.receives ? row.waiting.push(event) : visit(rank, event);
    };
    if (!work.is_fused) return for_each_own(task, work, visit_own);
    if (work.follows_partner) for_each_of_cell(task, visit_own);
  }

  /// What the two parts of a fused cell do; `second` ends it.
  template <class Visitor>
  void for_each_of_cell(TaskId second, Visitor&& visit) const {
    std::vector<MemoryEvent> cell;
    for (const TaskId part : {second - 1, second}) {
      for_each_own(part, effects_.of_class(plan_.work[part]),
                   [&](const MemoryEvent& event) { cell.push_back(event); });
    }
    std::stable_sort(cell.begin(), cell.end());
    for (const MemoryEvent& event : cell) visit(event);
  }

  /// Of equals, what moves comes first.
  template <class Visitor>
  static void merge(const std::vector<MemoryEvent>& own, const std::vector<MemoryEvent>& moves,
                    Visitor visit) {
    auto moved = moves.begin();
    for (const MemoryEvent& event : own) {
      for (; moved != moves.end() && !(event < *moved); ++moved) visit(*moved);
      visit(event);
    }
    for (; moved != moves.end(); ++moved) visit(*moved);
  }

  const Plan& plan_;
  const Timeline& timeline_;
  RankEffects effects_;
  CountingActions counting_;
  std::vector<Row> rows_;  // by rank
};

using HeldBytes = std::array<std::uint64_t, buffer_kinds>;  // indexed by BufferKind

/// Memory that each rank holds for the whole run, by kind.
std::vector<HeldBytes> bytes_for_whole_run(const Plan& plan, const Costs& costs);

inline std::uint64_t sum_of(const HeldBytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

/// The memory of a rank after an event; at the start of the run there is none.
struct Holding {
  std::uint64_t bytes;
  const HeldBytes& by_kind;
  Time time;
  TaskId task;  // the task of the event
  bool takes;
};

/// Calls `visit(rank, holding)` with what each rank holds at the start and after each of its
/// events. A rank may start again: what was visited of it before is void.
template <class Visitor>
void for_each_holding(const Plan& plan, const Costs& costs, const Timeline& timeline,
                      Visitor visit) {
  struct Held {
    std::uint64_t bytes;
    HeldBytes by_kind;
  };
  std::vector<Held> ranks(plan.ranks);
  const std::vector<HeldBytes> whole_run = bytes_for_whole_run(plan, costs);
  const auto start = [&](std::uint32_t rank) {
    Held& held = ranks[rank] = {sum_of(whole_run[rank]), whole_run[rank]};
    visit(rank, Holding{held.bytes, held.by_kind, {}, no_task, true});
  };
  MemoryEvents(plan, timeline, costs.bytes)
      .for_each(start, [&](std::uint32_t rank, Time time, TaskId task, const RankEffect& effect) {
        Held& held = ranks[rank];
        // Unsigned arithmetic: a buffer given back in the moment it came may pass through zero.
        held.bytes += effect.change;
        held.by_kind[static_cast<std::size_t>(effect.kind)] += effect.change;
        visit(rank, Holding{held.bytes, held.by_kind, time, task, effect.takes});
      });
}

}  // namespace penstock
