#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/engines/leave_times.hpp"

namespace penstock {

/// What can happen at a moment, in the order in which it is taken up.
enum class EventKind : std::uint8_t {
  leaves,   // the last byte of a link's transfer has left
  arrives,  // a transfer is there
  ends,     // a rank has done its cell
  ready,    // the inputs of a transfer are there
  wakes,    // a rank looks again for what it can start
};

struct Event {
  Time time;
  EventKind kind;
  std::uint32_t id;         // a link, a task or a rank
  std::uint32_t stamp = 0;  // tells an event that has been overtaken from the valid one
};

/// Events by time; those of one moment by kind, then number.
class EventQueue {
 public:
  bool empty() const { return heap_.empty() && leaves_.empty(); }
  Event next() const { return leave_is_next() ? event_of(leaves_.next()) : heap_.top(); }
  Event pop() {
    if (leave_is_next()) return event_of(leaves_.pop());
    const Event event = heap_.top();
    heap_.pop();
    return event;
  }
  void push(const Event& event) { heap_.push(event); }
  /// The transfer of a link leaves at `time`, and not when it was last said to.
  void set_leave(std::uint32_t link, Time time) { leaves_.set(link, time); }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return std::tie(a.time, a.kind, a.id) > std::tie(b.time, b.kind, b.id);
    }
  };
  static Event event_of(const LeaveTimes::Leave& leave) {
    return {leave.time, EventKind::leaves, leave.link};
  }
  bool leave_is_next() const {
    return !leaves_.empty() && (heap_.empty() || leaves_.next().time <= heap_.top().time);
  }

  std::priority_queue<Event, std::vector<Event>, Later> heap_;
  LeaveTimes leaves_;
};

}  // namespace penstock
