#include "sim/stepwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "sim/dispatcher.hpp"
#include "sim/memory_room.hpp"
#include "sim/transfer_readers.hpp"
#include "sim/transfers.hpp"

namespace penstock {
namespace {

constexpr Time unknown{-1};
constexpr Time never = max_time;

class Stepwise {
 public:
  Stepwise(const Plan& plan, const Costs& costs, const Conditions& conditions, Timeline& timeline,
           Dispatcher* dispatcher, std::vector<TaskId>* ran);
  std::optional<Standstill> run();

 private:
  /// A rank, how far it has come, and the cell it runs.
  struct Row {
    std::span<TaskId> rest;  // what it has not finished, the running cell included
    Time issued{};           // of the action that is next
    Time wakes = never;
    bool runs = false;
    bool dirty = false;
    std::uint32_t in_flight = 0;  // transfers that it sends or receives
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
    std::uint32_t unsent = 0;  // blocking sends: what has not left yet
    TaskId sent_last = no_task;
    Time sent_at{};
    Time free_at{};             // when its last cell ended
    Time lacks_memory = never;  // since when the next cell waits for nothing else

    // Of the running cell: what is left of it at `since`, as time at full speed.
    double left = 0;
    Time since{};
    double speed = 1;
    std::uint32_t stamp = 0;
  };

  // What happens.
  bool happens_now() const { return !events_.empty() && events_.next().time == now_; }
  void happen(const Event& event);
  void end_cell(std::uint32_t rank);
  void leave(TaskId transfer);
  void arrive(TaskId transfer);
  void hand_over(TaskId task);

  // What follows from it at the same moment.
  void settle();
  void try_start(std::uint32_t rank);
  void start_cell(std::uint32_t rank, std::span<const TaskId> cell);
  bool is_there(TaskId task) const { return end_[task] != unknown && end_[task] <= now_; }
  bool inputs_are_there(TaskId task) const;
  bool choose(std::uint32_t rank);
  bool is_launched(Row& row, std::uint32_t rank);
  bool has_memory(Row& row, std::span<const TaskId> cell);
  TaskId last_input(const Row& row, TaskId task) const;
  void slow_links();
  void set_speed(std::uint32_t rank);

  // Transfers.
  bool may_start(TaskId transfer);
  bool fits_beside_next(TaskId transfer) const;
  std::uint64_t need_of_next(Rank rank, TaskId transfer) const;
  bool is_awaited(TaskId transfer) const;
  void started(TaskId transfer);

  std::span<const TaskId> first_cell(std::span<const TaskId> rest) const;
  void look_at(std::uint32_t rank);
  void look_at_links(std::uint32_t rank);
  void freed(TaskId task);
  template <class Visitor>
  void for_each_end(TaskId transfer, Visitor visit);
  Standstill standstill() const;
  std::string needs_of(const Row& row) const;

  const Plan& plan_;
  const Costs& costs_;
  const Conditions& conditions_;
  Timeline& timeline_;
  Dispatcher* dispatcher_;
  std::vector<TaskId>* ran_;
  std::vector<Time>& end_;
  ResourceOrders orders_;
  std::vector<std::uint32_t> place_of_;  // with a dispatcher: where a task stands in the orders
  TransferReaders readers_;
  std::optional<MemoryRoom> room_;
  std::vector<Row> rows_;
  std::vector<std::vector<std::uint32_t>> links_of_;  // by rank
  EventQueue events_;
  Transfers transfers_;
  Transfers::Gate gate_;
  std::vector<std::uint32_t> dirty_;    // ranks that may be able to start something
  std::vector<std::uint32_t> touched_;  // ranks that run or send something else than before
  Time now_{};
};

Stepwise::Stepwise(const Plan& plan, const Costs& costs, const Conditions& conditions,
                   Timeline& timeline, Dispatcher* dispatcher, std::vector<TaskId>* ran)
    : plan_(plan),
      costs_(costs),
      conditions_(conditions),
      timeline_(timeline),
      dispatcher_(dispatcher),
      ran_(ran),
      end_(timeline.end),
      orders_(resource_orders(plan)),
      readers_(plan),
      rows_(plan.ranks),
      links_of_(plan.ranks),
      transfers_(plan, costs, conditions, timeline, events_),
      gate_{[this](TaskId transfer) { return may_start(transfer); },
            [this](TaskId transfer) { started(transfer); }} {
  timeline.slowed.assign(plan.tasks(), Time{});
  if (conditions.stall_above_bytes) timeline.memory_wait.assign(plan.tasks(), Time{});
  if (dispatcher != nullptr) {
    place_of_.resize(plan.tasks());
    for (std::uint32_t at = 0; at < plan.tasks(); ++at) place_of_[orders_.tasks[at]] = at;
  }
  if (conditions.stall_above_bytes) room_.emplace(plan, costs, *conditions.stall_above_bytes);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    rows_[rank].rest = {orders_.tasks.data() + orders_.first[rank],
                        orders_.tasks.data() + orders_.first[rank + 1]};
    rows_[rank].issued = costs.issue;
  }
  for (std::uint32_t link = 0; link < plan.links.size(); ++link) {
    for (const Rank end : {plan.links[link].from, plan.links[link].to}) {
      if (index(end) < plan.ranks) links_of_[index(end)].push_back(link);
    }
  }
}

std::optional<Standstill> Stepwise::run() {
  for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
    // What is held for the whole run may be too much by itself.
    if (room_ && room_->held(Rank{rank}) > room_->capacity()) return standstill();
    look_at(rank);
  }
  settle();
  while (!events_.empty()) {
    now_ = events_.next().time;
    while (happens_now()) happen(events_.pop());
    if (dispatcher_ != nullptr) {
      // All that arrives at this moment is there before a policy chooses.
      transfers_.settle(now_, gate_);
      if (happens_now()) continue;
    }
    settle();
  }
  const bool done = std::all_of(end_.begin(), end_.end(), [](Time end) { return end != unknown; });
  if (done) return std::nullopt;
  return standstill();
}

void Stepwise::happen(const Event& event) {
  switch (event.kind) {
    case EventKind::leaves:
      return leave(transfers_.leave(event));
    case EventKind::arrives:
      return arrive(event.id);
    case EventKind::ends:
      if (event.stamp == rows_[event.id].stamp && rows_[event.id].runs) end_cell(event.id);
      return;
    case EventKind::ready:
      return;
    case EventKind::wakes:
      return look_at(event.id);
  }
}

void Stepwise::end_cell(std::uint32_t rank) {
  Row& row = rows_[rank];
  const std::span<const TaskId> cell = first_cell(row.rest);
  row.runs = false;
  row.free_at = now_;
  row.rest = row.rest.subspan(cell.size());
  row.issued += costs_.issue;
  timeline_.slowed[cell.front()] =
      now_ - timeline_.begin[cell.front()] - costs_.duration_of(plan_, cell.front());
  for (const TaskId task : cell) {
    end_[task] = now_;
    if (room_) room_->end(task);
    freed(task);
  }
  for (const TaskId task : cell) hand_over(task);
  look_at(rank);
  touched_.push_back(rank);
}

/// A transfer whose last byte has left; it is there a latency later.
void Stepwise::leave(TaskId transfer) {
  if (end_[transfer] > now_) {
    events_.push({end_[transfer], EventKind::arrives, transfer});
  } else {
    arrive(transfer);
  }
  const Pass pass = plan_.class_of(transfer).pass;
  const Rank from = plan_.link(plan_.class_of(transfer).resource).from;
  const bool blocks = pass == Pass::send_activation || pass == Pass::send_gradient;
  if (!conditions_.blocking_sends || !blocks) return;
  Row& row = rows_[index(from)];
  row.sent_last = transfer;
  row.sent_at = now_;
  if (--row.unsent == 0) look_at(index(from));
}

void Stepwise::arrive(TaskId transfer) {
  if (room_) room_->end(transfer);
  for_each_end(transfer, [&](std::uint32_t rank, bool sends) {
    Row& row = rows_[rank];
    --row.in_flight;
    --(sends ? row.sends : row.receives);
    look_at(rank);
    touched_.push_back(rank);
    if (conditions_.in_flight != 0) look_at_links(rank);
  });
  freed(transfer);
  hand_over(transfer);
}

/// Puts the transfers in line that a task was the last input of.
void Stepwise::hand_over(TaskId task) {
  if (dispatcher_ != nullptr) dispatcher_->ended(task, now_);
  for (const TaskId transfer : readers_.of(task)) {
    if (!inputs_are_there(transfer)) continue;
    timeline_.last_input[transfer] = task;
    transfers_.ready(transfer);
    const Pass pass = plan_.class_of(transfer).pass;
    if (pass == Pass::send_activation || pass == Pass::send_gradient) {
      ++rows_[plan_.class_of(task).resource].unsent;
    }
  }
}

void Stepwise::settle() {
  do {
    std::sort(dirty_.begin(), dirty_.end());
    for (const std::uint32_t rank : std::exchange(dirty_, {})) {
      rows_[rank].dirty = false;
      try_start(rank);
    }
    slow_links();
    transfers_.settle(now_, gate_);
  } while (!dirty_.empty());
  if (conditions_.compute_slowdown != 1) {
    for (const std::uint32_t rank : touched_) set_speed(rank);
  }
  touched_.clear();
}

void Stepwise::try_start(std::uint32_t rank) {
  Row& row = rows_[rank];
  if (row.runs || row.rest.empty()) return;
  if (conditions_.blocking_sends && row.unsent > 0) return;
  if (conditions_.rendezvous || room_) look_at_links(rank);  // they look at what comes next
  if (!is_launched(row, rank)) return;
  if (dispatcher_ != nullptr ? !choose(rank) : !inputs_are_there(row.rest.front())) return;
  const std::span<const TaskId> cell = first_cell(row.rest);
  if (has_memory(row, cell)) start_cell(rank, cell);
}

/// Lets the dispatcher choose what comes first of the rest of a rank.
bool Stepwise::choose(std::uint32_t rank) {
  Row& row = rows_[rank];
  const auto chosen = dispatcher_->choose(Rank{rank}, [&](TaskId task) {
    return !room_ || room_->fits({&task, 1});
  });
  if (!chosen) return false;
  TaskId& first = row.rest.front();
  std::swap(place_of_[first], place_of_[*chosen]);
  std::swap(first, orders_.tasks[place_of_[first]]);
  return true;
}

bool Stepwise::inputs_are_there(TaskId task) const {
  bool there = true;
  plan_.for_each_input(task, [&](TaskId input) { there = there && is_there(input); });
  return there;
}

bool Stepwise::is_launched(Row& row, std::uint32_t rank) {
  const Time launched = row.issued + costs_.launch;
  if (launched <= now_) return true;
  if (row.wakes != launched) events_.push({launched, EventKind::wakes, rank});
  row.wakes = launched;
  return false;
}

bool Stepwise::has_memory(Row& row, std::span<const TaskId> cell) {
  if (!room_) return true;
  if (row.lacks_memory == never) row.lacks_memory = now_;
  if (!room_->fits(cell)) return false;
  timeline_.memory_wait[cell.front()] = now_ - std::exchange(row.lacks_memory, never);
  return true;
}

void Stepwise::start_cell(std::uint32_t rank, std::span<const TaskId> cell) {
  Row& row = rows_[rank];
  for (const TaskId task : cell) {
    timeline_.begin[task] = now_;
    if (ran_ != nullptr) ran_->push_back(task);
    if (room_) room_->start(task);
    freed(task);
  }
  timeline_.last_input[cell.front()] = last_input(row, cell.front());
  const Time duration = costs_.duration_of(plan_, cell.front());
  row.runs = true;
  row.left = static_cast<double>(duration.picoseconds);
  row.since = now_;
  row.speed = 1;
  events_.push({now_ + duration, EventKind::ends, rank, ++row.stamp});
  touched_.push_back(rank);
}

/// The input that arrived last, the first of equals; a send of the rank itself when that held it up
/// for longer.
TaskId Stepwise::last_input(const Row& row, TaskId task) const {
  TaskId last = no_task;
  plan_.for_each_input(task, [&](TaskId input) {
    if (last == no_task || end_[input] > end_[last]) last = input;
  });
  const bool held_up = row.sent_last != no_task && row.sent_at > row.free_at &&
                       (last == no_task || row.sent_at > end_[last]);
  return held_up ? row.sent_last : last;
}

/// Tells the links of ranks that have begun or stopped to run.
void Stepwise::slow_links() {
  if (conditions_.transfer_slowdown == 1) return;
  const auto runs = [&](Rank end) { return index(end) < plan_.ranks && rows_[index(end)].runs; };
  for (const std::uint32_t rank : touched_) {
    for (const std::uint32_t link : links_of_[rank]) {
      transfers_.set_slowed(link, runs(plan_.links[link].from) || runs(plan_.links[link].to));
    }
  }
}

/// The running cell goes on slower while a transfer of its rank is in flight.
void Stepwise::set_speed(std::uint32_t rank) {
  Row& row = rows_[rank];
  const double speed = row.in_flight > 0 ? 1 / conditions_.compute_slowdown : 1;
  if (!row.runs || speed == row.speed) return;
  row.left -= static_cast<double>((now_ - row.since).picoseconds) * row.speed;
  row.since = now_;
  row.speed = speed;
  const Time rest{std::llrint(std::max(row.left, 0.0) / speed)};
  events_.push({now_ + rest, EventKind::ends, rank, ++row.stamp});
}

bool Stepwise::may_start(TaskId transfer) {
  bool free_place = true;
  if (conditions_.in_flight != 0) {
    for_each_end(transfer, [&](std::uint32_t rank, bool sends) {
      const Row& row = rows_[rank];
      free_place = free_place && (sends ? row.sends : row.receives) < conditions_.in_flight;
    });
  }
  if (!free_place || (conditions_.rendezvous && !is_awaited(transfer))) return false;
  if (!room_) return true;
  Time& wait = timeline_.memory_wait[transfer];
  if (fits_beside_next(transfer)) {
    if (wait < Time{}) wait = now_ + wait + Time{1};
    return true;
  }
  // Until the transfer starts, since when it waits: -1 - that moment.
  if (wait == Time{}) wait = Time{-1} - now_;
  return false;
}

/// Whether there is room for what a transfer brings. It leaves its receiver what the next cell
/// there needs, unless it is for that cell: received too early, tensors could otherwise lock out
/// the very actions that would make room.
bool Stepwise::fits_beside_next(TaskId transfer) const {
  const Rank to = plan_.link(plan_.class_of(transfer).resource).to;
  const std::uint64_t reserved = index(to) < plan_.ranks ? need_of_next(to, transfer) : 0;
  return room_->fits({&transfer, 1}, to, reserved);
}

/// What a rank must find free for the first cell that it has not started, with the inputs of it
/// that have yet to come; nothing when `transfer` is one of them.
std::uint64_t Stepwise::need_of_next(Rank rank, TaskId transfer) const {
  const Row& row = rows_[index(rank)];
  const auto rest = row.rest.subspan(row.runs ? first_cell(row.rest).size() : 0);
  if (rest.empty() || dispatcher_ != nullptr) return 0;  // a policy has no next
  std::uint64_t need = 0;
  bool for_next = false;
  for (const TaskId task : first_cell(rest)) need += room_->need(task, rank);
  plan_.for_each_input(rest.front(), [&](TaskId input) {
    for_next = for_next || input == transfer;
    if (timeline_.begin[input] == unknown) need += room_->need(input, rank);
  });
  return for_next ? 0 : need;
}

/// Whether the reader of a transfer stands directly before the action that reads it.
bool Stepwise::is_awaited(TaskId transfer) const {
  const Rank to = plan_.link(plan_.class_of(transfer).resource).to;
  if (index(to) >= plan_.ranks) return true;
  const Row& row = rows_[index(to)];
  const bool sends = conditions_.blocking_sends && row.unsent > 0;
  if (row.runs || sends || row.rest.empty()) return false;
  if (dispatcher_ != nullptr) return true;
  bool awaited = false;
  plan_.for_each_input(row.rest.front(),
                       [&](TaskId input) { awaited = awaited || input == transfer; });
  return awaited;
}

void Stepwise::started(TaskId transfer) {
  if (room_) room_->start(transfer);
  for_each_end(transfer, [&](std::uint32_t rank, bool sends) {
    ++rows_[rank].in_flight;
    ++(sends ? rows_[rank].sends : rows_[rank].receives);
    touched_.push_back(rank);
  });
}

std::span<const TaskId> Stepwise::first_cell(std::span<const TaskId> rest) const {
  std::size_t size = 1;
  while (size < rest.size() && plan_.class_of(rest[size]).follows_partner) ++size;
  return rest.first(size);
}

void Stepwise::look_at(std::uint32_t rank) {
  if (std::exchange(rows_[rank].dirty, true)) return;
  dirty_.push_back(rank);
}

void Stepwise::look_at_links(std::uint32_t rank) {
  for (const std::uint32_t link : links_of_[rank]) transfers_.reconsider(link);
}

/// Memory may have become free: the rank's own next cell comes first, then what it receives.
void Stepwise::freed(TaskId task) {
  if (!room_) return;
  room_->for_each_rank(task, [&](Rank rank) {
    look_at(index(rank));
    look_at_links(index(rank));
  });
}

/// Calls `visit(rank, sends)` for both ends of a transfer that are ranks.
template <class Visitor>
void Stepwise::for_each_end(TaskId transfer, Visitor visit) {
  const Link& link = plan_.link(plan_.class_of(transfer).resource);
  if (index(link.from) < plan_.ranks) visit(index(link.from), true);
  if (index(link.to) < plan_.ranks) visit(index(link.to), false);
}

Standstill Stepwise::standstill() const {
  Standstill halt{.time = now_, .stuck = {}};
  for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
    const Row& row = rows_[rank];
    if (!row.rest.empty()) halt.stuck.push_back({rank, row.rest.front(), needs_of(row)});
  }
  for (std::uint32_t link = 0; link < plan_.links.size(); ++link) {
    const TaskId transfer = transfers_.first_waiting(link);
    if (transfer == no_task) continue;
    const bool memory = room_ && !room_->fits({&transfer, 1});
    halt.stuck.push_back(
        {plan_.ranks + link, transfer,
         memory ? fmt::format("memory of {}", end_phrase(plan_.links[link].to))
                : fmt::format("{} to be ready to receive it", end_phrase(plan_.links[link].to))});
  }
  return halt;
}

/// What the next cell of a rank lacks.
std::string Stepwise::needs_of(const Row& row) const {
  const TaskId task = row.rest.front();
  TaskId missing = no_task;
  plan_.for_each_input(task, [&](TaskId input) {
    if (missing == no_task && !is_there(input)) missing = input;
  });
  if (missing != no_task) return task_text(plan_, missing);
  if (conditions_.blocking_sends && row.unsent > 0) return "what its rank has sent to leave";
  if (!room_) return "its policy to start it";
  const Rank rank{plan_.class_of(task).resource};
  return fmt::format("memory of rank {}: it takes {} bytes more, and {} of {} are held",
                     index(rank), room_->need(task, rank), room_->held(rank), room_->capacity());
}

}  // namespace

std::optional<Standstill> run_stepwise(const Plan& plan, const Costs& costs,
                                       const Conditions& conditions, Timeline& timeline,
                                       Dispatcher* dispatcher, std::vector<TaskId>* ran) {
  return Stepwise(plan, costs, conditions, timeline, dispatcher, ran).run();
}

}  // namespace penstock
