#include "validate/job/replay.hpp"

#include <doctest/doctest.h>

#include "schedules/registry.hpp"
#include "sim/base/named.hpp"
#include "tests/support/jobs.hpp"
#include "validate/backends/registry.hpp"

namespace penstock::testing {
namespace {

/// 1F1B on four ranks, over links on which tensors queue.
Recording logical_recording() {
  const Job job = job_of(system_of(*find_named(schedule_entries(), "1f1b"), 4, 8));
  const auto backend = find_named(backend_entries(), "cpu_logical")->make(job);
  return {job.priced.plan, std::get<Timeline>(backend->run()), "1f1b"};
}

}  // namespace

TEST_CASE("replay: a recording of cpu_logical, written and read again, replays exactly") {
  const Recording recording = logical_recording();
  const std::string file = write_timeline(recording.plan, recording.timeline, recording.title);
  CHECK(replayed_structure_error(read_timeline(file)) == 0);
}

// Every task keeps its length; all but the first begin 10 % of the makespan later.
TEST_CASE("replay: time between actions that no rule explains is structure error") {
  Recording recording = logical_recording();
  const Time late = from_us(0.1 * to_us(makespan(recording.plan, recording.timeline)));
  for (TaskId task = 1; task < recording.plan.tasks(); ++task) {
    recording.timeline.begin[task] += late;
    recording.timeline.end[task] += late;
  }
  CHECK(replayed_structure_error(recording) == doctest::Approx(0.1 / 1.1).epsilon(1e-3));
}

}  // namespace penstock::testing
