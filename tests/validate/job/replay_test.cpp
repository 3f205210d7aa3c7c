#include <doctest/doctest.h>

#include "tests/support/gpu_recording.hpp"
#include "tests/support/jobs.hpp"

namespace penstock::testing {

// 1F1B on four ranks, over links on which tensors queue. Every task keeps its length; all but the
// first begin 10 % of the makespan later.
TEST_CASE("replay: a recording replays exactly, and time that no rule explains is an error") {
  const Job job = job_of(system_of("1f1b", 4, 8));
  const Plan& plan = job.priced.plan;
  Recording recording = read_timeline(write_timeline(plan, logical_run(job), "1f1b"));
  CHECK(replayed_structure_error(recording) == 0);
  const Time late = from_us(0.1 * to_us(makespan(plan, recording.timeline)));
  for (TaskId task = 1; task < plan.tasks(); ++task) {
    recording.timeline.begin[task] += late;
    recording.timeline.end[task] += late;
  }
  CHECK(replayed_structure_error(recording) == doctest::Approx(0.1 / 1.1).epsilon(1e-3));
}

}  // namespace penstock::testing
