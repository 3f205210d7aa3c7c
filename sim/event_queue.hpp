#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "sim/time.hpp"

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
  bool empty() const { return heap_.empty(); }
  const Event& next() const { return heap_.top(); }
  void push(const Event& event) { heap_.push(event); }
  Event pop() {
    const Event event = heap_.top();
    heap_.pop();
    return event;
  }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return std::tie(a.time, a.kind, a.id) > std::tie(b.time, b.kind, b.id);
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> heap_;
};

}  // namespace penstock
