#include <doctest/doctest.h>

#include "schedules/registry.hpp"
#include "sim/base/named.hpp"
#include "tests/support/gpu_recording.hpp"
#include "tests/support/system.hpp"
#include "validate/backends/registry.hpp"

namespace penstock::testing {
namespace {

/// 1F1B on four ranks, over links on which tensors queue.
Recording logical_recording() {
  const ScheduleEntry& entry = *find_named(schedule_entries(), "1f1b");
  const ScheduleOptions options{8, {}};
  System system{.placement = entry.place(4, usual_chunks(entry, options)),
                .schedule = {},
                .stages = {},
                .hardware = link(0.3, 2e9)};
  system.schedule = make_schedule(entry, system.placement, options);
  for (std::size_t s = 0; s < 4; ++s) {
    Layer stage = stage_of(1 + 0.25 * static_cast<double>(s % 3), 1, 1);
    stage.activation_bytes = 4096;
    system.stages.push_back(stage);
  }
  const Job job = penstock::job_of(priced(system));
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
