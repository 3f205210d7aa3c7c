#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/results/result_json.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {
namespace {

RunResult result_of(const std::vector<std::string>& settings = {}) {
  return run(parse_scenario(scenario_plain, "s.json", settings));
}

/// What of an expectation that run does not meet, "" when it meets all.
std::string unmet(const std::string& expect) {
  std::string text;
  for (const Finding& finding : unmet_expectations(expect, result_of())) {
    CHECK(finding.kind == "expectation");
    text += (text.empty() ? "" : " | ") + finding.text;
  }
  return text;
}

/// Why a scenario with an expectation is refused, or "accepted".
std::string refusal(const std::string& expect) {
  return refused_with<InputError>(
      [&] { parse_scenario(scenario_plain, "s.json", {"/expect=" + expect}); });
}

}  // namespace

TEST_CASE("the document of run --json has every key of its contract, in order") {
  const ordered_json document = result_json(result_of({"/hardware/transfer_us=1"}));
  const auto keys = [](const ordered_json& object) {
    std::vector<std::string> names;
    for (const auto& [key, value] : object.items()) names.push_back(key);
    return names;
  };
  using Names = std::vector<std::string>;
  for (const char* key : {"penstock", "schedule", "makespan_us", "bubble", "throughput", "ranks",
                          "links", "critical_path", "findings"}) {
    CAPTURE(key);
    CHECK(document.contains(key));
  }
  CHECK(document["penstock"] == 1);
  CHECK(document["schedule"] == "1f1b");
  CHECK(keys(document["bubble"]) == Names{"of_makespan", "over_ideal", "of_longest_span"});
  CHECK(keys(document["throughput"]) ==
        Names{"samples_per_s", "tokens_per_s", "tokens_per_s_per_device", "model_tflops_per_device",
              "model_flops_utilization", "hardware_flops_utilization"});
  CHECK(keys(document["layout"]) == Names{"devices", "pipeline", "chunks", "tensor", "data",
                                          "context", "expert", "expert_tensor", "microbatches",
                                          "global_batch"});
  const ordered_json& rank = document["ranks"][1];
  CHECK(keys(rank) == Names{"rank", "start_us", "end_us", "busy_us", "idle_us", "idle_by_cause_us",
                            "peak_activations", "peak_memory_bytes", "peak_memory_time_us",
                            "peak_memory_action", "memory_by_kind_bytes", "memory",
                            "weight_versions", "staleness"});
  CHECK(keys(rank["memory"]) == Names{"word", "peak_interval_bytes"});
  CHECK(keys(document["memory"]) ==
        Names{"word", "peak_interval_bytes", "capacity_bytes", "reserved_bytes"});
  CHECK(keys(rank["idle_by_cause_us"]) ==
        Names{"warmup", "drain", "dependency", "contention", "transfer", "memory", "launch"});
  CHECK(keys(rank["memory_by_kind_bytes"]) == Names{"parameters", "gradients", "optimizer", "stash",
                                                    "pending_weight", "receive", "versions",
                                                    "workspace", "context", "gathered"});
  CHECK(keys(document["critical_path"][0]) == Names{"rank", "action", "start_us", "end_us"});
  CHECK(keys(document["links"][0]) == Names{"from", "to", "transfers", "bytes", "busy_us"});
  CHECK(document["findings"].empty());
}

TEST_CASE("the kinds of memory of every bundled scenario add up to the peak of each rank") {
  std::uint64_t gathered = 0;
  for (const std::string& file : paths_in(PENSTOCK_ROOT "/experiments/scenarios", ".json")) {
    CAPTURE(file);
    const RunResult result = run(read_scenario(file));
    for (const RankReport& rank : result.report->ranks) {
      std::uint64_t sum = 0;
      const ordered_json kinds = memory_json(rank.memory.by_kind);
      for (const auto& [kind, bytes] : kinds.items()) sum += bytes.get<std::uint64_t>();
      CHECK(sum == rank.memory.bytes);
      gathered += kinds.at("gathered").get<std::uint64_t>();
    }
  }
  CHECK(gathered > 0);
}

TEST_CASE("the document tells what the run came to") {
  // Rank 1 starts at 1 and ends at 13. 4 microbatches in 15 us are 266,667 samples a second.
  const ordered_json document = result_json(result_of());
  CHECK(document["makespan_us"] == 15.0);
  CHECK(document["bubble"]["of_makespan"] == doctest::Approx(0.2));
  CHECK(document["bubble"]["over_ideal"] == doctest::Approx(0.25));
  CHECK(document["ranks"][1]["start_us"] == 1.0);
  CHECK(document["ranks"][1]["end_us"] == 13.0);
  CHECK(document["ranks"][1]["busy_us"] == 12.0);
  CHECK(document["ranks"][1]["idle_by_cause_us"]["warmup"] == 1.0);
  CHECK(document["ranks"][1]["idle_by_cause_us"]["drain"] == 2.0);
  CHECK(document["ranks"][0]["peak_activations"] == 2);
  CHECK(document["throughput"]["samples_per_s"] == doctest::Approx(4 / 15e-6));
  CHECK(document["critical_path"][0] ==
        ordered_json({{"rank", 0}, {"action", "0F0"}, {"start_us", 0.0}, {"end_us", 1.0}}));
}

TEST_CASE(
    "the title tells the schedule and its sizes, and the stages where they are not the ranks") {
  CHECK(result_of().title == "1f1b, 2 ranks, 4 microbatches");
  CHECK(result_of({"/schedule/microbatches=1", "/partition/stages=[[0,1]]"}).title ==
        "1f1b, 1 rank, 1 microbatch");
  CHECK(result_of({"/schedule/name=interleaved-1f1b", "/parallel/pipeline=1"}).title ==
        "interleaved-1f1b, 1 rank, 2 stages, 4 microbatches");
}

TEST_CASE("samples count per microbatch and per data replica") {
  const std::vector<std::string> settings{"/schedule/samples_per_microbatch=8", "/parallel/data=2"};
  CHECK(result_of(settings).throughput.samples_per_s == doctest::Approx(4 * 8 * 2 / 15e-6));
}

TEST_CASE("a deadlock has no makespan, and the circle as its finding") {
  const Scratch scratch;
  const std::string order = scratch.file("o.csv", "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
  const RunResult result = result_of({"/schedule={\"file\":\"" + order + "\"}"});
  const ordered_json document = result_json(result);
  CHECK(document["makespan_us"].is_null());
  REQUIRE(document["findings"].size() == 1);
  CHECK(document["findings"][0]["kind"] == "deadlock");
  CHECK(document["findings"][0]["rank"] == 0);
  CHECK(says(document["findings"][0]["text"].get<std::string>(), "0B0 of rank 0 waits for 1B0"));
  CHECK(unmet_expectations(R"({"makespan_us": null})", result).empty());
  CHECK(unmet_expectations(R"({"makespan_us": 15})", result).size() == 1);
}

TEST_CASE("a rank that holds more than its capacity is a finding of one line") {
  // 1f1b holds 2 activations of 10 bytes on rank 0 beside 5 of parameters: 25 from 1 us on.
  const RunResult result =
      result_of({"/model/stages/0/stash_bytes=10", "/model/stages/0/parameter_bytes=5",
                 "/memory/capacity_bytes=24"});
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings[0].kind == "out_of_memory");
  CHECK(result.findings[0].rank == Rank{0});
  CHECK(result.findings[0].time == Time{1'000'000});
  CHECK(result.findings[0].text == "rank 0 needs 25 B of 24 B: 1 B over from 1 µs on");
  CHECK(result_of({"/model/stages/0/stash_bytes=10", "/model/stages/0/parameter_bytes=5",
                   "/memory/capacity_bytes=25"})
            .findings.empty());
}

TEST_CASE("of several ranks out of memory the worst is the first finding") {
  const RunResult result =
      result_of({"/model/stages/0/parameter_bytes=30", "/model/stages/1/parameter_bytes=50",
                 "/memory/capacity_bytes=24"});
  REQUIRE(result.findings.size() == 2);
  CHECK(result.findings[0].rank == Rank{1});
  CHECK(result.findings[1].rank == Rank{0});
}

TEST_CASE("an expectation is met within a relative 1e-9, or within what it says") {
  CHECK(unmet("").empty());
  CHECK(unmet(R"({"makespan_us": 15})").empty());
  CHECK(unmet(R"({"makespan_us": 15.00000001})").empty());
  CHECK(unmet(R"({"makespan_us": 15.0000001})") ==
        "/makespan_us is 15.0, expected 15.0000001 within 1e-09");
  CHECK(unmet(R"({"makespan_us": {"value": 14, "within": 0.1}})").empty());
  CHECK(unmet(R"({"makespan_us": {"value": 13, "within": 0.1}})") ==
        "/makespan_us is 15.0, expected 13 within 0.1");
  CHECK(unmet(R"({"makespan_us": {"value": 15}})").empty());
  CHECK(unmet(R"({"makespan_us": null})") == "/makespan_us is 15.0, expected null within 1e-09");
}

TEST_CASE("an expectation is a name or a pointer into the document") {
  CHECK(unmet(R"({"/ranks/1/busy_us": 12, "/schedule": "1f1b", "/findings": []})").empty());
  CHECK(unmet(R"({"/ranks/1/busy_us": 11})") ==
        "/ranks/1/busy_us is 12.0, expected 11 within 1e-09");
  CHECK(unmet(R"({"/ranks/2/busy_us": 12})") == "/ranks/2/busy_us is not in the result");
  CHECK(unmet(R"({"makespan": 15})") == "/makespan is not in the result");
  CHECK(unmet(R"({"/ranks/x": 1})") == "/ranks/x is not in the result");
  CHECK(unmet(R"({"makespan_us": 1, "schedule": "gpipe"})") ==
        "/makespan_us is 15.0, expected 1 within 1e-09 | /schedule is \"1f1b\", expected \"gpipe\" "
        "within 1e-09");
}

TEST_CASE("an expectation that cannot be understood is wrong input") {
  CHECK(refusal(R"({"makespan_us": 15})") == "accepted");
  CHECK(refusal(R"({"makespan_us": "15 us"})") == "accepted");
  CHECK(refusal(R"({"makespan_us": "15 parsecs"})") ==
        "s.json: /expect/makespan_us: \"15 parsecs\" is not a time: give a number with one of the "
        "units ps, ns, us, µs, ms, s, min, h");
  CHECK(refusal(R"({"makespan_us": {"value": 15, "within": "a bit"}})") ==
        "s.json: /expect/makespan_us/within: \"a bit\" is not a number of "
        "at least 0 (relative tolerance)");
  CHECK(refusal(R"({"makespan_us": {"value": 15, "within": -1}})") ==
        "s.json: /expect/makespan_us/within: -1 is not a number of at least 0 "
        "(relative tolerance)");
  CHECK(refusal(R"({"makespan_us": {"value": 15, "within": 0.1, "x": 1}})") ==
        "s.json: /expect/makespan_us/x: unknown key \"x\"; known: value, within");
  CHECK(refusal(R"({"makespan_us": {"within": 0.1}})") ==
        "s.json: /expect/makespan_us/value: \"value\" is missing");
  CHECK(refusal(R"({"bubble": {"of_makespan": 0.2}})") == "accepted");
  CHECK(refusal(R"({"/ranks~": 1})") ==
        "s.json: /expect/~1ranks~0: \"/ranks~\" is no JSON pointer");
  CHECK(refusal(R"({"ranks/0/busy_us": 12})") ==
        "s.json: /expect/ranks~10~1busy_us: \"ranks/0/busy_us\" is no JSON pointer, which begins "
        "with \"/\"");
}

TEST_CASE("an index beyond all numbers is an expectation not met") {
  CHECK(unmet(R"({"/ranks/99999999999999999999": 1})") ==
        "/ranks/99999999999999999999 is not in the result");
}

}  // namespace penstock::testing
