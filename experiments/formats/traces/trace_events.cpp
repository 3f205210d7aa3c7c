#include "experiments/formats/traces/trace_events.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <tuple>
#include <utility>

namespace penstock {
namespace {

constexpr Time nanosecond{1000};

/// The nearest nanosecond, half up.
Time rounded(Time time) {
  const std::int64_t rest = time.picoseconds % nanosecond.picoseconds;
  const std::int64_t down = time.picoseconds - rest;
  return {rest * 2 >= nanosecond.picoseconds ? down + nanosecond.picoseconds : down};
}

bool comes_before(const TraceEvent& a, const TraceEvent& b) {
  return std::tie(a.at, b.length, a.kind, a.rank, a.task, a.value) <
         std::tie(b.at, a.length, b.kind, b.rank, b.task, b.value);
}

/// Deals out the lanes of one kind on one rank. Slices must come in the order of their begin.
class Lanes {
 public:
  std::uint32_t take(Time begin, Time end) {
    while (!busy_.empty() && busy_.top().first <= begin) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    std::uint32_t lane = count_;
    if (free_.empty()) {
      ++count_;
    } else {
      lane = free_.top();
      free_.pop();
    }
    // Two slices of no length need two lanes as well when they share a moment.
    busy_.emplace(std::max(end, begin + nanosecond), lane);
    return lane;
  }
  std::uint32_t count() const { return count_; }

 private:
  template <class Value>
  using SmallestFirst = std::priority_queue<Value, std::vector<Value>, std::greater<>>;

  std::uint32_t count_ = 0;
  SmallestFirst<std::pair<Time, std::uint32_t>> busy_;
  SmallestFirst<std::uint32_t> free_;
};

/// A value of a rank over time, as counter events: one on each change, the last of each moment.
class Counter {
 public:
  explicit Counter(TraceKind kind) : kind_(kind) {}

  void set(std::uint32_t rank, Time at, std::uint64_t value) {
    if (!events_.empty() && events_.back().rank == rank && events_.back().at == at) {
      events_.back().value = value;
    } else {
      events_.push_back({.at = at, .kind = kind_, .rank = rank, .value = value});
    }
  }
  void append_to(std::vector<TraceEvent>& all) const {
    std::unique_copy(events_.begin(), events_.end(), std::back_inserter(all),
                     [](const TraceEvent& a, const TraceEvent& b) {
                       return a.rank == b.rank && a.value == b.value;
                     });
  }

 private:
  TraceKind kind_;
  std::vector<TraceEvent> events_;
};

/// Where the tensor comes from that a transfer carries, perhaps over several hops.
TaskId producer_of(const Plan& plan, TaskId transfer) {
  TaskId task = transfer;
  while (is_transfer(plan.class_of(task).pass)) {
    TaskId first = no_task;
    plan.for_each_input(task, [&](TaskId input) { first = std::min(first, input); });
    task = first;
  }
  return task;
}

/// The action that reads a transfer: the first part of an overlap cell lists the inputs of both,
/// and an R that of its B.
TaskId reader_of(const Plan& plan, TaskId transfer, TaskId cell) {
  if (is_tail(plan.class_of(transfer).pass)) return cell;
  const bool gradient = plan.class_of(transfer).pass == Pass::send_gradient;
  const auto reads = [&](TaskId task) {
    const Pass pass = plan.class_of(task).pass;
    return plan.microbatch[task] == plan.microbatch[transfer] &&
           (gradient ? gives_gradient(pass) : pass == Pass::forward);
  };
  const bool second = !reads(cell) && cell + 1 < plan.tasks() && reads(cell + 1);
  return second ? cell + 1 : cell;
}

/// Collects what a trace shows.
class Collector {
 public:
  Collector(const Plan& plan, const Timeline& timeline)
      : plan_(plan), timeline_(timeline), lanes_(plan.ranks), lane_(plan.tasks()) {}

  TraceEvents collect();

 private:
  void add_slices(TaskId task);
  void take_lanes();
  void add_arrows(TaskId cell);
  void add_memory();
  void add_activations();

  Time begin(TaskId task) const { return rounded(timeline_.begin[task]); }
  Time end(TaskId task) const { return rounded(timeline_.end[task]); }

  const Plan& plan_;
  const Timeline& timeline_;
  std::vector<std::array<Lanes, slice_kinds>> lanes_;  // by rank and kind
  std::vector<TraceEvent> events_;
  std::vector<std::uint32_t> lane_;  // by task that is no transfer
  std::uint64_t arrows_ = 0;
};

TraceEvents Collector::collect() {
  events_.reserve(std::size_t{4} * plan_.tasks() + timeline_.memory.size());
  for (TaskId task = 0; task < plan_.tasks(); ++task) add_slices(task);
  take_lanes();
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    if (!is_transfer(plan_.class_of(task).pass)) add_arrows(task);
  }
  add_memory();
  add_activations();
  std::sort(events_.begin(), events_.end(), comes_before);
  TraceEvents found{.events = std::move(events_), .lanes = {}};
  for (const auto& [compute, send, receive] : lanes_) {
    found.lanes.push_back({compute.count(), send.count(), receive.count()});
  }
  return found;
}

void Collector::add_slices(TaskId task) {
  const WorkClass& work = plan_.class_of(task);
  TraceEvent slice{.at = begin(task),
                   .length = end(task) - begin(task),
                   .kind = TraceKind::compute,
                   .rank = work.resource,
                   .task = task};
  // What takes no time would push whatever starts with it into another lane. F to R are always
  // there: they are what the rank does.
  if (slice.length == Time{} && work.pass > Pass::recompute) return;
  if (!is_transfer(work.pass)) return events_.push_back(slice);
  const Link& link = plan_.link(work.resource);
  for (const auto& [kind, end] :
       {std::pair{TraceKind::send, link.from}, std::pair{TraceKind::receive, link.to}}) {
    if (!is_rank(end)) continue;
    slice.kind = kind;
    slice.rank = index(end);
    events_.push_back(slice);
  }
}

void Collector::take_lanes() {
  std::sort(events_.begin(), events_.end(), comes_before);
  for (TraceEvent& slice : events_) {
    Lanes& lanes = lanes_[slice.rank][static_cast<std::size_t>(slice.kind)];
    slice.lane = lanes.take(slice.at, slice.at + slice.length);
    if (slice.kind == TraceKind::compute) lane_[slice.task] = slice.lane;
  }
}

/// An arrow for every tensor that a cell reads from another stage. It starts inside the slice that
/// made the tensor: at its end, the next slice may have begun.
void Collector::add_arrows(TaskId cell) {
  plan_.for_each_input(cell, [&](TaskId input) {
    const Pass pass = plan_.class_of(input).pass;
    if (!is_transfer(pass) || pass == Pass::send_loaded) return;
    const TaskId from = producer_of(plan_, input);
    const TaskId to = reader_of(plan_, input, cell);
    events_.push_back({.at = std::max(begin(from), end(from) - nanosecond),
                       .kind = TraceKind::arrow_start,
                       .rank = plan_.class_of(from).resource,
                       .lane = lane_[from],
                       .task = input,
                       .value = arrows_});
    events_.push_back({.at = begin(to),
                       .kind = TraceKind::arrow_end,
                       .rank = plan_.class_of(to).resource,
                       .lane = lane_[to],
                       .task = input,
                       .value = arrows_});
    ++arrows_;
  });
}

void Collector::add_memory() {
  Counter counter(TraceKind::memory);
  for (const MemorySample& sample : timeline_.memory) {
    counter.set(index(sample.rank), rounded(sample.time), sample.bytes);
  }
  counter.append_to(events_);
}

void Collector::add_activations() {
  struct Change {
    std::uint32_t rank;
    Time at;
    std::int64_t by;
  };
  std::vector<Change> changes;
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    for (const MemoryEffect& effect : plan_.class_of(task).effects) {
      const BufferClass& buffer = plan_.buffers[effect.buffer];
      if (buffer.kind != BufferKind::stash) continue;
      changes.push_back(
          {index(buffer.rank), effect.at_end ? end(task) : begin(task), effect.takes ? 1 : -1});
    }
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tie(a.rank, a.at) < std::tie(b.rank, b.at);
  });
  Counter counter(TraceKind::activations);
  std::vector<std::int64_t> held(plan_.ranks);
  for (const Change& change : changes) {
    counter.set(change.rank, change.at, static_cast<std::uint64_t>(held[change.rank] += change.by));
  }
  counter.append_to(events_);
}

}  // namespace

TraceEvents trace_events(const Plan& plan, const Timeline& timeline) {
  return Collector(plan, timeline).collect();
}

}  // namespace penstock
