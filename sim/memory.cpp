#include "sim/memory.hpp"

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
  std::uint32_t buffer;
  bool takes;
  TaskId task;

  friend bool operator<(const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.place < b.place;
  }
};

/// The turns of a task, and of what it reads, in its place of the row.
constexpr std::uint64_t arrival = 0;
constexpr std::uint64_t at_read = 1;  // what was received is given back
constexpr std::uint64_t at_start = 2;
constexpr std::uint64_t at_end = 3;

/// Collects the events of every rank that concern some of the buffer classes.
class Events {
 public:
  Events(const Plan& plan, const Timeline& timeline, const std::vector<bool>& counted)
      : plan_(plan), timeline_(timeline), counted_(counted), by_rank_(plan.ranks) {
    // Arrivals of a task come before it in the plan; they are added with the task that reads them.
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      // No action reads what goes away: that belongs to the E that asked for it.
      if (plan.class_of(task).pass == Pass::send_evicted) add_behind(plan.input[task], task);
      if (plan.class_of(task).resource >= plan.ranks) continue;
      plan.for_each_input(task, [&](TaskId input) {
        add(input, [&](const MemoryEffect&) { return std::uint64_t{task} * 4 + arrival; });
      });
      add(task, [&](const MemoryEffect& effect) { return place_of(task, effect); });
    }
    // Stable: a task gives back before it takes, as its class lists the effects.
    for (auto& events : by_rank_) std::stable_sort(events.begin(), events.end());
  }
  const std::vector<Event>& on(std::uint32_t rank) const { return by_rank_[rank]; }

 private:
  /// With the end of an action.
  void add_behind(TaskId action, TaskId transfer) {
    add(transfer, [&](const MemoryEffect&) { return std::uint64_t{action} * 4 + at_end; });
  }
  std::uint64_t place_of(TaskId task, const MemoryEffect& effect) const {
    if (effect.at_end) return std::uint64_t{task} * 4 + at_end;
    if (effect.takes) return std::uint64_t{task} * 4 + at_start;
    // Both parts of a fused cell read before either takes.
    const TaskId reader = plan_.class_of(task).follows_partner ? task - 1 : task;
    return std::uint64_t{reader} * 4 + at_read;
  }

  template <class PlaceOf>
  void add(TaskId task, PlaceOf place) {
    for (const MemoryEffect& effect : plan_.class_of(task).effects) {
      if (!counted_[effect.buffer]) continue;
      by_rank_[index(plan_.buffers[effect.buffer].rank)].push_back(
          {effect.at_end ? timeline_.end[task] : timeline_.begin[task], place(effect),
           effect.buffer, effect.takes, task});
    }
  }

  const Plan& plan_;
  const Timeline& timeline_;
  const std::vector<bool>& counted_;  // by buffer class
  std::vector<std::vector<Event>> by_rank_;
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
                      const std::vector<Event>& events, Visitor visit) {
  Holding holding{std::accumulate(whole_run.begin(), whole_run.end(), std::uint64_t{0}), whole_run};
  visit(holding);
  for (const Event& event : events) {
    // Unsigned arithmetic: a buffer given back in the moment it came may pass through zero.
    const std::uint64_t change =
        event.takes ? costs.bytes[event.buffer] : 0 - costs.bytes[event.buffer];
    holding.bytes += change;
    holding.by_kind[static_cast<std::size_t>(plan.buffers[event.buffer].kind)] += change;
    holding.time = event.time;
    holding.task = event.task;
    holding.takes = event.takes;
    visit(holding);
  }
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
    for_each_holding(plan, costs, whole_run[rank], events.on(rank), [&](const Holding& holding) {
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
    for_each_holding(plan, costs, whole_run[rank], events.on(rank), [&](const Holding& holding) {
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
    for (const Event& event : events.on(rank)) {
      held += event.takes ? 1 : -1;
      most = std::max(most, held);
    }
    peak[rank] = static_cast<std::uint32_t>(most);
  }
  return peak;
}

}  // namespace penstock
