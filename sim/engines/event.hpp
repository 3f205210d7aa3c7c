#pragma once

#include <cstdint>

#include "sim/base/time.hpp"

namespace penstock {

/// What can happen at a moment, in the order in which it is taken up.
enum class EventKind : std::uint8_t {
  leaves,   // the last byte of a link's transfer has left
  arrives,  // a transfer is there
  ends,     // a rank has done its cell
  ready,    // the inputs of a transfer are there
  wakes,    // a rank looks again for what it can start
};

/// Something that happens to a link, a task or a rank. Events go by time; those of one moment by
/// kind, then number.
class Event {
 public:
  Event(Time time, EventKind kind, std::uint32_t id)
      : time_(time), place_in_moment_(static_cast<std::uint64_t>(kind) << 32 | id) {}

  Time time() const { return time_; }
  EventKind kind() const { return static_cast<EventKind>(place_in_moment_ >> 32); }
  std::uint32_t id() const { return static_cast<std::uint32_t>(place_in_moment_); }

  friend bool operator<(Event a, Event b) {
    return a.time_ != b.time_ ? a.time_ < b.time_ : a.place_in_moment_ < b.place_in_moment_;
  }
  friend bool operator>(Event a, Event b) { return b < a; }

 private:
  Time time_;
  std::uint64_t place_in_moment_;  // one number, to be compared at once
};

}  // namespace penstock
