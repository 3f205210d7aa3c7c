#pragma once

#include <cstdint>
#include <vector>

#include "sim/engines/event.hpp"

namespace penstock {

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

}  // namespace penstock
