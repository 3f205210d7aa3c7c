#include "sim/engines/transfers.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
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

/// A ready transfer and its sort keys for queueing.
struct Arrival {
  std::uint32_t cells_before;  // of its rank that produced something at the same moment
  bool second_part;
  Stage stage;
  Pass pass;
  Link link;
  TaskId transfer;
  TaskId cell;

  friend bool operator<(const Arrival& a, const Arrival& b) { return a.key() < b.key(); }

 private:
  /// Task numbers decide within one link only: between links they just reflect how the plan was
  /// made.
  std::tuple<std::uint32_t, bool, bool, Stage, Pass, Rank, Rank, TaskId> key() const {
    return {cells_before, second_part, is_tail(pass), stage, pass, link.from, link.to, transfer};
  }
};

/// The queueing order of transfers that become ready at one moment: by the parts of a cell as
/// listed, those of the tail last, then by lower stage, then by lower ranks. Outputs of several
/// cells of a rank without duration keep their order.
std::vector<Arrival> in_order(const Plan& plan, std::vector<TaskId> ready) {
  const auto maker_or_self = [&](TaskId transfer) {
    const TaskId maker = plan.input[transfer];
    return maker < plan.tasks() ? maker : transfer;
  };
  // The producing rank; for a transfer with several inputs, its own link.
  const auto made_on = [&](TaskId transfer) {
    return plan.class_of(maker_or_self(transfer)).resource;
  };
  std::sort(ready.begin(), ready.end(), [&](TaskId a, TaskId b) {
    return std::tuple(made_on(a), maker_or_self(a), a) <
           std::tuple(made_on(b), maker_or_self(b), b);
  });
  std::vector<Arrival> arrivals;
  for (const TaskId transfer : ready) {
    const TaskId maker = plan.input[transfer];
    const bool second = maker < plan.tasks() && plan.class_of(maker).follows_partner;
    const TaskId cell = second ? maker - 1 : maker;
    std::uint32_t before = 0;
    if (!arrivals.empty() && made_on(arrivals.back().transfer) == made_on(transfer)) {
      before = arrivals.back().cells_before + (arrivals.back().cell == cell ? 0 : 1);
    }
    const WorkClass& work = plan.class_of(transfer);
    arrivals.push_back(
        {before, second, work.stage, work.pass, plan.link(work.resource), transfer, cell});
  }
  std::sort(arrivals.begin(), arrivals.end());
  return arrivals;
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
                     Timeline& timeline, EventQueue& events)
    : plan_(plan),
      costs_(costs),
      timeline_(timeline),
      events_(events),
      slowdown_(conditions.transfer_slowdown),
      fifo_(conditions.network.sharing == Sharing::fifo),
      lines_(plan.links.size()),
      in_line_(fifo_ ? conditions.network.links.size() : 0),
      share_(capacities(conditions.network), static_cast<std::uint32_t>(plan.links.size())) {
  for (std::size_t link = 0; link < conditions.network.routes.size(); ++link) {
    Line& line = lines_[link];
    line.route = without_repetitions(conditions.network.routes[link]);
    line.full_rate = INFINITY;
    for (const std::uint32_t physical : line.route) {
      line.full_rate =
          std::min(line.full_rate, conditions.network.links[physical].bandwidth_bytes_per_s);
    }
  }
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
  if (arrived_.size() == 1) {
    queue_up(arrived_.front());
  } else if (!arrived_.empty()) {
    for (const Arrival& arrival : in_order(plan_, arrived_)) queue_up(arrival.transfer);
  }
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

/// Whether no earlier transfer insists on its turn.
bool Transfers::is_first(TaskId transfer) const {
  const Line& line = lines_[line_of(transfer)];
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
  const TaskId transfer = line.waiting.front().transfer;
  if (!is_first(transfer)) return;
  if (gate.may_start && !gate.may_start(transfer)) {
    if (!std::exchange(line.gives_way, true)) consider_next(line);
    return;
  }
  line.gives_way = false;
  line.waiting.pop();
  start(transfer, now);
  if (gate.started) gate.started(transfer);
}

void Transfers::start(TaskId transfer, Time now) {
  const std::uint32_t link = line_of(transfer);
  Line& line = lines_[link];
  timeline_.begin[transfer] = now;
  line.active = transfer;
  line.left = static_cast<double>(costs_.duration_of(plan_, transfer).picoseconds);
  line.since = now;
  line.speed = 0;
  if (shares_fairly(line) && line.left > 0) {
    share_.start(link, line.route, limit_of(line));
  } else {
    set_speed(link, line.slowed ? 1 / slowdown_ : 1, now);
  }
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
  // Doubles do not hold long times to the picosecond; still no transfer is faster than without
  // contention.
  events_.set_leave(link, undisturbed ? alone : std::max(alone, later(now, line.left / speed)));
}

TaskId Transfers::leave(const Event& event) {
  Line& line = lines_[event.id];
  const TaskId transfer = line.active;
  const Time duration = costs_.duration_of(plan_, transfer);
  timeline_.end[transfer] = event.time + costs_.latency_of(plan_, transfer);
  timeline_.slowed[transfer] = event.time - timeline_.begin[transfer] - duration;
  line.active = no_task;
  if (shares_fairly(line) && duration > Time{}) share_.stop(event.id);
  leave_lines(line, transfer);
  consider(event.id);
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
