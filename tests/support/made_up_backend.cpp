#include "tests/support/made_up_backend.hpp"

#include <cmath>

#include "sim/engines/events.hpp"

namespace penstock::testing {

RunOutcome MadeUpBackend::run() {
  const Plan& plan = job_.priced.plan;
  std::vector<Time> taken = job_.priced.costs.duration;
  for (std::size_t work = 0; work < taken.size(); ++work) {
    const WorkClass& kind = plan.classes[work];
    if (plan.is_link(kind.resource)) continue;
    taken[work] = from_ns(std::llround(rule_(kind.pass, static_cast<double>(to_ns(taken[work])))));
  }
  return relax(profiled(job_, std::move(taken)));
}

}  // namespace penstock::testing
