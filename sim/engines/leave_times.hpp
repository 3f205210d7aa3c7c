#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/time.hpp"

namespace penstock {

/// The leave time of each link's transfer in flight: a heap with changeable entries, since shares
/// change often.
class LeaveTimes {
 public:
  struct Leave {
    Time time;
    std::uint32_t link;
    friend auto operator<=>(const Leave&, const Leave&) = default;
  };

  bool empty() const { return heap_.empty(); }
  /// The first to leave; ties go to the lowest link.
  const Leave& next() const { return heap_.front(); }
  Leave pop();
  /// The transfer of a link leaves at `time`; replaces the previous time.
  void set(std::uint32_t link, Time time);

 private:
  void sift_up(std::uint32_t place);
  void sift_down(std::uint32_t place);
  void put(std::uint32_t place, const Leave& leave);

  std::vector<Leave> heap_;
  std::vector<std::uint32_t> place_;  // by link: its index in the heap
};

}  // namespace penstock
