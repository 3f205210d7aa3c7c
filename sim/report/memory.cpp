#include "sim/report/memory.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "sim/base/fifo.hpp"

namespace penstock {
namespace {

/// A buffer allocated or freed. `place` orders events at one moment: row order, with an arrival
/// directly before its reader, so that a tensor received and read at the same moment is not counted
/// together with what was just freed.
struct Event {
  Time time;
  std::uint64_t place;
  TaskId task;
  std::uint32_t buffer : 31;
  std::uint32_t takes : 1;

  friend bool operator<(const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.place < b.place;
  }
};
static_assert(sizeof(Event) == 24, "there are many of them");

/// The turns of a task and of its inputs, at its place in the row.
constexpr std::uint64_t arrival = 0;
constexpr std::uint64_t at_read = 1;  // received tensors are freed
constexpr std::uint64_t at_start = 2;
constexpr std::uint64_t at_end = 3;

/// The effect of a task of a class on one rank, and its turn at the task's place.
struct Effect {
  std::uint32_t buffer;
  std::uint32_t rank;
  std::uint8_t turn;
  bool takes;

  friend bool operator<(const Effect& a, const Effect& b) { return a.turn < b.turn; }
};

/// The effects of each work class on the counted buffers, contiguous and in order.
class Effects {
 public:
  Effects(const Plan& plan, const std::vector<bool>& counted) {
    for (const WorkClass& work : plan.classes) {
      first_.push_back(static_cast<std::uint32_t>(effects_.size()));
      for (const MemoryEffect& effect : work.effects) {
        if (!counted[effect.buffer]) continue;
        const auto turn = effect.at_end ? at_end : effect.takes ? at_start : at_read;
        effects_.push_back({effect.buffer, index(plan.buffers[effect.buffer].rank),
                            static_cast<std::uint8_t>(turn), effect.takes});
      }
      // Stable: a task frees before it allocates, as its class lists the effects.
      std::stable_sort(effects_.begin() + first_.back(), effects_.end());
    }
    first_.push_back(static_cast<std::uint32_t>(effects_.size()));
  }
  std::span<const Effect> of(std::uint32_t work) const {
    return {effects_.data() + first_[work], effects_.data() + first_[work + 1]};
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<Effect> effects_;
};

/// The events of every rank for some buffer classes. On most simulated ranks (cells in sequence,
/// inputs arriving in reading order) they follow from the plan; on other ranks they are listed and
/// sorted.
class Events {
 public:
  Events(const Plan& plan, const Timeline& timeline, const std::vector<bool>& counted)
      : plan_(plan),
        timeline_(timeline),
        effects_(plan, counted),
        receives_(plan.ranks),
        in_sequence_(plan.ranks, 1),
        own_(plan.ranks),
        moved_(plan.ranks) {
    for (std::uint32_t c = 0; c < plan.classes.size(); ++c) {
      if (!plan.is_link(plan.classes[c].resource)) continue;
      for (const Effect& effect : effects_.of(c)) receives_[effect.rank] = 1;
    }
    if (!find_sequence()) list_others();
  }
  /// Calls `visit(rank, event)`; events of one rank are in order, ties with transfers first.
  template <class Visitor>
  void for_each(Visitor visit) const;

 private:
  using ByRank = std::vector<std::vector<Event>>;

  /// Calls `visit(rank, event)` for the effects of a task through transfers. An arrival precedes
  /// its reader in the plan and counts with it.
  template <class Visitor>
  void for_each_moved(TaskId task, const WorkClass& work, Visitor visit) const {
    const auto visit_all = [&](TaskId transfer, TaskId action, std::uint64_t turn) {
      for (const Effect& effect : effects_.of(plan_.work[transfer])) {
        visit(effect.rank, event_of(transfer, effect, std::uint64_t{action} * 4 + turn));
      }
    };
    if (!plan_.is_link(work.resource)) {
      plan_.for_each_input(task, [&](TaskId input) { visit_all(input, task, arrival); });
    } else if (work.pass == Pass::send_evicted) {
      // No action reads an evicted tensor: it belongs to its E.
      visit_all(task, plan_.input[task], at_end);
    }
  }

  /// Calls `visit(event)` for the effects of an action, in order.
  template <class Visitor>
  void for_each_own(TaskId task, const WorkClass& work, Visitor visit) const {
    for (const Effect& effect : effects_.of(plan_.work[task])) {
      // Both parts of a fused cell read before either allocates.
      const TaskId reader = effect.turn == at_read && work.follows_partner ? task - 1 : task;
      visit(event_of(task, effect, std::uint64_t{reader} * 4 + effect.turn));
    }
  }
  Event event_of(TaskId task, const Effect& effect, std::uint64_t place) const {
    return {effect.turn == at_end ? timeline_.end[task] : timeline_.begin[task], place, task,
            effect.buffer, effect.takes};
  }

  /// Finds the ranks whose events follow from the plan. Returns whether all do.
  bool find_sequence() {
    struct Last {
      Time end{};
      std::pair<Time, std::uint64_t> moved{};
    };
    std::vector<Last> last(plan_.ranks);
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      const WorkClass& work = plan_.class_of(task);
      for_each_moved(task, work, [&](std::uint32_t rank, const Event& event) {
        const std::pair now{event.time, event.place};
        const bool arrived = rank == work.resource && event.time <= timeline_.begin[task];
        if (!arrived || now < last[rank].moved) in_sequence_[rank] = 0;
        last[rank].moved = now;
      });
      if (plan_.is_link(work.resource)) continue;
      const Time begin = timeline_.begin[task], end = timeline_.end[task];
      Time& free = last[work.resource].end;
      const Time earliest = work.follows_partner ? timeline_.begin[task - 1] : free;
      if (begin < earliest || end < begin) in_sequence_[work.resource] = 0;
      free = std::max(free, end);
    }
    return std::find(in_sequence_.begin(), in_sequence_.end(), 0) == in_sequence_.end();
  }

  void list_others() {
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      const WorkClass& work = plan_.class_of(task);
      for_each_moved(task, work, [&](std::uint32_t rank, const Event& event) {
        if (in_sequence_[rank] == 0) moved_[rank].push_back(event);
      });
      if (plan_.is_link(work.resource) || in_sequence_[work.resource] != 0) continue;
      for_each_own(task, work, [&](const Event& event) { own_[work.resource].push_back(event); });
    }
    for (auto* lists : {&own_, &moved_}) {
      for (auto& events : *lists) std::stable_sort(events.begin(), events.end());
    }
  }

  const Plan& plan_;
  const Timeline& timeline_;
  Effects effects_;
  std::vector<std::uint8_t> receives_;     // by rank: transfers change its memory
  std::vector<std::uint8_t> in_sequence_;  // by rank: its events follow from the plan
  ByRank own_;                             // of other ranks
  ByRank moved_;
};

template <class Visitor>
void Events::for_each(Visitor visit) const {
  // By rank: own events whose preceding arrivals are not known yet.
  std::vector<Fifo<Event>> waiting(plan_.ranks);
  const auto visit_own = [&](std::uint32_t rank, const Event& event) {
    if (receives_[rank] == 0) return visit(rank, event);
    waiting[rank].push(event);
  };
  std::vector<Event> cell;
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    const WorkClass& work = plan_.class_of(task);
    for_each_moved(task, work, [&](std::uint32_t rank, const Event& event) {
      if (in_sequence_[rank] == 0) return;
      for (Fifo<Event>& own = waiting[rank]; !own.empty() && own.front() < event; own.pop()) {
        visit(rank, own.front());
      }
      visit(rank, event);
    });
    const std::uint32_t rank = work.resource;
    if (plan_.is_link(rank) || in_sequence_[rank] == 0) continue;
    if (work.partner == UINT32_MAX) {
      for_each_own(task, work, [&](const Event& event) { visit_own(rank, event); });
    } else if (work.follows_partner) {
      cell.clear();
      for (const TaskId part : {task - 1, task}) {
        for_each_own(part, plan_.class_of(part),
                     [&](const Event& event) { cell.push_back(event); });
      }
      std::stable_sort(cell.begin(), cell.end());
      for (const Event& event : cell) visit_own(rank, event);
    }
  }
  for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
    for (Fifo<Event>& own = waiting[rank]; !own.empty(); own.pop()) visit(rank, own.front());
    auto moved = moved_[rank].begin();
    for (const Event& event : own_[rank]) {
      for (; moved != moved_[rank].end() && !(event < *moved); ++moved) visit(rank, *moved);
      visit(rank, event);
    }
    for (; moved != moved_[rank].end(); ++moved) visit(rank, *moved);
  }
}

/// The nonempty buffer classes.
std::vector<bool> that_weigh(const Costs& costs) {
  std::vector<bool> counted;
  for (const std::uint64_t bytes : costs.bytes) counted.push_back(bytes != 0);
  return counted;
}

std::vector<bool> that_are_activations(const Plan& plan) {
  std::vector<bool> counted;
  for (const BufferClass& buffer : plan.buffers)
    counted.push_back(buffer.kind == BufferKind::stash);
  return counted;
}

/// Whether activations are evicted and loaded.
bool moves_activations(const Plan& plan) {
  return std::any_of(plan.classes.begin(), plan.classes.end(),
                     [](const WorkClass& work) { return work.pass == Pass::send_evicted; });
}

/// Memory that each rank holds for the whole run, by kind.
std::vector<BytesByKind> bytes_for_whole_run(const Plan& plan, const Costs& costs) {
  std::vector<BytesByKind> bytes(plan.ranks);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const BufferClass& buffer = plan.buffers[b];
    if (!for_whole_run(buffer.kind)) continue;
    bytes[index(buffer.rank)][static_cast<std::size_t>(buffer.kind)] += costs.bytes[b];
  }
  return bytes;
}

/// The memory of a rank after an event; at the start of the run there is none.
struct Holding {
  std::uint64_t bytes = 0;
  BytesByKind by_kind{};
  Time time{};
  TaskId task = no_task;  // the task of the event
  bool takes = true;
};

/// Calls `visit(rank, holding)` with each rank's memory at the start and after each of its events.
template <class Visitor>
void for_each_holding(const Plan& plan, const Costs& costs, const Timeline& timeline,
                      Visitor visit) {
  std::vector<Holding> holdings(plan.ranks);
  const std::vector<BytesByKind> whole_run = bytes_for_whole_run(plan, costs);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    Holding& holding = holdings[rank];
    holding.by_kind = whole_run[rank];
    holding.bytes =
        std::accumulate(holding.by_kind.begin(), holding.by_kind.end(), std::uint64_t{0});
    visit(rank, holding);
  }
  Events(plan, timeline, that_weigh(costs)).for_each([&](std::uint32_t rank, const Event& event) {
    Holding& holding = holdings[rank];
    // Unsigned arithmetic: a buffer freed at the moment of its arrival may pass through zero.
    const std::uint64_t bytes = costs.bytes[event.buffer];
    const std::uint64_t change = event.takes ? bytes : 0 - bytes;
    holding.bytes += change;
    holding.by_kind[static_cast<std::size_t>(plan.buffers[event.buffer].kind)] += change;
    holding.time = event.time;
    holding.task = event.task;
    holding.takes = event.takes;
    visit(rank, holding);
  });
}

void add_sample(std::vector<MemorySample>& samples, std::uint32_t rank, const Holding& holding) {
  const bool same_moment = !samples.empty() && samples.back().time == holding.time;
  if (same_moment && holding.task != no_task) {
    samples.back().bytes = holding.bytes;
  } else {
    samples.push_back({Rank{rank}, holding.time, holding.bytes});
  }
}

/// Activations allocated and freed by the actions of each class, in order.
class StashChanges {
 public:
  struct Change {
    std::uint32_t rank;
    std::int32_t by;
  };

  explicit StashChanges(const Plan& plan) {
    for (const WorkClass& work : plan.classes) {
      for (const bool at_end : {false, true}) {
        first_.push_back(static_cast<std::uint32_t>(changes_.size()));
        for (const MemoryEffect& effect : work.effects) {
          const BufferClass& buffer = plan.buffers[effect.buffer];
          if (effect.at_end != at_end || buffer.kind != BufferKind::stash) continue;
          changes_.push_back({index(buffer.rank), effect.takes ? 1 : -1});
        }
      }
    }
    first_.push_back(static_cast<std::uint32_t>(changes_.size()));
    for (std::size_t c = 0; c < plan.classes.size(); ++c) {
      changes_any_.push_back(first_[2 * c] != first_[2 * c + 2] ? 1 : 0);
    }
  }
  bool any_of(std::uint32_t work) const { return changes_any_[work] != 0; }
  std::span<const Change> of(std::uint32_t work, bool at_end) const {
    const std::uint32_t* const first = &first_[std::size_t{2} * work + (at_end ? 1 : 0)];
    return {changes_.data() + first[0], changes_.data() + first[1]};
  }

 private:
  std::vector<std::uint32_t> first_;  // by class: at the start, at the end
  std::vector<Change> changes_;
  std::vector<std::uint8_t> changes_any_;  // by class
};

}  // namespace

std::vector<MemoryPeak> memory_peaks(const Plan& plan, const Costs& costs, const Timeline& timeline,
                                     std::vector<MemorySample>* samples) {
  std::vector<MemoryPeak> peaks(plan.ranks);
  std::vector<std::vector<MemorySample>> samples_of_rank(plan.ranks);
  for_each_holding(plan, costs, timeline, [&](std::uint32_t rank, const Holding& holding) {
    MemoryPeak& peak = peaks[rank];
    const bool first = holding.task == no_task;
    if (first || (holding.takes && holding.bytes > peak.bytes)) {
      peak = {holding.bytes, holding.by_kind, holding.time, holding.task};
    }
    if (samples != nullptr) add_sample(samples_of_rank[rank], rank, holding);
  });
  if (samples != nullptr) {
    for (const auto& of_rank : samples_of_rank) {
      samples->insert(samples->end(), of_rank.begin(), of_rank.end());
    }
  }
  return peaks;
}

std::vector<std::optional<Time>> first_above(const Plan& plan, const Costs& costs,
                                             const Timeline& timeline, std::uint64_t bytes) {
  std::vector<std::optional<Time>> first(plan.ranks);
  for_each_holding(plan, costs, timeline, [&](std::uint32_t rank, const Holding& holding) {
    if (holding.takes && holding.bytes > bytes && !first[rank]) first[rank] = holding.time;
  });
  return first;
}

std::vector<std::uint32_t> peak_activations(const Plan& plan) {
  const StashChanges changes(plan);
  std::vector<std::uint32_t> held(plan.ranks), peak(plan.ranks);
  const auto apply = [&](std::uint32_t work, bool at_end) {
    for (const StashChanges::Change& change : changes.of(work, at_end)) {
      std::uint32_t& now = held[change.rank];
      now += static_cast<std::uint32_t>(change.by);
      peak[change.rank] = std::max(peak[change.rank], now);
    }
  };
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t number = plan.work[task];
    const WorkClass& work = plan.classes[number];
    if (!changes.any_of(number) && work.partner == UINT32_MAX) continue;
    if (!work.follows_partner) apply(number, /*at_end=*/false);
    // The second part of a fused cell starts with the first, so before the first ends.
    const bool leads = work.partner != UINT32_MAX && !work.follows_partner;
    if (leads) apply(plan.work[task + 1], /*at_end=*/false);
    apply(number, /*at_end=*/true);
  }
  return peak;
}

std::vector<std::uint32_t> peak_activations(const Plan& plan, const Timeline& timeline) {
  if (!moves_activations(plan)) return peak_activations(plan);
  std::vector<std::int64_t> held(plan.ranks);
  std::vector<std::uint32_t> peak(plan.ranks);
  Events(plan, timeline, that_are_activations(plan))
      .for_each([&](std::uint32_t rank, const Event& event) {
        held[rank] += event.takes ? 1 : -1;
        const std::int64_t most = std::max<std::int64_t>(peak[rank], held[rank]);
        peak[rank] = static_cast<std::uint32_t>(most);
      });
  return peak;
}

}  // namespace penstock
