#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/jobs.hpp"
#include "validate/job/recorder.hpp"
#include "validate/job/run_errors.hpp"

namespace penstock::testing {
// Each plan is run for real, once for warming up and three times more. Simulated with the lengths
// that its own actions had, an iteration takes what it took, to the nanosecond: the clock of the
// threads and the simulator follow the same rules, each by itself.
TEST_CASE("cpu_logical: every schedule of the catalogue runs, with a structure error of zero") {
  for (const ScheduleEntry* entry : schedule_entries()) {
    for (const std::uint32_t ranks : {2U, 4U, 8U}) {
      CAPTURE(entry->name);
      CAPTURE(ranks);
      const Job job = job_of(system_of(*entry, ranks, 2 * ranks));
      REQUIRE_FALSE(cpu_logical().obstacle(job.priced));
      const auto backend = cpu_logical().make(job);
      const Measurement measured = measured_by(*backend, job, {.iterations = 3, .steady = 100});
      CHECK(measured.iterations.size() == 3);
      const RunErrors errors = run_errors(job, measured);
      CHECK(errors.structure == 0);
      CHECK(errors.measured > Time{});
    }
  }
}

// 0F0 makes 4096 bytes, which hold the link for 1 us at 4.096e9 bytes/s and arrive 2 us later: at
// scale k, 3k us after 0F0 ended. 0F1 ends before its transfer may start, or after.
TEST_CASE("cpu_logical: a tensor takes what the job says, behind the one before it on its link") {
  System system = two_stages("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
  system.hardware = link(2, 4.096e9);
  const Job job = job_of(system);
  const Timeline ran = logical_run(job);
  const auto span = [&](const char* text) {
    const TaskId task = task_of(job.priced.plan, text);
    return Span{ran.begin[task], ran.end[task]};
  };
  const Time held = from_ns(std::llround(1000 * job.scale));
  const Time latency = from_ns(std::llround(2000 * job.scale));
  CHECK(span("0F0").begin == Time{});
  CHECK(span("0F1").begin == span("0F0").end);
  CHECK(span("0SEND_F0").begin == span("0F0").end);
  CHECK(span("0SEND_F0").end == span("0F0").end + held + latency);
  CHECK(span("0SEND_F1").begin == std::max(span("0F1").end, span("0SEND_F0").begin + held));
  CHECK(span("1F0").begin == span("0SEND_F0").end);
  CHECK(span("1F1").begin == std::max(span("1F0").end, span("0SEND_F1").end));
}

// BPipe on 4 ranks with 8 microbatches: rank 0 puts out what rank 3 keeps for it.
TEST_CASE(
    "cpu_logical: the evicted activation starts to come back when it is asked for and all there") {
  const Job job = job_of(system_of("bpipe", 4, 8));
  const Timeline ran = logical_run(job);
  std::uint32_t returns = 0;
  for (TaskId task = 0; task < job.priced.plan.tasks(); ++task) {
    if (job.priced.plan.class_of(task).pass != Pass::send_loaded) continue;
    ++returns;
    std::uint32_t inputs = 0;
    job.priced.plan.for_each_input(task, [&](TaskId input) {
      ++inputs;
      CHECK(ran.begin[task] >= ran.end[input]);
    });
    CHECK(inputs == 2);
  }
  CHECK(returns > 0);
}

// F takes 1 us and B 2 us, scaled to 300 us on average. How exactly a shared machine keeps to that
// is no property of this program; that B is busy for longer is.
TEST_CASE("cpu_logical: an action is busy for longer when it is asked to") {
  const Job job = job_of(two_stages("0F0,0B0\n1F0,1B0\n"), {.mean_action_ns = 300'000});
  const auto backend = cpu_logical().make(job);
  const Measurement measured = measured_by(*backend, job, {.iterations = 9, .steady = 100});
  const std::uint32_t forward = job.priced.plan.work[task_of(job.priced.plan, "0F0")];
  const std::uint32_t backward = job.priced.plan.work[task_of(job.priced.plan, "0B0")];
  CHECK(std::abs(job.work_ns(backward) - 2 * job.work_ns(forward)) <= 1);
  CHECK(measured.profile[forward] > Time{});
  CHECK(measured.profile[backward] > measured.profile[forward]);
}

TEST_CASE("cpu_logical: too many ranks are in the way, and it says so") {
  CHECK_FALSE(cpu_logical().obstacle(priced(system_of("gpipe", 256, 1))));
  const auto many = cpu_logical().obstacle(priced(system_of("gpipe", 257, 1)));
  REQUIRE(many);
  CHECK(many->of_machine);
  CHECK(many->text == "257 ranks, one thread each; at most 256");
}

}  // namespace penstock::testing
