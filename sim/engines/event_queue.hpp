#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "sim/base/fifo.hpp"
#include "sim/base/time.hpp"
#include "sim/engines/leave_times.hpp"

namespace penstock {

/// Kinds of events, in processing order within a moment.
enum class EventKind : std::uint8_t {
  leaves,   // the last byte of a link's transfer has left
  arrives,  // a transfer has arrived
  ends,     // a rank has finished its cell
  ready,    // the inputs of a transfer have arrived
  wakes,    // a rank looks for work again
};

struct Event {
  Time time;
  EventKind kind;
  std::uint32_t id;         // a link, a task or a rank
  std::uint32_t stamp = 0;  // distinguishes valid from superseded events
};

/// Events by time; ties by kind, then number.
class EventQueue {
 public:
  bool empty() const { return heap_.empty() && arrivals_.empty() && leaves_.empty(); }
  Time next_time() const {
    if (leave_is_next()) return leaves_.next().time;
    return arrival_is_next() ? arrivals_.front().time : heap_.top().time;
  }
  Event next() const {
    if (leave_is_next()) return event_of(leaves_.next());
    return arrival_is_next() ? arrivals_.front() : heap_.top();
  }
  Event pop() {
    if (leave_is_next()) return event_of(leaves_.pop());
    const bool arrives = arrival_is_next();
    const Event event = arrives ? arrivals_.front() : heap_.top();
    if (arrives) {
      arrivals_.pop();
    } else {
      heap_.pop();
    }
    return event;
  }
  /// Arrivals mostly come in order, a latency after their leave events.
  void push(const Event& event) {
    const bool in_order =
        event.kind == EventKind::arrives && (arrivals_.empty() || Later()(event, arrivals_.back()));
    if (in_order) {
      arrivals_.push(event);
    } else {
      heap_.push(event);
    }
  }
  /// The transfer of a link leaves at `time`; replaces the previous time.
  void set_leave(std::uint32_t link, Time time) { leaves_.set(link, time); }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      if (a.time != b.time) return a.time > b.time;
      return a.kind != b.kind ? a.kind > b.kind : a.id > b.id;
    }
  };
  static Event event_of(const LeaveTimes::Leave& leave) {
    return {leave.time, EventKind::leaves, leave.link};
  }
  bool leave_is_next() const {
    if (leaves_.empty()) return false;
    const Time time = leaves_.next().time;
    return (heap_.empty() || time <= heap_.top().time) &&
           (arrivals_.empty() || time <= arrivals_.front().time);
  }
  bool arrival_is_next() const {
    return !arrivals_.empty() && (heap_.empty() || Later()(heap_.top(), arrivals_.front()));
  }

  std::priority_queue<Event, std::vector<Event>, Later> heap_;
  Fifo<Event> arrivals_;
  LeaveTimes leaves_;
};

}  // namespace penstock
