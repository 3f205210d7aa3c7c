#include "sim/timeline/timeline.hpp"

#include <algorithm>

namespace penstock {

Time makespan(const Plan& /*plan*/, const Timeline& timeline) {
  return timeline.end.empty() ? Time{}
                              : *std::max_element(timeline.end.begin(), timeline.end.end());
}

}  // namespace penstock
