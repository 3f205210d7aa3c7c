#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "sim/base/fifo.hpp"
#include "sim/engines/event.hpp"
#include "sim/engines/resource_events.hpp"

namespace penstock {

/// Events in their order, in three lines: the one next event of each rank and link, arrivals, and
/// what fits neither.
class EventQueue {
 public:
  bool empty() const { return of_resources_.empty() && arrivals_.empty() && others_.empty(); }
  Time next_time() const { return next(first_line()).time(); }
  /// The next event, if there is one and it happens at `now`; it is taken out.
  std::optional<Event> pop_at(Time now) {
    if (empty()) return std::nullopt;
    const Line line = first_line();
    const Event event = next(line);
    if (event.time() != now) return std::nullopt;
    pop(line);
    return event;
  }
  /// Arrivals mostly come in order, as far behind the start of their transfers as each other.
  void push(Event event) {
    const bool in_order =
        event.kind() == EventKind::arrives && (arrivals_.empty() || arrivals_.back() < event);
    if (in_order) {
      arrivals_.push(event);
    } else {
      others_.push(event);
    }
  }
  /// What happens next to the rank or link `event.id()`, and not what was last said to.
  void set(Event event) { of_resources_.set(event); }

 private:
  enum class Line : std::uint8_t { of_resources, arrivals, others };

  Event next(Line line) const {
    if (line == Line::of_resources) return of_resources_.next();
    return line == Line::arrivals ? arrivals_.front() : others_.top();
  }
  void pop(Line line) {
    if (line == Line::of_resources) return of_resources_.pop();
    if (line == Line::arrivals) return arrivals_.pop();
    others_.pop();
  }
  /// The line whose next event is the first of all; there must be one.
  Line first_line() const {
    const bool arrives =
        !arrivals_.empty() && (of_resources_.empty() || arrivals_.front() < of_resources_.next());
    const Line first = arrives ? Line::arrivals : Line::of_resources;
    if (others_.empty()) return first;
    const bool alone = arrivals_.empty() && of_resources_.empty();
    return alone || others_.top() < next(first) ? Line::others : first;
  }

  ResourceEvents of_resources_;
  Fifo<Event> arrivals_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> others_;
};

}  // namespace penstock
