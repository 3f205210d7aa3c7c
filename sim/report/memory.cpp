#include "sim/report/memory.hpp"

#include <algorithm>
#include <numeric>

namespace penstock {
namespace {

/// A buffer taken or given back. `place` orders events of one moment: as the rank's row has them,
/// an arrival directly before the task that reads it, so that something received and read in the
/// same moment never counts beside what was freed just then.
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

/// The turns of a task, and of what it reads, in its place of the row.
constexpr std::uint64_t arrival = 0;
constexpr std::uint64_t at_read = 1;  // what was received is given back
constexpr std::uint64_t at_start = 2;
constexpr std::uint64_t at_end = 3;

/// The events of every rank that concern some of the buffer classes. Those of the rank's own
/// actions and those of transfers are kept apart: each for itself, they mostly come in order.
class Events {
 public:
  Events(const Plan& plan, const Timeline& timeline, const std::vector<bool>& counted)
      : plan_(plan), timeline_(timeline), counted_(counted), own_(plan.ranks), moved_(plan.ranks) {
    reserve();
    // Arrivals of a task come before it in the plan; they are added with the task that reads them.
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      const std::uint32_t work = plan.work[task];
      if (is_action_[work] == 0) {
        // No action reads what goes away: that belongs to the E that asked for it.
        const bool evicted = plan.classes[work].pass == Pass::send_evicted;
        if (evicted) add_moved(task, plan.input[task], at_end);
        continue;
      }
      plan.for_each_input(task, [&](TaskId input) { add_moved(input, task, arrival); });
      add(task, own_, [&](const MemoryEffect& effect) { return place_of(task, effect); });
    }
    for (auto* lists : {&own_, &moved_}) {
      for (auto& events : *lists) {
        // Stable: a task gives back before it takes, as its class lists the effects.
        if (!std::is_sorted(events.begin(), events.end())) {
          std::stable_sort(events.begin(), events.end());
        }
      }
    }
  }
  /// Calls `visit` with the events of a rank in order; of equals, what moves comes first.
  template <class Visitor>
  void for_each(std::uint32_t rank, Visitor visit) const {
    const std::vector<Event>& own = own_[rank];
    const std::vector<Event>& moved = moved_[rank];
    auto next_moved = moved.begin();
    for (const Event& event : own) {
      for (; next_moved != moved.end() && !(event < *next_moved); ++next_moved) visit(*next_moved);
      visit(event);
    }
    for (; next_moved != moved.end(); ++next_moved) visit(*next_moved);
  }

 private:
  using ByRank = std::vector<std::vector<Event>>;

  /// Tells classes apart, and makes room for what there will be.
  void reserve() {
    std::vector<std::uint32_t> tasks(plan_.classes.size());
    for (const std::uint32_t work : plan_.work) ++tasks[work];
    std::vector<std::size_t> own(plan_.ranks), moved(plan_.ranks);
    for (std::size_t c = 0; c < plan_.classes.size(); ++c) {
      is_action_.push_back(is_transfer(plan_.classes[c].pass) ? 0 : 1);
      concerns_.push_back(0);
      auto& events = is_action_[c] == 0 ? moved : own;
      for (const MemoryEffect& effect : plan_.classes[c].effects) {
        if (!counted_[effect.buffer]) continue;
        concerns_[c] = 1;
        events[index(plan_.buffers[effect.buffer].rank)] += tasks[c];
      }
    }
    for (std::size_t rank = 0; rank < plan_.ranks; ++rank) {
      own_[rank].reserve(own[rank]);
      moved_[rank].reserve(moved[rank]);
    }
  }
  std::uint64_t place_of(TaskId task, const MemoryEffect& effect) const {
    if (effect.at_end) return std::uint64_t{task} * 4 + at_end;
    if (effect.takes) return std::uint64_t{task} * 4 + at_start;
    // Both parts of a fused cell read before either takes.
    const TaskId reader = plan_.class_of(task).follows_partner ? task - 1 : task;
    return std::uint64_t{reader} * 4 + at_read;
  }
  /// What a transfer does has its turn with an action.
  void add_moved(TaskId transfer, TaskId action, std::uint64_t turn) {
    add(transfer, moved_, [&](const MemoryEffect&) { return std::uint64_t{action} * 4 + turn; });
  }

  template <class PlaceOf>
  void add(TaskId task, ByRank& events, PlaceOf place) {
    if (concerns_[plan_.work[task]] == 0) return;
    for (const MemoryEffect& effect : plan_.class_of(task).effects) {
      if (!counted_[effect.buffer]) continue;
      events[index(plan_.buffers[effect.buffer].rank)].push_back(
          {effect.at_end ? timeline_.end[task] : timeline_.begin[task], place(effect), task,
           effect.buffer, effect.takes});
    }
  }

  const Plan& plan_;
  const Timeline& timeline_;
  const std::vector<bool>& counted_;     // by buffer class
  std::vector<std::uint8_t> is_action_;  // by work class
  std::vector<std::uint8_t> concerns_;   // by work class: has effects that are counted
  ByRank own_;
  ByRank moved_;
};

/// The buffer classes that are not empty.
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

/// Whether activations go elsewhere and come back while they are kept.
bool moves_activations(const Plan& plan) {
  return std::any_of(plan.classes.begin(), plan.classes.end(),
                     [](const WorkClass& work) { return work.pass == Pass::send_evicted; });
}

/// What each rank holds all the time, by kind.
std::vector<BytesByKind> bytes_for_whole_run(const Plan& plan, const Costs& costs) {
  std::vector<BytesByKind> bytes(plan.ranks);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const BufferClass& buffer = plan.buffers[b];
    if (!for_whole_run(buffer.kind)) continue;
    bytes[index(buffer.rank)][static_cast<std::size_t>(buffer.kind)] += costs.bytes[b];
  }
  return bytes;
}

/// What a rank holds after each event, from the start of the run on.
struct Holding {
  std::uint64_t bytes;
  BytesByKind by_kind;
  Time time{};
  TaskId task = no_task;  // whose event it was
  bool takes = true;
};

/// Calls `visit` with what a rank holds at the start and after each of its events.
template <class Visitor>
void for_each_holding(const Plan& plan, const Costs& costs, const BytesByKind& whole_run,
                      const Events& events, std::uint32_t rank, Visitor visit) {
  Holding holding{std::accumulate(whole_run.begin(), whole_run.end(), std::uint64_t{0}), whole_run};
  visit(holding);
  events.for_each(rank, [&](const Event& event) {
    // Unsigned arithmetic: a buffer given back in the moment it came may pass through zero.
    const std::uint64_t change =
        event.takes ? costs.bytes[event.buffer] : 0 - costs.bytes[event.buffer];
    holding.bytes += change;
    holding.by_kind[static_cast<std::size_t>(plan.buffers[event.buffer].kind)] += change;
    holding.time = event.time;
    holding.task = event.task;
    holding.takes = event.takes;
    visit(holding);
  });
}

void add_sample(std::vector<MemorySample>& samples, Rank rank, const Holding& holding) {
  const bool same_moment =
      !samples.empty() && samples.back().rank == rank && samples.back().time == holding.time;
  if (same_moment && holding.task != no_task) {
    samples.back().bytes = holding.bytes;
  } else {
    samples.push_back({rank, holding.time, holding.bytes});
  }
}

}  // namespace

std::vector<MemoryPeak> memory_peaks(const Plan& plan, const Costs& costs, const Timeline& timeline,
                                     std::vector<MemorySample>* samples) {
  const std::vector<bool> counted = that_weigh(costs);
  const Events events(plan, timeline, counted);
  const std::vector<BytesByKind> whole_run = bytes_for_whole_run(plan, costs);
  std::vector<MemoryPeak> peaks(plan.ranks);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    MemoryPeak& peak = peaks[rank];
    for_each_holding(plan, costs, whole_run[rank], events, rank, [&](const Holding& holding) {
      const bool first = holding.task == no_task;
      if (first || (holding.takes && holding.bytes > peak.bytes)) {
        peak = {holding.bytes, holding.by_kind, holding.time, holding.task};
      }
      if (samples != nullptr) add_sample(*samples, Rank{rank}, holding);
    });
  }
  return peaks;
}

std::vector<std::optional<Time>> first_above(const Plan& plan, const Costs& costs,
                                             const Timeline& timeline, std::uint64_t bytes) {
  const std::vector<bool> counted = that_weigh(costs);
  const Events events(plan, timeline, counted);
  const std::vector<BytesByKind> whole_run = bytes_for_whole_run(plan, costs);
  std::vector<std::optional<Time>> first(plan.ranks);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    for_each_holding(plan, costs, whole_run[rank], events, rank, [&](const Holding& holding) {
      if (holding.takes && holding.bytes > bytes && !first[rank]) first[rank] = holding.time;
    });
  }
  return first;
}

std::vector<std::uint32_t> peak_activations(const Plan& plan) {
  std::vector<std::uint32_t> held(plan.ranks), peak(plan.ranks);
  const auto apply = [&](const WorkClass& work, bool at_end) {
    for (const MemoryEffect& effect : work.effects) {
      if (effect.at_end != at_end || plan.buffers[effect.buffer].kind != BufferKind::stash)
        continue;
      const std::uint32_t rank = index(plan.buffers[effect.buffer].rank);
      held[rank] += effect.takes ? 1 : -1;
      peak[rank] = std::max(peak[rank], held[rank]);
    }
  };
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (!work.follows_partner) apply(work, /*at_end=*/false);
    // The second part of a fused cell starts with the first, so before the first ends.
    const bool leads = work.partner != UINT32_MAX && !work.follows_partner;
    if (leads) apply(plan.class_of(task + 1), /*at_end=*/false);
    apply(work, /*at_end=*/true);
  }
  return peak;
}

std::vector<std::uint32_t> peak_activations(const Plan& plan, const Timeline& timeline) {
  if (!moves_activations(plan)) return peak_activations(plan);
  const std::vector<bool> counted = that_are_activations(plan);
  const Events events(plan, timeline, counted);
  std::vector<std::uint32_t> peak(plan.ranks);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    std::int64_t held = 0, most = 0;
    events.for_each(rank, [&](const Event& event) {
      held += event.takes ? 1 : -1;
      most = std::max(most, held);
    });
    peak[rank] = static_cast<std::uint32_t>(most);
  }
  return peak;
}

}  // namespace penstock
