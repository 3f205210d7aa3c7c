#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/run/changes/tried_changes.hpp"
#include "experiments/show/explanation/explanation.hpp"
#include "sim/base/error.hpp"
#include "sim/base/time.hpp"
#include "sim/base/time_sum.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/idle_sums.hpp"
#include "tests/support/finished_run.hpp"
#include "tests/support/says.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {
namespace {

using nlohmann::literals::operator""_json;

/// Two transfers of 3 us and a latency of 1 queue on a link, and rank 1 reads the second first.
/// Beside it, it has stages 2 and 3 of another copy of the model to run.
///   rank 0: 0F0 0-2, 0F1 2-4
///   link:   the output of 0F0 from 2, there at 6; that of 0F1 from 5, there at 9
///   rank 1: 2F2 0-2, 3F2 2-3, 6 idle (0F1 runs for 1, its output queues for 1, travels for 4),
///           1F1 9-10, 1F0 10-11
RunResult queued() {
  System system{Placement::given(2, {{Rank{0}}, {Rank{1}}, {Rank{1}}, {Rank{1}}},
                                 {{Stage{0}, Stage{1}}, {Stage{2}, Stage{3}}}),
                order_of("0F0,0F1\n2F2,3F2,1F1,1F0"),
                {stage_of(2, 0), stage_of(1, 0)},
                link(1, 1e9)};
  for (Layer& stage : system.stages) stage.activation_bytes = 3000;
  RunResult result = finished(system);
  result.title = "queued";
  result.layout.name = "queued.csv";
  return result;
}

}  // namespace

TEST_CASE("every gap of a contended run tells its causes and what it waited for, to the line") {
  const RunResult result = queued();
  CHECK(explanation_text(result, explain(result)) == R"(queued: 11 µs (times in µs)

critical path
from  to  length  where     what
   0   2       2  rank 0    0F0
   2   9       7  link 0>1  0SEND_F0 … 0SEND_F1 (2 actions)
   9  11       2  rank 1    1F1 … 1F0 (2 actions)

critical path by op
time   share  op                 count
   7  63.6 %  SEND_F of stage 0      2
   2  18.2 %  F of stage 0           1
   2  18.2 %  F of stage 1           2

gain from 1 % less time
what      on path  predicted   of run  simulated   of run
link 0>1        7       0.07  0.636 %       0.07  0.636 %
stage 0         2       0.02  0.182 %       0.02  0.182 %
stage 1         2       0.02  0.182 %       0.02  0.182 %

idle gaps, longest first: 13 in all
dependency 1, contention 1, transfer 4, drain 7
rank  from  to  length  causes                                  why
   0     4  11       7  drain 7                                 nothing left to do
   1     3   9       6  dependency 1, contention 1, transfer 4  1F1 waited for 0F1 on rank 0, through 0SEND_F1

what to change first
1. transfers take 63.6 % of the critical path: use faster links, smaller activations, or an order with a longer warm-up
2. warm-up and drain idle 31.8 % of all ranks' time: use more microbatches
3. rank 1 is busy 4.5 % of the run longer than the mean: move layers off it
4. waiting for actions of other ranks idles 4.5 % of all ranks' time; rank 1 waits longest, 1 µs: balance the stages, or use another order
5. contention idles 4.5 % of all ranks' time and takes 0.0 % of the critical path; link 0>1 is busy 54.5 % of the run: use more bandwidth there or smaller activations
)");
}

TEST_CASE("the JSON of a contended run has its path, its shares and its gaps, to the key") {
  const RunResult result = queued();
  const Explanation explanation = explain(result);
  const auto none = R"({"warmup": 0, "drain": 0, "dependency": 0, "contention": 0, "transfer": 0,
                        "memory": 0, "launch": 0})"_json;
  const auto causes = [&](const char* others) {
    nlohmann::json all = none;
    all.update(nlohmann::json::parse(others));
    return all;
  };
  // The share of the queued transfers, 7 us, leaves out the 1 us of latency in which both are under
  // way; the gap of rank 1 waits for the one that its action reads.
  nlohmann::json expected = R"({
    "penstock": 1, "title": "queued", "schedule": "queued.csv", "makespan_us": 11,
    "critical_path": [
      {"rank": 0, "action": "0F0", "start_us": 0, "end_us": 2},
      {"rank": 0, "action": "0SEND_F0", "start_us": 2, "end_us": 6},
      {"rank": 0, "action": "0SEND_F1", "start_us": 5, "end_us": 9},
      {"rank": 1, "action": "1F1", "start_us": 9, "end_us": 10},
      {"rank": 1, "action": "1F0", "start_us": 10, "end_us": 11}],
    "critical_path_by_stage": [
      {"pass": "SEND_F", "stage": 0, "time_us": 7, "count": 2},
      {"pass": "F", "stage": 0, "time_us": 2, "count": 1},
      {"pass": "F", "stage": 1, "time_us": 2, "count": 2}],
    "critical_path_memory_us": 0, "critical_path_launch_us": 0,
    "critical_path_contention_us": 0, "critical_path_slowdown_us": 0, "idle_us": 13,
    "gaps": [
      {"rank": 0, "start_us": 4, "end_us": 11, "next": null, "waits_for": null,
       "waits_for_rank": null, "transfer": null},
      {"rank": 1, "start_us": 3, "end_us": 9, "next": "1F1", "waits_for": "0F1",
       "waits_for_rank": 0, "transfer": "0SEND_F1"}],
    "findings": []})"_json;
  expected["now"] = R"({"makespan_us": 11, "draws": 1})"_json;
  expected["changes"] = nlohmann::json::array();
  expected["advice"] = explanation.advice;
  expected["notes"] = nlohmann::json::array();
  const auto document = nlohmann::json::parse(explanation_json(result, explanation).dump());
  // 1 % of the 7 us of both transfers.
  const auto share = document["sensitivity"][0]["predicted_share"];
  CHECK(share.get<double>() == doctest::Approx(0.07 / 11));
  nlohmann::json best = R"({"what": "link 0>1", "on_path_us": 7, "predicted_us": 0.07,
                            "rerun_us": 0.07})"_json;
  best["predicted_share"] = best["rerun_share"] = share;
  CHECK(document["sensitivity"][0] == best);
  CHECK(document["sensitivity"].size() == 5);
  expected["sensitivity"] = document["sensitivity"];
  expected["idle_by_cause_us"] =
      causes(R"({"drain": 7, "dependency": 1, "contention": 1, "transfer": 4})");
  expected["gaps"][0]["idle_by_cause_us"] = causes(R"({"drain": 7})");
  expected["gaps"][1]["idle_by_cause_us"] =
      causes(R"({"dependency": 1, "contention": 1, "transfer": 4})");
  CHECK(document == expected);
}

TEST_CASE("the JSON of a batch has the draws, the mean without changes, and each gain as printed") {
  const auto drawn = [](const std::vector<double>& draws_us, double mean_us) {
    TriedChange one{.makespan = from_us(mean_us)};
    for (const double us : draws_us) one.draws.push_back(from_us(us));
    return one;
  };
  const RunResult result = queued();
  Explanation explanation = explain_times(result);
  explanation.now = drawn({11, 12, 13}, 12);
  explanation.changes = {drawn({10, 10, 10}, 10)};
  const auto document = nlohmann::json::parse(explanation_json(result, explanation).dump());
  CHECK(document["makespan_us"] == 11);
  CHECK(document["now"] == R"({"makespan_us": 12, "draws": 3})"_json);
  const auto& change = document["changes"][0];
  CHECK(change["makespan_us"] == 10);
  CHECK(change["gain"].get<double>() == doctest::Approx(2.0 / 12));
  // The mean of 1, 2, 3 is 2, with a standard deviation of 1; t is 4.303 for three draws.
  const double half = 4.303 / std::sqrt(3.0);
  CHECK(change["gain_within"][0].get<double>() == doctest::Approx((2 - half) / 12).epsilon(1e-3));
  CHECK(change["gain_within"][1].get<double>() == doctest::Approx((2 + half) / 12).epsilon(1e-3));
  CHECK(says(explanation_text(result, explanation), "means of 3 draws, ±"));
}

TEST_CASE("a run dominated by launches is told so, in the path, in its gaps and in the advice") {
  // One rank, two actions of 1 us, issued every 4 us: 4-5 and 8-9. The path waits for 4 and 3.
  const RunResult result = run(parse_scenario(R"({
    "model":     { "stages": [ {"forward_us": 1, "backward_us": 1} ] },
    "schedule":  { "name": "1f1b", "microbatches": 1 },
    "overheads": { "issue_us": 4 } })",
                                              "s.json"));
  const Explanation explanation = explain(result);
  CHECK(to_us(explanation.waits.launch) == 7);
  CHECK(us_of(time_of(explanation.idle, IdleCause::launch)) == 3);
  CHECK(us_of(time_of(explanation.idle, IdleCause::warmup)) == 4);
  REQUIRE(!explanation.advice.empty());
  CHECK(explanation.advice[0] ==
        "the critical path waits for launches 77.8 % of the run: use fewer, longer actions or "
        "captured graphs");
  const std::string text = explanation_text(result, explanation);
  CHECK(says(text, "   7  77.8 %  waiting for launch\n"));
  CHECK(says(text, "launch 3   0B0 waited for its launch\n"));
  CHECK(explanation_json(result, explanation)["critical_path_launch_us"] == 7.0);
}

namespace {

/// The advice on two microbatches of equal stages, stated as such or as layers of two ranks.
std::vector<std::string> advice_on(const std::string& schedule, const std::string& parts,
                                   std::size_t count) {
  const nlohmann::json part{{"forward_us", 1}, {"backward_us", 2}};
  const nlohmann::json scenario{{"model", {{parts, std::vector<nlohmann::json>(count, part)}}},
                                {"hardware", {{"name", "ideal"}}},
                                {"parallel", {{"pipeline", 2}}},
                                {"schedule", {{"name", schedule}, {"microbatches", 2}}}};
  return explain(run(parse_scenario(scenario.dump(), "s.json"))).advice;
}

}  // namespace

// 1F1B: rank 0 runs its forwards at 0-1 and 1-2 and waits until 4 for its first backward, 4-6 and
// 7-9: 3 of 18 us, as much as rank 1 is idle in warm-up and drain. Naive: of 12 us, rank 0 waits
// for the passes of rank 1 at 1-4 and 7-10, and rank 1 for those of rank 0 at 4-7: 9 of 24 us.
TEST_CASE("waits for other ranks: what shortens them under the order at hand") {
  CHECK(advice_on("1f1b", "stages", 2) ==
        std::vector<std::string>{
            "warm-up and drain idle 16.7 % of all ranks' time: use more microbatches",
            "waiting for actions of other ranks idles 16.7 % of all ranks' time; rank 0 waits "
            "longest, 3 µs: use more microbatches or another order"});
  CHECK(advice_on("naive", "stages", 2).front() ==
        "waiting for actions of other ranks idles 37.5 % of all ranks' time; rank 0 waits "
        "longest, 6 µs: use another order");
}

TEST_CASE("more chunks per rank: only where the rule takes them and layers fill them") {
  const auto advises = [](const std::string& schedule, const std::string& parts,
                          std::size_t count) {
    const std::vector<std::string> advice = advice_on(schedule, parts, count);
    return std::ranges::any_of(
        advice, [](const std::string& one) { return one.ends_with("or more chunks per rank"); });
  };
  CHECK(advises("interleaved-1f1b", "layers", 6));
  CHECK(!advises("interleaved-1f1b", "layers", 4));  // two chunks of one layer on each rank
  CHECK(!advises("interleaved-1f1b", "stages", 4));
  CHECK(!advises("1f1b", "layers", 4));
}

TEST_CASE("a rank that is slower than the model says is named") {
  // Rank 1 takes 1.5 times as long as it should: 18 of 21 us, of which it loses a third.
  const auto advice = [&](const std::vector<std::string>& settings) {
    return explain(run(parse_scenario(scenario_plain, "s.json", settings))).advice;
  };
  const std::string slow =
      "actions of rank 1 take 1.5× their modelled time, those of the median rank 1×: find out what "
      "slows it down";
  const auto told = advice({"/chance={\"stragglers\": [{\"rank\": 1, \"factor\": 1.5}]}"});
  CHECK(std::count(told.begin(), told.end(), slow) == 1);
  // The same times, but as the model has them.
  const auto uneven = advice({"/model/stages/1={\"forward_us\": 1.5, \"backward_us\": 3}"});
  for (const std::string& one : uneven) CHECK(!says(one, "find out"));
}

TEST_CASE("a rank alone in its pipeline is slower than its modelled time, in the replica shown") {
  // The update ends last in the slow replica, which is busy for 12 us instead of 4.
  const Explanation explanation = explain(run(parse_scenario(R"({
    "model":     { "stages": [ {"forward_us": 1, "backward_us": 2, "parameter_bytes": 1} ] },
    "hardware":  { "name": "ideal", "devices": 3 },
    "parallel":  { "data": 3 },
    "overheads": { "optimizer_us": 1 },
    "schedule":  { "name": "1f1b", "microbatches": 1 },
    "chance":    { "stragglers": [ {"rank": 0, "factor": 3, "replica": 2} ] } })",
                                                             "s.json")));
  REQUIRE(!explanation.advice.empty());
  CHECK(explanation.advice.front() ==
        "actions of rank 0 of data replica 2 take 3× their modelled time: find out what slows it "
        "down");
  REQUIRE(explanation.notes.size() == 1);
  CHECK(says(explanation.notes[0], "the critical path is that of replica 2,"));
}

TEST_CASE("a wait for a slower data replica is named, and no link is blamed for it") {
  // Replica 0 comes to its reduction at 600 us, replica 1 at 1560: 61.5 % of the run.
  const Explanation explanation =
      explain(run(parse_scenario(scenario_with_slow_replica, "s.json")));
  const auto& advice = explanation.advice;
  CHECK(std::count(advice.begin(), advice.end(),
                   "gradient reduction and weight gathering wait for slower data replicas during "
                   "61.5 % of the critical path: find out what slows them down") == 1);
  for (const std::string& one : advice) CHECK(!says(one, "faster links"));
  REQUIRE(explanation.notes.size() == 1);
  CHECK(explanation.notes[0].starts_with("data replicas differ"));
}

TEST_CASE("of links that several pairs share, the busiest is named where transfers contend") {
  // Ranks 0 and 2 send 4,000 bytes to 1 and 3 at once, 1-9 instead of 1-5 us: 8 of 10 us of the
  // spine, which it fills, and half of that is contention. Each receiver waits for it before its
  // first action, which is its warm-up.
  const RunResult result = run(parse_scenario(R"({
    "model":     { "stages": [ {"forward_us": 1, "activation_bytes": 4000}, {"forward_us": 1} ] },
    "hardware":  { "name": "custom", "devices": 4,
                   "links":  [ {"name": "spine", "bandwidth_bytes_per_s": 1e9},
                               {"name": "rail", "bandwidth_bytes_per_s": 1e9} ],
                   "routes": { "0>1": ["rail", "spine"], "2>3": ["spine"] } },
    "partition": { "stages": [[0], [1]], "ranks": [[0, 2], [1, 3]] },
    "parallel":  { "pipeline": 4 },
    "schedule":  { "name": "forward-only", "microbatches": 2 } })",
                                              "s.json"));
  const Explanation explanation = explain(result);
  CHECK(to_us(explanation.waits.contention) == 4);
  const std::string told =
      "contention idles 0.0 % of all ranks' time and takes 40.0 % of the critical path; "
      "network link spine is 80.0 % utilised: use more bandwidth there or smaller activations";
  CHECK(std::count(explanation.advice.begin(), explanation.advice.end(), told) == 1);
  const std::string text = explanation_text(result, explanation);
  CHECK(says(text, "   1   9       8  link 0>1  0SEND_F0, of it contention 4\n"));
  CHECK(says(text, "   4  40.0 %  contention on links\n"));
  CHECK(explanation_json(result, explanation)["critical_path_contention_us"] == 4.0);
}

TEST_CASE("the rank that waits longest for memory is named, and what the path waited for it") {
  // Room for one tensor on rank 1: the second leaves its link 4 us after the first is read at 10.
  //   rank 1: 1F0 10-11, 8 idle (memory 0: the wait was over at 10; transfer 8), 1F1 19-20
  System system{Placement::loop(2, 1), order_of("0F0,0F1\n1F0,1F1"), {}, link(5, 1e9)};
  system.stages = {stage_of(1, 0), stage_of(1, 0)};
  system.stages[0].activation_bytes = 4000;
  const RunResult result = finished(system, {.stall_above_bytes = 4000});
  const Explanation explanation = explain(result);
  CHECK(to_us(explanation.waits.memory) == 5);
  const std::string told =
      "waiting for memory idles 0.0 % of all ranks' time and takes 25.0 % of the critical path";
  const auto is_told = [&](const std::string& advice) { return advice.starts_with(told); };
  CHECK(std::count_if(explanation.advice.begin(), explanation.advice.end(), is_told) == 1);
  CHECK(explanation_json(result, explanation)["critical_path_memory_us"] == 5.0);
}

TEST_CASE("a rank that evicts too slowly is told how long it waits for memory") {
  // f = 1, b = 2, room for one activation: 0E0 takes until 5 to leave, and 0F1 waits from 1 on;
  // 0B0 waits for its activation to come back, 8-12. 14 us in all.
  System system{Placement::loop(1, 1), order_of("0F0,0F1,0B1,0B0"), {stage_of(1, 2)}, link(0, 1e9)};
  system.stages.front().stash_bytes = 4000;
  auto& row = system.schedule.on(Rank{0});
  row.insert(row.begin() + 3, Action(Pass::load, Stage{0}, Microbatch{0}));
  row.insert(row.begin() + 1, Action(Pass::evict, Stage{0}, Microbatch{0}));
  const RunResult result = finished(system, {.stall_above_bytes = 4000});
  const Explanation explanation = explain(result);
  const std::string told =
      "waiting for memory idles 28.6 % of all ranks' time and takes 28.6 % of the critical path; "
      "rank 0 waits longest, 4 µs: use recomputation or hold fewer activations";
  CHECK(std::count(explanation.advice.begin(), explanation.advice.end(), told) == 1);
  const std::string text = explanation_text(result, explanation);
  CHECK(says(text, "memory 4    0F1 waited for memory\n"));
  CHECK(says(text, "   4  28.6 %  waiting for memory\n"));
}

TEST_CASE("a rank that waits for what it sends is told so") {
  // F takes 1 us, a transfer 4: with blocking sends 0F1 starts at 5.
  const RunResult result = run(parse_scenario(R"({
    "model":    { "stages": [ {"forward_us": 1, "activation_bytes": 4000}, {"forward_us": 1} ] },
    "hardware": { "latency_us": 0, "bandwidth_bytes_per_s": 1e9, "transfers": {"blocking": true} },
    "schedule": { "name": "forward-only", "microbatches": 2 } })",
                                              "s.json"));
  CHECK(says(explanation_text(result, explain(result)),
             "transfer 4  0F1 waited for its own 0SEND_F0 to leave\n"));
}

TEST_CASE("a change with which the run comes to a halt has no gain") {
  const RunResult result = queued();
  Explanation explanation = explain(result);
  explanation.sensitivity.front().gain.reset();
  CHECK(says(explanation_text(result, explanation),
             "link 0>1        7       0.07  0.636 %   deadlock\n"));
  const auto document = explanation_json(result, explanation);
  CHECK(document["sensitivity"][0]["rerun_us"].is_null());
  CHECK(document["sensitivity"][0]["rerun_share"].is_null());
}

TEST_CASE("idle time of all ranks may exceed the clock: it adds up, and is advised against") {
  const RunResult result = run(parse_scenario(scenario_idle_beyond_clock(), "s.json"));
  const Explanation explanation = explain(result);
  // 11 of 12 ranks for 1e12 us, 1.1e19 ps; the clock ends at 9.2e18.
  CHECK(us_of(explanation.idle.total()) == 1.1e13);
  CHECK(explanation_json(result, explanation)["idle_by_cause_us"]["warmup"] == 1.1e13);
  CHECK(explanation_text(result, explanation)
            .find("idle gaps, longest first: 11000000 in all\nwarm-up 11000000\n") !=
        std::string::npos);
  const auto ends = std::ranges::find_if(explanation.advice, [](const std::string& line) {
    return line.starts_with("warm-up and drain idle 91.7 % of all ranks' time");
  });
  CHECK(ends != explanation.advice.end());
}

}  // namespace penstock::testing
