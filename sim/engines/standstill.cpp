#include "sim/engines/standstill.hpp"

#include <fmt/format.h>

#include "sim/base/short_text.hpp"

namespace penstock {

Standstill deadlock_at(Time time, const Plan& plan, const std::vector<Stuck>& stuck) {
  Standstill halt{.kind = "deadlock",
                  .time = time,
                  .text = fmt::format("deadlock: at {} ", short_time_text(time))};
  const std::uint32_t first = stuck.front().resource;
  if (!plan.is_link(first)) halt.rank = Rank{first};
  for (const Stuck& one : stuck) {
    halt.text += fmt::format("{}{} waits for {}", &one == &stuck.front() ? "" : "; ",
                             task_text(plan, one.task), one.needs);
  }
  return halt;
}

}  // namespace penstock
