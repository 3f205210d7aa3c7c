#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/measure/measured_runs/measured_run.hpp"
#include "experiments/measure/measured_runs/run_times.hpp"
#include "tests/support/program.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/traced_runs.hpp"

// Scenarios, profiles and JSON of traced runs, and traces that cannot be one.

namespace penstock::testing {

namespace {

/// A run of the scenario that is written of a measured one, with its profile.
RunResult run_from_profile(const MeasuredRun& measured) {
  const Scratch scratch;
  const MergedTimes merged = merged_times({measured});
  scratch.file("profile.json", profile_text({measured}, merged, 4));
  const ScenarioParts parts{.profile = "profile.json", .order = ""};
  const std::string path = scratch.file("scenario.json", scenario_text(measured, merged, parts, 4));
  CHECK(is_own_file(path));
  CHECK(is_own_file(scratch.path("profile.json")));
  return run(read_scenario(path));
}

}  // namespace

TEST_CASE("traces: numbers of stages and microbatches that cannot be are refused at once") {
  std::vector<std::vector<std::string>> traces{
      {"PP:999999999F0"}, {"PP:0F999999999"}, {"PP:65535F16777215"}, {}};
  for (int i = 0; i < 3000; ++i) traces.back().push_back(fmt::format("PP:{0}F{0}", i));
  const Scratch scratch;
  for (const std::vector<std::string>& names : traces) {
    CAPTURE(names.front());
    std::string events;
    for (const std::string& name : names) {
      events +=
          fmt::format(R"({}{{"ph":"X","cat":"user_annotation","name":"{}","ts":{}.5,"dur":0.1}})",
                      events.empty() ? "" : ",", name, events.size());
    }
    TraceReading reading{.files = {scratch.file("t.json", "{\"traceEvents\": [" + events + "]}")},
                         .patterns = {OpPattern("PP:{stage}{pass}{microbatch}")}};
    std::vector<std::string> notes;
    const std::string refusal = refused_with<InputError>(
        [&] { measured_run(read_rank_traces(reading, true, notes), {}, {}); });
    CHECK(says(refusal, "too few for all"));
  }
}

TEST_CASE("traces: annotations that match inside each other are refused") {
  const Scratch scratch;
  TraceReading reading{.files = {scratch.file("t.json", R"({"traceEvents": [
    {"ph":"X","cat":"user_annotation","name":"F 0","ts":1,"dur":5},
    {"ph":"X","cat":"user_annotation","name":"F 1","ts":2,"dur":1}]})")},
                       .patterns = {OpPattern("{pass} {microbatch}")}};
  std::vector<std::string> notes;
  const auto read = [&] { read_rank_traces(reading, true, notes); };
  CHECK_THROWS_WITH_AS(read(),
                       (reading.files[0] + ": the annotations \"F 0\" and \"F 1\" overlap and both "
                                           "match; a pattern that tells ops apart is needed")
                           .c_str(),
                       InputError);
}

TEST_CASE("traces: a scenario from the profile of a traced run takes as long as the run") {
  for (const char* schedule : {steady_order, R"({"name": "gpipe", "microbatches": 5})",
                               R"({"name": "zb-h1", "microbatches": 6})"}) {
    CAPTURE(schedule);
    std::string scenario = three_stages(schedule);
    if (says(scenario, "zb-h1")) {
      for (const char* us : {"6", "8", "10"}) {
        const std::string whole = fmt::format("\"backward_us\": {}", us);
        scenario.replace(
            scenario.find(whole), whole.size(),
            fmt::format("\"backward_input_us\": {}, \"backward_weight_us\": 1.001", us));
      }
    }
    const RunResult made = run_of(scenario);
    Traces traces({made}, {});
    const RunResult simulated = run_from_profile(traces.read());
    REQUIRE(simulated.report);
    CHECK(simulated.report->makespan == made.report->makespan);
    CHECK(plan_hash(*simulated.plan) == plan_hash(*made.plan));
  }
}

// Tensors that seem to be read before they could leave, since what a host takes behind an op is
// known to a few microseconds: less so over 2>1 than over the other links.
TEST_CASE("traces: a link that takes no time is not slow") {
  const RunResult made = run_of(three_stages(steady_order));
  const Plan& plan = *made.plan;
  std::vector<Time> behind(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t rank = plan.class_of(task).resource;
    if (!plan.is_link(rank)) behind[task] = from_us(rank == 2 ? 1 : 5);
  }
  const TransferTimes times = transfer_times(plan, {made.timeline}, {behind});
  CHECK(times.slow.empty());
  CHECK(times.typical_ns == 0);
}

// In the plan both parts of a cell wait for the gradient of 0B0; PyTorch runs 0F2 ahead of it.
TEST_CASE("traces: the first part of an overlap cell does not wait for the input of the second") {
  const Scratch scratch;
  const std::string order =
      scratch.file("o.csv", "0F0,0F1,(0F2;0B0)OVERLAP_F_B,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
  const RunResult made = run_of(fmt::format(
      R"({{"penstock": 1, "model": {{"stages": [{{"forward_us": 1, "backward_us": 2}},
         {{"forward_us": 1, "backward_us": 20}}]}},
         "hardware": {{"name": "ideal", "devices": 2, "transfer_us": 0.25}},
         "schedule": {{"file": "{}"}}}})",
      order));
  Timeline timeline = made.timeline;
  for (TaskId task = 0; task < made.plan->tasks(); ++task) {
    if (task_text(*made.plan, task) != "0F2") continue;
    timeline.begin[task] = from_us(2);
    timeline.end[task] = from_us(3);
  }
  const TransferTimes times = transfer_times(*made.plan, {timeline}, {});
  CHECK(times.clock_error_ns == 0);
  CHECK(times.typical_ns == 250);
}

// The slow link carries every gradient of ranks 0 and 1, so the typical tensor is one of the
// others.
TEST_CASE("traces: a scenario from the profile of a traced run keeps a slow link") {
  const RunResult made =
      run_of(three_stages(steady_order),
             {R"(/chance={"slow_links": [{"from": 1, "to": 0, "factor": 20}]})"});
  const MeasuredRun measured = Traces({made}, {}).read();
  CHECK(measured.transfer_us == 0.25);
  REQUIRE(measured.slow_links.size() == 1);
  CHECK(text(measured.slow_links.front().link) == "1>0");
  CHECK(measured.slow_links.front().us == 5);
  CHECK(says(measured_run_text(measured), "over the slow link 1>0 it takes 5 µs\n"));
  CHECK(measured_run_json(measured)["slow_links"].dump() == R"([{"link":"1>0","us":5.0}])");
  const RunResult simulated = run_from_profile(measured);
  REQUIRE(simulated.report);
  CHECK(simulated.report->makespan == made.report->makespan);
}

// Nobody waits for the second chunk's activations over the slow link, but for those of the first.
TEST_CASE("traces: a link is as slow for a stage that nobody waits for as for its others") {
  std::string stages;
  for (int s = 0; s < 8; ++s) {
    stages +=
        fmt::format(R"({}{{"forward_us": 500, "backward_us": 1000, "activation_bytes": 50000}})",
                    s == 0 ? "" : ",");
  }
  const std::string scenario = fmt::format(
      R"({{"penstock": 1, "model": {{"stages": [{}]}}, "parallel": {{"chunks": 2}},
         "hardware": {{"name": "ideal", "devices": 4, "bandwidth_bytes_per_s": 1e9}},
         "schedule": {{"name": "interleaved-1f1b", "microbatches": 8}}}})",
      stages);
  const RunResult made =
      run_of(scenario, {R"(/chance={"slow_links": [{"from": 0, "to": 1, "factor": 40}]})"});
  const MeasuredRun run = Traces({made, made, made}, {}).read();
  for (TaskId task = 0; task < made.plan->tasks(); ++task) {
    const WorkClass& work = made.plan->class_of(task);
    if (!made.plan->is_link(work.resource)) continue;
    CAPTURE(task_text(*made.plan, task));
    const bool slow = made.plan->link(work.resource) == Link{Rank{0}, Rank{1}};
    if (slow) CHECK(run.job.priced.costs.latency[made.plan->work[task]] == from_us(2000));
  }
  CHECK(run.slow_links.size() == 1);
  CHECK(run.transfer_us == 50);
}

// The files stand in folders apart: a scenario names others as they are seen from its own.
TEST_CASE("traces: the command writes a scenario that finds its profile and its order") {
  const RunResult made = run_of(three_stages(steady_order));
  Traces traces({made}, {});
  const Desk scratch;
  std::filesystem::create_directories(scratch.path("a/b"));
  std::filesystem::create_directories(scratch.path("c"));
  // An order that no rule makes: rank 2 runs its first two forwards before its first backward.
  const std::string order = scratch.file(
      "own.csv", "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1F1,1F2,1B0,1B1,1B2\n2F0,2F1,2B0,2F2,2B1,2B2\n");
  const RunResult own = run_of(three_stages(fmt::format(R"({{"file": "{}"}})", order)));
  Traces own_traces({own}, {});
  const auto command = [&](const std::vector<std::string>& files,
                           const std::vector<std::string>& more) {
    return scratch.run(with_words(with_words({"trace"}, files), more)).code;
  };
  const std::string scenario = scratch.path("a/b/s.json");
  const std::string profile = scratch.path("c/p.json");
  const std::vector<std::string> both{"--profile", profile, "--scenario", scenario};
  REQUIRE(command(traces.reading.files, both) == 0);
  CHECK(run(read_scenario(scenario)).report->makespan == made.report->makespan);
  const std::string folder = std::filesystem::path(traces.reading.files[0]).parent_path().string();
  const std::string inside = folder + "/s.json";  // which is no trace
  for (int i = 0; i < 2; ++i) {
    REQUIRE(command({folder}, {"--profile", folder + "/p.json", "--scenario", inside}) == 0);
  }
  CHECK(run(read_scenario(inside)).report->makespan == made.report->makespan);
  CHECK(command({scratch.path("a")}, {}) == 3);
  CHECK(command(own_traces.reading.files, both) == 2);
  const std::vector<std::string> also{"--write-order", scratch.path("c/o.csv"), "--force"};
  REQUIRE(command(own_traces.reading.files, with_words(both, also)) == 0);
  CHECK(run(read_scenario(scenario)).report->makespan == own.report->makespan);
}

TEST_CASE("traces: the JSON has what was found, by rank and by stage") {
  const RunResult made = run_of(three_stages(steady_order));
  Traces traces({made, made}, {});
  const auto document = measured_run_json(traces.read());
  CHECK(document["penstock"] == 1);
  CHECK(document["schedule"] == "1f1b");
  CHECK(document["microbatches"] == 6);
  CHECK(document["makespan_us"] == to_us(made.report->makespan));
  CHECK(document["structure_error"] == 0.0);
  CHECK(document["ranks"].size() == 3);
  CHECK(document["ranks"][1]["busy_us"] == 6 * 12.0);
  CHECK(document["ranks"][1]["ops"] == 12);
  CHECK(document["times"][0]["pass"] == "F");
  CHECK(document["times"][0]["median_us"] == 3.0);
}

}  // namespace penstock::testing
