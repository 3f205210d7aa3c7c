#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/show/explanation/explanation.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/idle_sums.hpp"
#include "tests/support/finished_run.hpp"
#include "tests/support/program.hpp"
#include "tests/support/says.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {
namespace {

/// f = 1, b = 2 on three ranks, transfers of 3 us of which 1 is latency: they queue on their links
/// and overlap by the latency.
RunResult queued_on_links() {
  System system{Placement::loop(3, 1),
                order_of("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n2F0,2B0,2F1,2B1"),
                {stage_of(1, 2), stage_of(1, 2), stage_of(1, 2)},
                link(1, 1e9)};
  for (Layer& stage : system.stages) stage.activation_bytes = 2000;
  return finished(system);
}

RunResult recorded(const RunResult& run) {
  return run_of_recording({*run.plan, run.timeline, "recorded"});
}

}  // namespace

TEST_CASE("a recorded run has the critical path and the gaps of the run itself") {
  const RunResult run = queued_on_links();
  const RunResult again = recorded(run);
  const Explanation expected = explain_times(run), read = explain_recorded(again);
  CHECK(tasks_of(again.report->critical_path) == tasks_of(run.report->critical_path));
  CHECK(again.report->makespan == run.report->makespan);
  REQUIRE(read.gaps.size() == expected.gaps.size());
  for (std::size_t i = 0; i < read.gaps.size(); ++i) {
    CHECK(read.gaps[i].begin == expected.gaps[i].begin);
    CHECK(read.gaps[i].causes.total() == expected.gaps[i].causes.total());
    CHECK(read.gaps[i].producer == expected.gaps[i].producer);
  }
  CHECK(time_of(read.idle, IdleCause::dependency) == time_of(expected.idle, IdleCause::dependency));
  CHECK(read.sensitivity.empty());
  CHECK(read.changes.empty());
  REQUIRE(read.notes.size() == 1);
  CHECK(says(explanation_text(again, read), "\nnotes\n1. gains "));
}

TEST_CASE("a recorded run that does not say which input came last is told by ends") {
  const RunResult run = queued_on_links();
  RunResult measured = run;
  measured.timeline.last_input.assign(run.plan->tasks(), no_task);
  const RunResult again = recorded(measured);
  CHECK(tasks_of(again.report->critical_path) == tasks_of(run.report->critical_path));
  CHECK(explain_recorded(again).notes.size() == 2);
}

TEST_CASE("a recorded run says that its contention may be waits for receivers") {
  const RunResult run = penstock::run(
      read_scenario(std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json",
                    {"/schedule/name=gpipe", "/hardware/bandwidth_bytes_per_s=4e9",
                     R"(/hardware/transfers={"rendezvous": true})"}));
  CHECK(explain_times(run).waits.contention == Time{});
  const Explanation read = explain_recorded(recorded(run));
  CHECK(read.waits.contention > Time{});
  REQUIRE(read.notes.size() == 2);
  CHECK(read.notes[0].starts_with("a recording does not say whether transfers wait"));
}

TEST_CASE("a recorded run does not blame links where replicas may wait for slower ones") {
  const RunResult run = penstock::run(parse_scenario(scenario_with_slow_replica, "s.json"));
  const std::string text = explanation_text(run, explain_recorded(recorded(run)));
  CHECK(says(text,
             "of the critical path: find out whether they wait for slower data replicas; if "
             "not, use faster links"));
}

TEST_SUITE("clock") {  // a validation passes on a machine that has nothing else to do
  TEST_CASE("explain: a timeline, simulated or measured, as text and as JSON") {
    const Desk desk;
    desk.file("s.json", scenario_plain);
    REQUIRE(desk.run({"run", "s.json", "--timeline", "s.timeline"}).code == 0);
    REQUIRE(desk.run({"validate", "s.json", "--backend", "cpu_logical", "--timeline", "m.timeline"})
                .code == 0);
    const auto of_scenario = desk.json_of({"explain", "s.json"});
    for (const char* file : {"s.timeline", "m.timeline"}) {
      CAPTURE(file);
      const ProgramRun text = desk.run({"explain", file});
      CHECK(text.code == 0);
      CHECK(says(text.output, "\ncritical path\n"));
      const auto json = desk.json_of({"explain", file});
      if (file == std::string_view("s.timeline")) {  // the other has the times of this machine
        CHECK(json["critical_path_by_stage"] == of_scenario["critical_path_by_stage"]);
        CHECK(json["idle_by_cause_us"] == of_scenario["idle_by_cause_us"]);
      }
      CHECK(json["notes"].size() == 1);
    }
  }
}

}  // namespace penstock::testing
