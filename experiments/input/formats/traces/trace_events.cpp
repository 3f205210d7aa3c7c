#include "experiments/input/formats/traces/trace_events.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "sim/plan/transfer_readers.hpp"

namespace penstock {
namespace {

constexpr Time nanosecond{1000};

/// The nearest nanosecond; halves round up.
Time rounded(Time time) {
  const std::int64_t rest = time.picoseconds % nanosecond.picoseconds;
  const std::int64_t down = time.picoseconds - rest;
  return {rest * 2 >= nanosecond.picoseconds ? down + nanosecond.picoseconds : down};
}

bool comes_before(const TraceEvent& a, const TraceEvent& b) {
  return std::tie(a.at, b.length, a.kind, a.rank, a.task, a.value) <
         std::tie(b.at, a.length, b.kind, b.rank, b.task, b.value);
}

/// Assigns lanes of one kind on one rank. Slices must come in order of begin.
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
    // Two zero-length slices at the same moment also need two lanes.
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

/// The task that produced the tensor of a transfer, perhaps several hops back. Where communication
/// is written, other actions of the rank may stand between the two, and a transfer also waits for
/// actions of its receiver: then the makers are known.
TaskId producer_of(const Plan& plan, const std::vector<TaskId>& makers, TaskId transfer) {
  if (!makers.empty() && makers[transfer] != no_task) return makers[transfer];
  TaskId first = no_task, sent = no_task;
  const Rank sender = plan.link(plan.class_of(transfer).resource).from;
  plan.for_each_input(transfer, [&](TaskId input) {
    first = std::min(first, input);
    const WorkClass& work = plan.class_of(input);
    if (!is_transfer(work.pass) && work.resource == index(sender)) sent = input;
  });
  if (sent != no_task) return sent;
  return is_transfer(plan.class_of(first).pass) ? producer_of(plan, makers, first) : first;
}

/// The action that reads a transfer. The first part of an overlap cell lists the inputs of both,
/// and an R those of its B.
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

/// A slice without its lane.
struct Slice {
  Time at;
  TaskId task;
  TraceKind kind;
};

/// The index in `lane_` for slices of this kind.
std::size_t end_of(TraceKind kind) { return kind == TraceKind::receive ? 1 : 0; }

}  // namespace

/// The events of a time interval.
struct TraceEvents::Stretch {
  Time first;
  Time end;
  std::vector<TraceEvent> events;

  bool has(Time at) const { return first <= at && at < end; }
};

TraceEvents::TraceEvents(const Plan& plan, const Timeline& timeline)
    : plan_(plan), timeline_(timeline), counts_(plan.ranks), lane_(plan.tasks()) {
  number_lanes();
  find_arrows();
  find_memory();
  find_activations();
}

Time TraceEvents::begin(TaskId task) const { return rounded(timeline_.begin[task]); }
Time TraceEvents::end(TaskId task) const { return rounded(timeline_.end[task]); }

/// When an end of a transfer was ready for it.
Time TraceEvents::ready(TraceKind kind, TaskId task) const {
  if (kind != TraceKind::send && kind != TraceKind::receive) return begin(task);
  const Link& link = plan_.link(plan_.class_of(task).resource);
  return rounded(
      end_ready_at(plan_, timeline_, task, kind == TraceKind::send ? link.from : link.to));
}

/// A zero-length slice would push others into another lane. F to R are always included: they are
/// the actions of the rank.
bool TraceEvents::has_slice(TaskId task) const {
  return plan_.class_of(task).pass <= Pass::recompute || begin(task) != end(task);
}

/// Calls `take(kind, rank)` for each slice of a task.
template <class Take>
void TraceEvents::each_slice(TaskId task, Take take) const {
  if (!has_slice(task)) return;
  const WorkClass& work = plan_.class_of(task);
  if (!is_transfer(work.pass)) return take(TraceKind::compute, work.resource);
  const Link& link = plan_.link(work.resource);
  const bool collective = link.to == data_replicas || is_exchange(plan_, work);
  if (collective) return take(TraceKind::collective, index(link.from));
  if (is_rank(link.from)) take(TraceKind::send, index(link.from));
  if (is_rank(link.to)) take(TraceKind::receive, index(link.to));
}

/// Assigns lanes in order of begin, rank by rank.
void TraceEvents::number_lanes() {
  std::vector<std::vector<Slice>> by_rank(plan_.ranks);
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    each_slice(task, [&](TraceKind kind, std::uint32_t rank) {
      by_rank[rank].push_back({ready(kind, task), task, kind});
    });
  }
  for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
    std::vector<Slice> slices = std::move(by_rank[rank]);
    std::ranges::sort(slices, [&](const Slice& a, const Slice& b) {
      if (a.at != b.at) return a.at < b.at;
      const Time a_end = end(a.task), b_end = end(b.task);
      return std::tie(b_end, a.kind, a.task) < std::tie(a_end, b.kind, b.task);
    });
    std::array<Lanes, slice_kinds> lanes;
    for (const Slice& slice : slices) {
      lane_[slice.task][end_of(slice.kind)] =
          lanes[static_cast<std::size_t>(slice.kind)].take(slice.at, end(slice.task));
    }
    for (std::size_t kind = 0; kind < slice_kinds; ++kind) {
      counts_[rank][kind] = lanes[kind].count();
    }
  }
}

/// Adds an arrow for every tensor that a cell reads from another stage, between slices. A cell that
/// only waits for a transfer to end reads nothing.
void TraceEvents::find_arrows() {
  const auto makers = plan_.written ? makers_of_tensors(plan_) : std::vector<TaskId>{};
  for (TaskId cell = 0; cell < plan_.tasks(); ++cell) {
    const WorkClass& own = plan_.class_of(cell);
    if (is_transfer(own.pass)) continue;
    plan_.for_each_input(cell, [&](TaskId input) {
      const WorkClass& work = plan_.class_of(input);
      if (!is_transfer(work.pass) || work.pass == Pass::send_loaded) return;
      const bool reads = is_tail(work.pass) ? own.pass == Pass::update
                                            : plan_.link(work.resource).to == Rank{own.resource};
      if (!reads) return;
      const Arrow arrow{producer_of(plan_, makers, input), reader_of(plan_, input, cell), input};
      if (has_slice(arrow.from) && has_slice(arrow.to)) arrows_.push_back(arrow);
    });
  }
}

/// The last value at one moment counts.
void TraceEvents::add_level(std::vector<Level>& levels, const Level& level) {
  if (!levels.empty() && levels.back().rank == level.rank && levels.back().at == level.at) {
    levels.back().value = level.value;
  } else {
    levels.push_back(level);
  }
}

void TraceEvents::drop_repeated(std::vector<Level>& levels) {
  const auto last = std::unique(levels.begin(), levels.end(), [](const Level& a, const Level& b) {
    return a.rank == b.rank && a.value == b.value;
  });
  levels.erase(last, levels.end());
}

void TraceEvents::find_memory() {
  for (const MemorySample& sample : timeline_.memory) {
    add_level(memory_, {index(sample.rank), rounded(sample.time), sample.bytes});
  }
  drop_repeated(memory_);
}

void TraceEvents::find_activations() {
  std::vector<std::vector<std::pair<Time, std::int32_t>>> changes(plan_.ranks);
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    for (const MemoryEffect& effect : plan_.class_of(task).effects) {
      const BufferClass& buffer = plan_.buffers[effect.buffer];
      if (buffer.kind != BufferKind::stash) continue;
      changes[index(buffer.rank)].emplace_back(effect.at_end ? end(task) : begin(task),
                                               effect.takes ? 1 : -1);
    }
  }
  for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
    std::ranges::sort(changes[rank]);
    std::int64_t held = 0;
    for (const auto& [at, by] : changes[rank]) {
      add_level(activations_, {rank, at, static_cast<std::uint64_t>(held += by)});
    }
  }
  drop_repeated(activations_);
}

/// Ends of time intervals with about the same number of events, estimated from a sample of tasks.
std::vector<Time> TraceEvents::stretch_ends(std::size_t stretch_events) const {
  constexpr TaskId step = 64;
  std::vector<Time> some;
  for (TaskId task = 0; task < plan_.tasks(); task += step) some.push_back(begin(task));
  std::ranges::sort(some);
  const std::size_t stretches = about_events() / std::max<std::size_t>(stretch_events, 1) + 1;
  std::vector<Time> ends;
  for (std::size_t i = 1; i < stretches && !some.empty(); ++i) {
    ends.push_back(some[i * some.size() / stretches]);
  }
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  ends.push_back({std::numeric_limits<std::int64_t>::max()});
  return ends;
}

void TraceEvents::add_slices(Stretch& stretch) const {
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    const Time at = begin(task);
    each_slice(task, [&](TraceKind kind, std::uint32_t rank) {
      const auto add = [&](Time from, Time to, bool waits) {
        if (!stretch.has(from)) return;
        stretch.events.push_back({.at = from,
                                  .length = to - from,
                                  .kind = kind,
                                  .rank = rank,
                                  .lane = lane_[task][end_of(kind)],
                                  .task = task,
                                  .waits = waits});
      };
      if (const Time from = ready(kind, task); from < at) add(from, at, true);
      add(at, end(task), false);
    });
  }
}

/// An arrow starts inside the slice of its producer: at its end, the next slice may have begun.
void TraceEvents::add_arrows(Stretch& stretch) const {
  for (std::uint64_t number = 0; number < arrows_.size(); ++number) {
    const Arrow& arrow = arrows_[number];
    const auto add = [&](TraceKind kind, Time at, TaskId cell) {
      if (!stretch.has(at)) return;
      stretch.events.push_back({.at = at,
                                .kind = kind,
                                .rank = plan_.class_of(cell).resource,
                                .lane = lane_[cell][0],
                                .task = arrow.transfer,
                                .value = number});
    };
    const Time shown = std::max(begin(arrow.from), end(arrow.from) - nanosecond);
    add(TraceKind::arrow_start, shown, arrow.from);
    add(TraceKind::arrow_end, begin(arrow.to), arrow.to);
  }
}

void TraceEvents::add_levels(const std::vector<Level>& levels, TraceKind kind, Stretch& stretch) {
  for (const Level& level : levels) {
    if (!stretch.has(level.at)) continue;
    stretch.events.push_back(
        {.at = level.at, .kind = kind, .rank = level.rank, .value = level.value});
  }
}

void TraceEvents::for_each(const std::function<void(const TraceEvent&)>& show,
                           std::size_t stretch_events) const {
  Stretch stretch{.first = {std::numeric_limits<std::int64_t>::min()}, .end = {}, .events = {}};
  for (const Time end : stretch_ends(stretch_events)) {
    stretch.end = end;
    stretch.events.clear();
    add_slices(stretch);
    add_arrows(stretch);
    add_levels(memory_, TraceKind::memory, stretch);
    add_levels(activations_, TraceKind::activations, stretch);
    std::ranges::sort(stretch.events, comes_before);
    for (const TraceEvent& event : stretch.events) show(event);
    stretch.first = end;
  }
}

}  // namespace penstock
