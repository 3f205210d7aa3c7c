#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "sim/base/fifo.hpp"
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
  constexpr Event(Time time, EventKind kind, std::uint32_t id)
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

/// The next event of each rank and each link that has one: when its cell ends, or its transfer will
/// have left. These moments change whenever links are shared anew or cells slowed down, so each
/// has a place of its own to be changed in.
class ResourceEvents {
 public:
  bool empty() const { return heap_.empty(); }
  Event next() const { return heap_.front(); }
  void pop();
  /// What happens next to the link or rank `event.id()`, and not what was last said to.
  void set(Event event);

 private:
  void sift_up(std::uint32_t place, Event event);
  void sift_down(std::uint32_t place, Event event);
  void put(std::uint32_t place, Event event);

  std::vector<Event> heap_;
  std::vector<std::uint32_t> place_;  // by rank and link in turn: where its event is in the heap
};

/// Events in their order. Most come nearly in order, as far behind what causes them as each other:
/// a few queues, each in order by itself, hold them, and a heap what fits none. Those that may
/// still change have a place by rank and link.
class EventQueue {
 public:
  bool empty() const { return heads_[first_].time() == max_time; }
  Time next_time() const { return heads_[first_].time(); }
  /// The next event, if there is one and it happens at `now`; it is taken out.
  std::optional<Event> pop_at(Time now) {
    const Event event = heads_[first_];
    if (event.time() != now) return std::nullopt;
    pop(first_);
    return event;
  }
  /// Something that happens for certain, before `max_time`.
  void push(Event event) {
    for (std::size_t line = 0; line < queues_.size(); ++line) {
      Fifo<Event>& queue = queues_[line];
      if (!queue.empty() && !(queue.back() < event)) continue;
      queue.push(event);
      return set_head(line, queue.front());
    }
    others_.push(event);
    set_head(others, others_.top());
  }
  /// What happens next to the rank or link `event.id()`, and not what was last said to.
  void set(Event event) {
    of_resources_.set(event);
    set_head(of_resources, of_resources_.next());
  }

 private:
  static constexpr std::size_t others = 2;
  static constexpr std::size_t of_resources = 3;
  static constexpr Event nothing{max_time, EventKind::wakes, UINT32_MAX};

  void set_head(std::size_t line, Event head) {
    heads_[line] = head;
    find_first();
  }
  void find_first() {
    first_ = 0;
    for (std::size_t line = 1; line < heads_.size(); ++line) {
      if (heads_[line] < heads_[first_]) first_ = line;
    }
  }
  void pop(std::size_t line) {
    if (line == of_resources) {
      of_resources_.pop();
      return set_head(line, of_resources_.empty() ? nothing : of_resources_.next());
    }
    if (line == others) {
      others_.pop();
      return set_head(line, others_.empty() ? nothing : others_.top());
    }
    queues_[line].pop();
    set_head(line, queues_[line].empty() ? nothing : queues_[line].front());
  }

  std::array<Fifo<Event>, others> queues_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> others_;
  ResourceEvents of_resources_;
  std::array<Event, 4> heads_{nothing, nothing, nothing, nothing};
  std::size_t first_ = 0;  // the line whose head is the first of all
};

}  // namespace penstock
