#include "sim/engines/transfers.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock {
namespace {

std::vector<double> capacities(const Network& network) {
  std::vector<double> all;
  for (const NetworkLink& link : network.links) all.push_back(link.bandwidth_bytes_per_s);
  return all;
}

std::vector<std::uint32_t> without_repetitions(std::vector<std::uint32_t> route) {
  std::sort(route.begin(), route.end());
  route.erase(std::unique(route.begin(), route.end()), route.end());
  return route;
}

}  // namespace

std::vector<bool> private_links(const Plan& plan, const Network& network) {
  std::vector<bool> is_private = plan.in_one_order;
  is_private.resize(plan.links.size(), false);
  std::vector<std::uint32_t> user(network.links.size(), UINT32_MAX);
  for (std::uint32_t link = 0; link < network.routes.size(); ++link) {
    for (const std::uint32_t physical : network.routes[link]) {
      if (user[physical] == UINT32_MAX) user[physical] = link;
      if (user[physical] != link) is_private[link] = is_private[user[physical]] = false;
    }
  }
  return is_private;
}

Transfers::Transfers(const Plan& plan, const Costs& costs, const Conditions& conditions,
                     Timeline& timeline, EventQueue& events, Ends ends)
    : plan_(plan),
      costs_(costs),
      timeline_(timeline),
      events_(events),
      slowdown_(conditions.transfer_slowdown),
      fifo_(conditions.network.sharing == Sharing::fifo),
      lines_(plan.links.size()),
      in_line_(fifo_ ? conditions.network.links.size() : 0),
      share_(capacities(conditions.network), static_cast<std::uint32_t>(plan.links.size())),
      arrival_order_(plan) {
  for (std::size_t link = 0; link < conditions.network.routes.size(); ++link) {
    Line& line = lines_[link];
    line.route = without_repetitions(conditions.network.routes[link]);
    line.full_rate = INFINITY;
    for (const std::uint32_t physical : line.route) {
      line.full_rate =
          std::min(line.full_rate, conditions.network.links[physical].bandwidth_bytes_per_s);
    }
  }
  if (ends == Ends::known_late || slowdown_ != 1 || conditions.blocking_sends) return;
  for (Line& line : lines_) line.has_certain_ends = line.route.empty();
}

std::uint32_t Transfers::line_of(TaskId transfer) const {
  return plan_.class_of(transfer).resource - plan_.ranks;
}

double Transfers::limit_of(const Line& line) const {
  return line.slowed ? line.full_rate / slowdown_ : line.full_rate;
}

TaskId Transfers::first_waiting(std::uint32_t link) const {
  return lines_[link].waiting.empty() ? no_task : lines_[link].waiting.front().transfer;
}

void Transfers::consider(std::uint32_t link) {
  if (lines_[link].to_consider || lines_[link].waiting.empty()) return;
  lines_[link].to_consider = true;
  to_consider_.push_back(link);
}

void Transfers::reconsider(std::uint32_t link) {
  lines_[link].gives_way = false;
  consider(link);
}

void Transfers::set_slowed(std::uint32_t link, bool slowed) {
  Line& line = lines_[link];
  if (line.slowed == slowed) return;
  line.slowed = slowed;
  if (line.active != no_task) to_slow_.push_back(link);
}

/// Queues ready transfers at their own link and, first come first served, at every physical one.
void Transfers::queue_up() {
  arrival_order_.sort(arrived_);
  for (const TaskId transfer : arrived_) queue_up(transfer);
  arrived_.clear();
}

void Transfers::queue_up(TaskId transfer) {
  const std::uint32_t link = line_of(transfer);
  lines_[link].waiting.push({transfer, came_++});
  if (fifo_) {
    for (const std::uint32_t physical : lines_[link].route) {
      in_line_[physical].push_back(transfer);
    }
  }
  consider(link);
}

/// Marks the next transfers over the physical links of a line.
void Transfers::consider_next(const Line& line) {
  if (!fifo_) return;
  for (const std::uint32_t physical : line.route) {
    for (const TaskId transfer : in_line_[physical]) {
      consider(line_of(transfer));
      if (!lines_[line_of(transfer)].gives_way) break;
    }
  }
}

/// Whether nothing is in the way that came before and insists on its turn.
bool Transfers::is_first(const Line& line, TaskId transfer) const {
  if (line.active != no_task) return false;
  if (!fifo_) return true;
  return std::all_of(line.route.begin(), line.route.end(), [&](std::uint32_t physical) {
    const auto first = std::find_if(
        in_line_[physical].begin(), in_line_[physical].end(),
        [&](TaskId other) { return other == transfer || !lines_[line_of(other)].gives_way; });
    return *first == transfer;
  });
}

void Transfers::settle(Time now, const Gate& gate) {
  queue_up();
  start_what_can(now, gate);
  for (const std::uint32_t link : to_slow_) {
    const Line& line = lines_[link];
    if (line.active == no_task) continue;
    if (shares_fairly(line)) {
      share_.set_limit(link, limit_of(line));
    } else {
      set_speed(link, line.slowed ? 1 / slowdown_ : 1, now);
    }
  }
  to_slow_.clear();
  for (const auto& [link, rate] : share_.solve()) {
    set_speed(link, rate / lines_[link].full_rate, now);
  }
}

/// First come first served, also when a rank can only send or receive a few at a time.
void Transfers::start_what_can(Time now, const Gate& gate) {
  while (!to_consider_.empty()) {
    considered_.clear();
    std::swap(considered_, to_consider_);
    std::sort(considered_.begin(), considered_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return lines_[a].waiting.front().number < lines_[b].waiting.front().number;
    });
    for (const std::uint32_t link : considered_) try_start(link, now, gate);
  }
}

void Transfers::try_start(std::uint32_t link, Time now, const Gate& gate) {
  Line& line = lines_[link];
  line.to_consider = false;
  if (line.free_at > now) return tell_when_free(link);
  const TaskId transfer = line.waiting.front().transfer;
  if (!is_first(line, transfer)) return;
  if (gate && !gate(transfer)) {
    if (!std::exchange(line.gives_way, true)) consider_next(line);
    return;
  }
  line.gives_way = false;
  line.waiting.pop();
  start(link, transfer, now);
}

void Transfers::start(std::uint32_t link, TaskId transfer, Time now) {
  Line& line = lines_[link];
  const Time duration = costs_.duration_of(plan_, transfer);
  timeline_.begin[transfer] = now;
  if (line.has_certain_ends && duration > Time{}) {
    return start_to_certain_end(link, transfer, now + duration);
  }
  line.active = transfer;
  line.left = static_cast<double>(duration.picoseconds);
  line.since = now;
  line.speed = 0;
  if (shares_fairly(line) && line.left > 0) {
    share_.start(link, line.route, limit_of(line));
  } else {
    set_speed(link, line.slowed ? 1 / slowdown_ : 1, now);
  }
}

/// That the link is free again is an event only where another transfer waits for it.
void Transfers::start_to_certain_end(std::uint32_t link, TaskId transfer, Time left) {
  Line& line = lines_[link];
  line.free_at = left;
  timeline_.end[transfer] = left + costs_.latency_of(plan_, transfer);
  events_.push({timeline_.end[transfer], EventKind::arrives, transfer});
  if (!line.waiting.empty()) tell_when_free(link);
}

void Transfers::set_speed(std::uint32_t link, double speed, Time now) {
  Line& line = lines_[link];
  if (speed == line.speed) return;
  line.left -= static_cast<double>((now - line.since).picoseconds) * line.speed;
  line.left = std::max(line.left, 0.0);
  line.since = now;
  line.speed = speed;
  const Time duration = costs_.duration_of(plan_, line.active);
  const Time alone = timeline_.begin[line.active] + duration;
  const bool undisturbed = now == timeline_.begin[line.active] && speed == 1;
  // Doubles do not know long times to the picosecond; still nobody is faster than alone.
  const Time left = undisturbed ? alone : std::max(alone, later(now, line.left / speed));
  events_.set({left, EventKind::leaves, link});
}

TaskId Transfers::leave(Event event) {
  Line& line = lines_[event.id()];
  const TaskId transfer = line.active;
  if (transfer == no_task) {
    consider(event.id());
    return no_task;
  }
  const Time duration = costs_.duration_of(plan_, transfer);
  timeline_.end[transfer] = event.time() + costs_.latency_of(plan_, transfer);
  timeline_.slowed[transfer] = event.time() - timeline_.begin[transfer] - duration;
  line.active = no_task;
  if (shares_fairly(line) && duration > Time{}) share_.stop(event.id());
  leave_lines(line, transfer);
  consider(event.id());
  return transfer;
}

/// Few transfers are ahead, usually none: those that give way.
void Transfers::leave_lines(const Line& line, TaskId transfer) {
  if (!fifo_) return;
  for (const std::uint32_t physical : line.route) {
    std::deque<TaskId>& queue = in_line_[physical];
    queue.erase(std::find(queue.begin(), queue.end(), transfer));
  }
  consider_next(line);
}

}  // namespace penstock
