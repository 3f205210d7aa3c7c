#include "sim/timeline/timeline.hpp"

#include <algorithm>

namespace penstock {

Time makespan(const Plan& /*plan*/, const Timeline& timeline) {
  if (timeline.end.empty()) return {};
  Time latest = timeline.end.front();
  for (const Time end : timeline.end) latest = std::max(latest, end);
  return latest;
}

}  // namespace penstock
