#include "tests/support/made_up_backend.hpp"

#include <cmath>

#include "sim/engines/relax.hpp"
#include "validate/job/run_errors.hpp"

namespace penstock::testing {

std::variant<Iteration, RunFault> MadeUpBackend::run() {
  std::vector<std::int64_t> taken = job_.work_ns;
  for (std::size_t work = 0; work < taken.size(); ++work) {
    const WorkClass& kind = job_.plan.classes[work];
    if (job_.plan.is_link(kind.resource)) continue;
    taken[work] = std::llround(rule_(kind.pass, static_cast<double>(taken[work])));
  }
  const Timeline timeline = relax({job_.plan, costs_of(job_, taken)});
  Iteration iteration;
  for (TaskId task = 0; task < job_.plan.tasks(); ++task) {
    iteration.push_back(
        {timeline.begin[task].picoseconds / 1000, timeline.end[task].picoseconds / 1000});
  }
  return iteration;
}

}  // namespace penstock::testing
