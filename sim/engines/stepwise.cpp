#include "sim/engines/stepwise.hpp"

#include <algorithm>
#include <utility>

#include "sim/engines/stepwise_run.hpp"

namespace penstock {

Stepwise::Stepwise(const Plan& plan, const Costs& costs, const Conditions& conditions,
                   Timeline& timeline, const Participants& participants)
    : plan_(plan),
      costs_(costs),
      conditions_(conditions),
      slows_(conditions.compute_slowdown != 1 || conditions.transfer_slowdown != 1),
      looks_always_(conditions.stall_above_bytes || conditions.rendezvous ||
                    participants.dispatcher != nullptr),
      timeline_(timeline),
      dispatcher_(participants.dispatcher),
      ran_(participants.ran),
      workers_(participants.workers),
      end_(timeline.end),
      orders_(resource_orders(plan)),
      readers_(plan),
      far_readers_(plan),
      rows_(plan.ranks),
      links_of_(plan.ranks),
      transfers_(plan, costs, conditions, timeline, events_, Transfers::Ends::known_early) {
  timeline.slowed.assign(plan.tasks(), Time{});
  if (conditions.stall_above_bytes) timeline.memory_wait.assign(plan.tasks(), Time{});
  if (dispatcher_ != nullptr) {
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
    // Memory for the whole run may already exceed the capacity.
    if (room_ && room_->held(Rank{rank}) > room_->capacity()) return standstill();
    look_at(rank);
  }
  for (const TaskId transfer : readers_.of_none()) {
    timeline_.last_input[transfer] = no_task;
    transfers_.ready(transfer);
  }
  if (!settle()) return standstill();
  while (!events_.empty()) {
    now_ = events_.next_time();
    while (const auto event = events_.pop_at(now_)) happen(*event);
    if (dispatcher_ != nullptr) {
      // All arrivals at this moment precede the choice of a policy.
      settle_transfers();
      if (!events_.empty() && events_.next_time() == now_) continue;
    }
    if (!settle()) return standstill();
  }
  const bool done = std::ranges::all_of(end_, [](Time end) { return end != unknown; });
  if (done) return std::nullopt;
  return standstill();
}

void Stepwise::happen(Event event) {
  switch (event.kind()) {
    case EventKind::leaves:
      if (const TaskId left = transfers_.leave(event); left != no_task) leave(left);
      return;
    case EventKind::arrives:
      return arrive(event.id());
    case EventKind::ends:
      return end_cell(event.id());
    case EventKind::ready:
      return;
    case EventKind::wakes:
      return look_at(event.id());
  }
}

void Stepwise::end_cell(std::uint32_t rank) {
  Row& row = rows_[rank];
  const std::span<const TaskId> cell = first_cell(row.rest);
  row.runs = false;
  row.free_at = now_;
  row.rest = row.rest.subspan(cell.size());
  row.issued += costs_.issue;
  if (slows_) {
    timeline_.slowed[cell.front()] = now_ - timeline_.begin[cell.front()] - row.length;
  }
  for (const TaskId task : cell) {
    end_[task] = now_;
    if (room_) room_->end(task);
    freed(task);
  }
  for (const TaskId task : cell) hand_over(task);
  look_at(rank);
  touch(rank);
}

/// The last byte of a transfer has left; it arrives a latency later.
void Stepwise::leave(TaskId transfer) {
  if (end_[transfer] > now_) {
    events_.push({end_[transfer], EventKind::arrives, transfer});
  } else {
    arrive(transfer);
  }
  const Pass pass = plan_.class_of(transfer).pass;
  const Rank from = plan_.link(plan_.class_of(transfer).resource).from;
  if (!conditions_.blocking_sends || !passes_on(pass)) return;
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
    // If there was a free slot, none of its other transfers waited for one.
    const bool full = (sends ? row.sends : row.receives)-- == conditions_.most_in_flight(sends);
    look_at_reader(rank, transfer);
    touch(rank);
    if (full) look_at_links(rank);
  });
  far_readers_.for_each_of(transfer, [&](std::uint32_t rank) { look_at_reader(rank, transfer); });
  freed(transfer);
  hand_over(transfer);
}

/// Queues the transfers for which a task was the last input.
void Stepwise::hand_over(TaskId task) {
  if (dispatcher_ != nullptr) dispatcher_->ended(task, now_);
  for (const TaskId transfer : readers_.of(task)) {
    const bool several = (plan_.input[transfer] & Plan::several) != 0;
    if (several && first_missing(transfer) != no_task) continue;
    timeline_.last_input[transfer] = task;
    transfers_.ready(transfer);
    if (conditions_.blocking_sends && passes_on(plan_.class_of(transfer).pass)) {
      ++rows_[plan_.class_of(task).resource].unsent;
    }
  }
}

/// Everything that happens at one moment is known before anything is decided. False: a worker ends
/// the run.
bool Stepwise::settle() {
  do {
    looked_at_.clear();
    std::swap(looked_at_, dirty_);
    std::ranges::sort(looked_at_);
    for (const std::uint32_t rank : looked_at_) {
      rows_[rank].dirty = false;
      try_start(rank);
    }
    slow_links();
    settle_transfers();
  } while (!dirty_.empty());
  if (!ask_workers()) return false;
  if (conditions_.compute_slowdown != 1) {
    for (const std::uint32_t rank : touched_) set_speed(rank);
  }
  touched_.clear();
  return true;
}

/// A rank that runs looks for what is next when its cell ends.
void Stepwise::look_at(std::uint32_t rank) {
  if (rows_[rank].runs || std::exchange(rows_[rank].dirty, true)) return;
  dirty_.push_back(rank);
}

/// A transfer has arrived that a rank may read.
void Stepwise::look_at_reader(std::uint32_t rank, TaskId transfer) {
  if (looks_always_ || rows_[rank].waits_for == transfer) look_at(rank);
}

void Stepwise::look_at_links(std::uint32_t rank) {
  for (const std::uint32_t link : links_of_[rank]) transfers_.reconsider(link);
}

/// Memory may have become free: the rank's next cell goes first, then its receives.
void Stepwise::freed(TaskId task) {
  if (!room_) return;
  room_->for_each_rank(task, [&](Rank rank) {
    look_at(index(rank));
    look_at_links(index(rank));
  });
}

void Stepwise::try_start(std::uint32_t rank) {
  Row& row = rows_[rank];
  if (row.runs || row.rest.empty()) return;
  if (conditions_.blocking_sends && row.unsent > 0) return;
  if (conditions_.rendezvous || room_) look_at_links(rank);  // they look at what comes next
  if (!is_launched(rank)) return;
  if (dispatcher_ == nullptr) {
    row.waits_for = first_missing(row.rest.front());
    if (row.waits_for != no_task) return;
  } else if (!choose(rank)) {
    return;
  }
  const std::span<const TaskId> cell = first_cell(row.rest);
  if (has_memory(row, cell)) start_cell(rank, cell);
}

/// Lets the dispatcher choose the next of a rank's remaining tasks.
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

/// The first input of a task that is not there, or no_task.
TaskId Stepwise::first_missing(TaskId task) const {
  for (const TaskId input : plan_.inputs_of(task)) {
    if (!is_there(input)) return input;
  }
  return no_task;
}

bool Stepwise::is_launched(std::uint32_t rank) {
  const Time launched = rows_[rank].issued + costs_.launch;
  if (launched <= now_) return true;
  events_.set({launched, EventKind::wakes, rank});
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
  row.runs = true;
  row.since = now_;
  row.speed = 1;
  touch(rank);
  if (workers_ == nullptr) return set_length(rank, costs_.duration_of(plan_, cell.front()));
  workers_->start(cell.front(), now_);
  started_.push_back(rank);
}

/// Of the cell that starts now.
void Stepwise::set_length(std::uint32_t rank, Time length) {
  Row& row = rows_[rank];
  row.length = length;
  row.left = static_cast<double>(length.picoseconds);
  set_end(rank, now_ + length);
}

/// Any of the cells that have started may be the next to end.
bool Stepwise::ask_workers() {
  for (const std::uint32_t rank : started_) {
    const auto length = workers_->took(rows_[rank].rest.front());
    if (!length) return false;
    set_length(rank, *length);
  }
  started_.clear();
  return true;
}

/// Ends never change where nothing slows cells down.
void Stepwise::set_end(std::uint32_t rank, Time end) {
  const Event event{end, EventKind::ends, rank};
  if (conditions_.compute_slowdown == 1) return events_.push(event);
  events_.set(event);
}

/// The input that arrived last, ties to the first; or a send of the rank itself if that delayed it
/// longer.
TaskId Stepwise::last_input(const Row& row, TaskId task) const {
  const TaskId last = last_input_of(plan_, end_, task);
  const bool held_up = row.sent_last != no_task && row.sent_at > row.free_at &&
                       (last == no_task || row.sent_at > end_[last]);
  return held_up ? row.sent_last : last;
}

/// The running cell is slower while a transfer of its rank is in flight.
void Stepwise::set_speed(std::uint32_t rank) {
  Row& row = rows_[rank];
  const double speed = row.in_flight > 0 ? 1 / conditions_.compute_slowdown : 1;
  if (!row.runs || speed == row.speed) return;
  row.left -= static_cast<double>((now_ - row.since).picoseconds) * row.speed;
  row.since = now_;
  row.speed = speed;
  set_end(rank, later(now_, std::max(row.left, 0.0) / speed));
}

std::span<const TaskId> Stepwise::first_cell(std::span<const TaskId> rest) const {
  std::size_t size = 1;
  if (plan_.followers.empty()) return rest.first(size);
  while (size < rest.size() && plan_.class_of(rest[size]).follows_partner) ++size;
  return rest.first(size);
}

namespace {

RunOutcome run_with(const PricedPlan& priced, Timeline reused, const Participants& participants) {
  prepare(priced.plan, reused);
  auto halt = Stepwise(priced.plan, priced.costs, priced.conditions, reused, participants).run();
  if (halt) return *std::move(halt);
  return reused;
}

}  // namespace

RunOutcome run_stepwise(const PricedPlan& priced, Timeline reused, Dispatcher* dispatcher,
                        std::vector<TaskId>* ran) {
  return run_with(priced, std::move(reused), {.dispatcher = dispatcher, .ran = ran});
}

RunOutcome run_stepwise(const PricedPlan& priced, Workers& workers) {
  return run_with(priced, {}, {.workers = &workers});
}

}  // namespace penstock
