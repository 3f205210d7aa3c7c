#include "sim/transfers.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

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

/// The order in which transfers that are ready at one moment get in line: the parts of a cell as
/// listed, then the lower stage.
bool goes_first(const Plan& plan, TaskId a, TaskId b) {
  const auto key = [&](TaskId transfer) {
    const TaskId maker = plan.input[transfer];
    const bool second = maker < plan.tasks() && plan.class_of(maker).follows_partner;
    return std::tuple(second, plan.class_of(transfer).stage, transfer);
  };
  return key(a) < key(b);
}

}  // namespace

std::vector<bool> private_links(const Plan& plan, const Network& network) {
  std::vector<bool> is_private = links_in_one_order(plan);
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
  return lines_[link].waiting.empty() ? no_task : lines_[link].waiting.front();
}

void Transfers::consider(std::uint32_t link) {
  if (lines_[link].to_consider || lines_[link].waiting.empty()) return;
  lines_[link].to_consider = true;
  to_consider_.push_back(link);
}

void Transfers::reconsider(std::uint32_t link) { consider(link); }

void Transfers::set_slowed(std::uint32_t link, bool slowed) {
  Line& line = lines_[link];
  if (line.slowed == slowed) return;
  line.slowed = slowed;
  if (line.active != no_task) to_slow_.push_back(link);
}

/// Puts what has become ready in line, at its own link and, first come first served, at every
/// physical one.
void Transfers::queue_up() {
  std::sort(arrived_.begin(), arrived_.end(),
            [&](TaskId a, TaskId b) { return goes_first(plan_, a, b); });
  for (const TaskId transfer : arrived_) {
    const std::uint32_t link = line_of(transfer);
    lines_[link].waiting.push_back(transfer);
    if (fifo_) {
      for (const std::uint32_t physical : lines_[link].route) {
        in_line_[physical].push_back(transfer);
      }
    }
    consider(link);
  }
  arrived_.clear();
}

/// Whether nothing that came before is in the way.
bool Transfers::is_first(TaskId transfer) const {
  const Line& line = lines_[line_of(transfer)];
  if (line.active != no_task) return false;
  return !fifo_ || std::all_of(line.route.begin(), line.route.end(), [&](std::uint32_t physical) {
    return in_line_[physical].front() == transfer;
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

void Transfers::start_what_can(Time now, const Gate& gate) {
  std::sort(to_consider_.begin(), to_consider_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return goes_first(plan_, lines_[a].waiting.front(), lines_[b].waiting.front());
  });
  for (const std::uint32_t link : to_consider_) {
    Line& line = lines_[link];
    line.to_consider = false;
    const TaskId transfer = line.waiting.front();
    if (!is_first(transfer)) continue;
    if (gate.may_start && !gate.may_start(transfer)) continue;
    line.waiting.pop_front();
    start(transfer, now);
    if (gate.started) gate.started(transfer);
  }
  to_consider_.clear();
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
  const bool undisturbed = now == timeline_.begin[line.active] && speed == 1;
  const Time rest = undisturbed ? duration : Time{std::llrint(line.left / speed)};
  events_.push({now + rest, EventKind::leaves, link, ++line.stamp});
}

std::optional<TaskId> Transfers::leave(const Event& event) {
  Line& line = lines_[event.id];
  if (event.stamp != line.stamp || line.active == no_task) return std::nullopt;
  const TaskId transfer = line.active;
  const Time duration = costs_.duration_of(plan_, transfer);
  timeline_.end[transfer] = event.time + costs_.latency_of(plan_, transfer);
  timeline_.slowed[transfer] = event.time - timeline_.begin[transfer] - duration;
  line.active = no_task;
  if (shares_fairly(line) && duration > Time{}) share_.stop(event.id);
  if (fifo_) {
    for (const std::uint32_t physical : line.route) {
      in_line_[physical].pop_front();
      if (!in_line_[physical].empty()) consider(line_of(in_line_[physical].front()));
    }
  }
  consider(event.id);
  return transfer;
}

}  // namespace penstock
