#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/time.hpp"

namespace penstock {

/// When the transfer of each link will have left, where one is on its way; these moments change
/// whenever links are shared anew, so each has a place of its own to be changed in.
class LeaveTimes {
 public:
  struct Leave {
    Time time;
    std::uint32_t link;
    friend auto operator<=>(const Leave&, const Leave&) = default;
  };

  bool empty() const { return heap_.empty(); }
  /// The first to leave; of those that leave at one moment the lowest link.
  const Leave& next() const { return heap_.front(); }
  Leave pop();
  /// The transfer of a link leaves at `time`, and not when it was last said to.
  void set(std::uint32_t link, Time time);

 private:
  void sift_up(std::uint32_t place);
  void sift_down(std::uint32_t place);
  void put(std::uint32_t place, const Leave& leave);

  std::vector<Leave> heap_;
  std::vector<std::uint32_t> place_;  // by link: where it stands in the heap
};

}  // namespace penstock
