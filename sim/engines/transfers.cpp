#include "sim/engines/transfers.hpp"

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
  std::ranges::sort(route);
  route.erase(std::unique(route.begin(), route.end()), route.end());
  return route;
}

/// What comes at one moment mostly comes in order.
template <class Items, class Less>
void sort_unless_sorted(Items& items, Less less) {
  if (!std::ranges::is_sorted(items, less)) std::ranges::sort(items, less);
}

constexpr std::uint64_t second_part = std::uint64_t{1} << 32;
constexpr std::uint64_t one_cell = std::uint64_t{1} << 33;

auto key_of(const Plan& plan, const WorkClass& work) {
  const Link& link = plan.link(work.resource);
  return std::tuple(is_tail(work.pass), work.stage, work.pass, link.from, link.to);
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

void ArrivalOrder::sort(std::vector<TaskId>& ready) {
  if (ready.size() < 2) return;
  if (place_of_class_.empty()) order_classes();
  arrivals_.clear();
  for (const TaskId transfer : ready) arrivals_.push_back(arrival_of(transfer));
  count_cells();
  // Numbers of tasks decide within one link alone: between links they are no more than the way a
  // plan was made.
  sort_unless_sorted(arrivals_, [](const Arrival& a, const Arrival& b) {
    return a.place != b.place ? a.place < b.place : a.transfer < b.transfer;
  });
  for (std::size_t i = 0; i < ready.size(); ++i) ready[i] = arrivals_[i].transfer;
}

/// Classes of equal keys share a place.
void ArrivalOrder::order_classes() {
  std::vector<std::uint32_t> order;
  for (std::uint32_t c = 0; c < plan_.classes.size(); ++c) {
    if (plan_.is_link(plan_.classes[c].resource)) order.push_back(c);
  }
  const auto key = [&](std::uint32_t c) { return key_of(plan_, plan_.classes[c]); };
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  place_of_class_.resize(plan_.classes.size());
  for (std::size_t i = 1; i < order.size(); ++i) {
    const bool shares = key(order[i - 1]) == key(order[i]);
    place_of_class_[order[i]] = place_of_class_[order[i - 1]] + (shares ? 0 : 1);
  }
}

ArrivalOrder::Arrival ArrivalOrder::arrival_of(TaskId transfer) const {
  const TaskId input = plan_.input[transfer];
  const std::uint32_t work = plan_.work[transfer];
  const std::uint64_t place = place_of_class_[work];
  if (plan_.classes[work].pass == Pass::reduce_early) return early_reduction(transfer, place);
  if (input >= plan_.tasks()) {
    return {plan_.classes[work].resource, transfer, input, transfer, place};
  }
  const WorkClass& maker = plan_.class_of(input);
  if (!maker.follows_partner) return {maker.resource, input, input, transfer, place};
  return {maker.resource, input, input - 1, transfer, second_part + place};
}

/// It belongs to the action behind its maker, so it follows what the maker itself sends.
ArrivalOrder::Arrival ArrivalOrder::early_reduction(TaskId transfer, std::uint64_t place) const {
  TaskId maker = transfer;
  plan_.for_each_input(transfer, [&](TaskId input) {
    if (!plan_.is_link(plan_.class_of(input).resource)) maker = input;
  });
  return {plan_.class_of(maker).resource, maker, transfer, transfer, place};
}

/// Adds to places how many cells of the same rank made something before.
void ArrivalOrder::count_cells() {
  sort_unless_sorted(arrivals_, [](const Arrival& a, const Arrival& b) {
    return std::tie(a.made_on, a.maker, a.transfer) < std::tie(b.made_on, b.maker, b.transfer);
  });
  std::uint64_t before = 0;
  for (std::size_t i = 1; i < arrivals_.size(); ++i) {
    if (arrivals_[i - 1].made_on != arrivals_[i].made_on) {
      before = 0;
    } else if (arrivals_[i - 1].cell != arrivals_[i].cell) {
      before += one_cell;
    }
    arrivals_[i].place += before;
  }
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
  return std::ranges::all_of(line.route, [&](std::uint32_t physical) {
    const auto first = std::ranges::find_if(in_line_[physical], [&](TaskId other) {
      return other == transfer || !lines_[line_of(other)].gives_way;
    });
    return *first == transfer;
  });
}

/// The first that came goes first.
void Transfers::sort_considered() {
  sort_unless_sorted(considered_, [&](std::uint32_t a, std::uint32_t b) {
    return lines_[a].waiting.front().number < lines_[b].waiting.front().number;
  });
}

void Transfers::share_anew(Time now) {
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
    queue.erase(std::ranges::find(queue, transfer));
  }
  consider_next(line);
}

}  // namespace penstock
