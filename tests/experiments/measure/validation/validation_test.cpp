#include "experiments/measure/validation/validation.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "tests/support/fake_gpu.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/small_scenarios.hpp"
#include "validate/backends/gpu/gpu_backend.hpp"

namespace penstock::testing {
namespace {

Validation validated(const std::vector<std::string>& settings = {}) {
  return validate(parse_scenario(scenario_with_link, "two.json", settings), cpu_logical(), {});
}

/// The same in real time: few iterations of short actions.
Validation validated_on(std::string_view backend, const std::vector<std::string>& settings = {}) {
  return validate(parse_scenario(scenario_with_link, "two.json", settings),
                  *find_named(backend_entries(), backend),
                  {.measuring = {.iterations = 3}, .action_us = 50});
}

GpuCalls fake_calls;  // of the stand-in for a GPU that is there while a test runs

Validation validated_on_fake_gpu(bool has_green_contexts) {
  FakeGpu gpu;
  gpu.has_green_contexts = has_green_contexts;
  fake_calls = gpu.calls();
  const BackendEntry entry{
      .name = "fake",
      .summary = "",
      .obstacle = [](const PricedPlan& priced) { return gpu_obstacle(priced, &fake_calls); },
      .make =
          [](const Job& job) {
            return make_gpu_backend(job, GpuOrdering::host_issued, fake_calls);
          },
      .length = gpu_job_length,
  };
  return validate(parse_scenario(scenario_with_link, "two.json", {}), entry, {});
}

Validation validated_in(std::uint32_t processes, std::string_view backend = "cpu_logical") {
  return validate(parse_scenario(scenario_with_link, "two.json", {}),
                  *find_named(backend_entries(), backend), {.processes = processes});
}

/// Why a scenario is not run, or "".
std::string validation_refusal(const std::vector<std::string>& settings) {
  return refused_with<UsageError>([&] { validated(settings); });
}

}  // namespace

// What the verdict is depends on how quiet the machine is; that it is the one that the errors call
// for, and that the structure is exact, does not. By the closed form of 1F1B, F F B F B on rank 1
// behind a first F and a transfer of 2 us: 1 + 2 + 6 + 2 + 2 = 13 us.
TEST_CASE("validation: a scenario is run for real, and its structure is exact") {
  const Validation result = validated();
  REQUIRE_FALSE(result.fault);
  CHECK(result.title == "1f1b, 2 ranks, 2 microbatches");
  CHECK(result.scenario == from_us(13));
  if (result.measured.iterations.empty()) return;
  CHECK(result.errors.structure == 0);
  CHECK(result.verdict == judge(result.errors, result.measured, result.targets));
  CHECK(to_us(result.errors.simulated) > to_us(result.scenario));
}

TEST_CASE("validation: ranks may be spread over processes, and the structure stays exact") {
  const Validation result = validated_in(2);
  REQUIRE_FALSE(result.fault);
  CHECK(result.scenario == from_us(13));
  if (result.measured.iterations.empty()) return;
  CHECK(result.errors.structure == 0);
  CHECK(result.typical.environment.at("processes") == "2");
  CHECK(result.typical.environment.at("links") == "TCP on loopback");
}

TEST_CASE("validation: more processes than ranks, or on a backend that has one, are refused") {
  CHECK_THROWS_WITH_AS(validated_in(3), "3 processes are too many for 2 ranks", UsageError);
  for (const char* name : {"cpu_realtime", "cuda_single"}) {
    CHECK_THROWS_WITH_AS(validated_in(2, name),
                         (std::string(name) + " does not run in several processes").c_str(),
                         UsageError);
  }
}

TEST_CASE("validation: the JSON has what the contract names, and nulls where nothing was clean") {
  Validation result = validated();
  const auto document = validation_json(result);
  CHECK(document["penstock"] == 1);
  CHECK(document["backend"] == "cpu_logical");
  CHECK(document["verdict"] == name(result.verdict));
  CHECK(document["iterations"] == result.measured.iterations.size());
  CHECK(document["findings"].empty());
  CHECK(document["links"] == "scenario");
  if (!result.measured.iterations.empty()) {
    CHECK(document["structure_error"] == 0.0);
    CHECK(document["profile_error"] == result.errors.profile);
    CHECK(document["retest_error"] == result.errors.retest);
    CHECK(document["measured_us"] == to_us(result.errors.measured));
    CHECK(document["simulated_us"] == to_us(result.errors.simulated));
    CHECK(document["bubble_error"].size() == 2);
    CHECK(document["environment"]["backend"] == "cpu_logical");
  }
  result.measured.iterations.clear();
  for (const char* key : {"structure_error", "profile_error", "retest_error", "measured_us"}) {
    CHECK(validation_json(result)[key].is_null());
  }
  result.torch = TorchNote{};
  CHECK(validation_json(result)["links"] == "machine");
}

TEST_CASE(
    "validation: what was measured is a timeline like any other, with where it was measured") {
  const Validation result = validated();
  if (result.measured.iterations.empty()) return;
  const Recording recording =
      read_timeline(write_timeline(result.job.priced.plan, result.typical, result.title));
  CHECK(plan_hash(recording.plan) == plan_hash(result.job.priced.plan));
  CHECK(recording.timeline.begin == result.typical.begin);
  CHECK(recording.timeline.end == result.typical.end);
  CHECK(recording.timeline.environment.at("backend") == "cpu_logical");
  CHECK(recording.timeline.environment.contains("time_scale"));
  // Both are scaled, so that they compare with each other and with a run.
  CHECK(result.simulated.environment.at("time_scale") ==
        result.typical.environment.at("time_scale"));
}

// 0B0 waits for 1B0, behind 1F1, which waits for 0F1, behind 0B0.
TEST_CASE("validation: an order that deadlocks is a finding, before anything is run") {
  const Scratch scratch;
  const std::string order = scratch.file("a.csv", "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n");
  const Validation result = validated({"/schedule={\"file\": \"" + order + "\"}"});
  REQUIRE(result.fault);
  const auto document = validation_json(result);
  CHECK(document["verdict"] == "fail");
  CHECK(document["structure_error"].is_null());
  CHECK(document["findings"][0]["kind"] == "deadlock");
  const std::string text = validation_text(result);
  CHECK(says(text, "on cpu_logical\nfinding: deadlock: "));
  CHECK(text.ends_with("\nverdict: fail\n"));
}

// A policy decides while it is simulated; two microbatches held at most give 1F1B.
TEST_CASE("validation: an order that a policy decided is run as it was decided") {
  const Validation result =
      validated({"/schedule={\"policy\": \"memory-bounded\", \"microbatches\": 2}"});
  REQUIRE_FALSE(result.fault);
  CHECK(result.scenario == from_us(13));
  if (!result.measured.iterations.empty()) CHECK(result.errors.structure == 0);
}

// The stand-in for a GPU takes exactly what it is asked to.
TEST_CASE(
    "validation: one GPU that keeps ranks apart passes, and the report says what that shows") {
  const Validation result = validated_on_fake_gpu(true);
  REQUIRE_FALSE(result.fault);
  CHECK(result.verdict == Verdict::pass);
  CHECK(result.errors.structure == 0);
  CHECK(validation_json(result)["why_no_score"] == "");
  const std::string text = validation_text(result);
  CHECK(says(text, "It does not validate NVLink"));
  CHECK(says(text, "verdict: pass"));
}

TEST_CASE("validation: a run that says nothing of errors is inconclusive, with the reason") {
  const Validation result = validated_on_fake_gpu(false);
  REQUIRE_FALSE(result.fault);
  CHECK(result.verdict == Verdict::inconclusive);
  const auto document = validation_json(result);
  CHECK(document["verdict"] == "inconclusive");
  CHECK(document["structure_error"].is_null());
  CHECK(document["profile_error"].is_null());
  CHECK(document["measured_us"].is_number());
  CHECK(document["why_no_score"] ==
        "ranks share all SMs (streams_unpartitioned): the driver has no green contexts");
  CHECK(document["environment"]["mode"] == "streams_unpartitioned");
  const std::string text = validation_text(result);
  CHECK(!says(text, "structure error"));
  CHECK(says(text, "no errors are reported: ranks share all SMs"));
}

TEST_CASE("validation: what a backend does not run is refused with the reason") {
  const char* slow = "/overheads={\"compute_slowdown_by_transfer\": 1.5}";
  const char* stalls = "/memory={\"capacity_bytes\": 1e9, \"policy\": \"stall\"}";
  CHECK_THROWS_WITH_AS(
      validated_on("cpu_timed", {slow}),
      "cpu_timed does not run actions that transfers slow down "
      "(/overheads/compute_slowdown_by_transfer); cpu_logical does, in one process",
      UsageError);
  CHECK_THROWS_WITH_AS(validated_on("cpu_timed", {stalls}),
                       "cpu_timed does not run ranks that wait for memory (/memory/policy); "
                       "cpu_logical does, in one process",
                       UsageError);
  for (const char* setting : {slow, stalls}) {
    const Validation result = validated({setting});
    REQUIRE_FALSE(result.fault);
    if (!result.measured.iterations.empty()) CHECK(result.errors.structure == 0);
  }
  CHECK(validation_refusal({"/model/stages=[{\"forward_us\": 0, \"backward_us\": 0}, "
                            "{\"forward_us\": 0, \"backward_us\": 0}]"}) ==
        "no action takes any time: nothing to measure");
}

// All that run here. The peaks are those of the measured iteration, counted from its actions and
// worked out from the effects of its plan; by time, both are the same run.
TEST_CASE("validation: ranks of the bundled scenarios hold at their peak what is simulated") {
  std::size_t checked = 0;
  for (const char* name : {"first_run", "small_transformer", "small_conditional_convolution",
                           "llama_8b_on_a_dgx_h100", "gpt_175b_on_dgx_a100"}) {
    CAPTURE(name);
    const std::string file = fmt::format("{}/experiments/scenarios/{}.json", PENSTOCK_ROOT, name);
    const Validation result =
        validate(read_scenario(file), cpu_logical(), {.measuring = {.iterations = 3}});
    REQUIRE_FALSE(result.fault);
    if (result.measured.iterations.empty()) continue;  // disturbed each time
    ++checked;
    CHECK(result.errors.structure == 0);
    REQUIRE(result.memory.size() == result.job.priced.plan.ranks);
    for (const HeldPeak& peak : held_peaks(result.job.priced, result.typical, result.typical)) {
      CHECK(peak.counted_bytes == peak.simulated_bytes);
      CHECK(peak.counted_bytes > 0);
    }
    CHECK(validation_json(result)["memory"].size() == result.memory.size());
  }
  CHECK(checked > 0);
}

// Beginnings follow from ends on cpu_timed, so that the structure is exact however noisy it is. Of
// three clean iterations eight cannot be wanted. Actions take 1.5 us on average: 50 are 33 times
// that.
TEST_CASE("validation: on cpu_timed the structure is exact too, and actions are no shorter") {
  const Validation result = validated_on("cpu_timed");
  REQUIRE_FALSE(result.fault);
  CHECK(result.job.scale == doctest::Approx(50 / 1.5));
  CHECK(result.verdict == judge(result.errors, result.measured, result.targets));
  CHECK(result.targets.wall_clock);
  if (result.measured.iterations.empty()) return;
  CHECK(result.measured.complete == (result.measured.iterations.size() == 3));
  CHECK(result.errors.structure == 0);
  CHECK(to_us(result.errors.measured) >= to_us(result.scenario) * result.job.scale);
  CHECK(result.typical.environment.contains("t_wake_us"));
}

TEST_CASE("validation: what was not clean is told, with how often and why") {
  Validation result;
  result.measured.tried = 80;
  result.measured.disturbed = {{"canary", 12}, {"preempted", 71}};
  CHECK(clean_text(result.measured) ==
        "0 clean iterations of 80; not clean: a core was slower or faster than usual 12, a rank "
        "had to leave its core 71");
  CHECK(validation_json(result)["disturbed"]["preempted"] == 71);
  result.measured.disturbed.clear();
  CHECK(clean_text(result.measured) == "0 clean iterations of 80");
}

// Four actions of 50 us, and both ways a latency of 4 s that is 33 times as long.
TEST_CASE("validation: real time that would pass for too long is refused with the reason") {
  CHECK_THROWS_WITH_AS(
      validated_on("cpu_timed", {"/hardware/latency_us=4e6"}),
      "cpu_timed does not run what takes 267 s of real time an iteration; 10 s are the most",
      UsageError);
}

TEST_CASE("validation: too many ranks are in the way of this machine, and it says so") {
  std::string stages = "/model/stages=[";
  for (int stage = 0; stage < 257; ++stage) {
    stages += std::string(stage > 0 ? "," : "") + "{\"forward_us\": 1, \"backward_us\": 2}";
  }
  CHECK_THROWS_WITH_AS(validated_on("cpu_realtime", {stages + "]", "/hardware/devices=257"}),
                       "cpu_realtime: 257 ranks, one thread each; at most 256", std::runtime_error);
}

TEST_CASE("held memory: the text names the rank that differs most, else the one that holds most") {
  CHECK(held_text({}) == "");
  CHECK(held_text({{0, 0, 0}}) == "");
  CHECK(held_text({{0, 1024, 1024}, {1, 3 << 20, 3 << 20}}) ==
        "memory at its peak: 3 MiB on rank 1, counted as simulated\n");
  CHECK(held_text({{0, 1024, 1023}, {1, 3 << 20, 3 << 20}}) ==
        "memory at its peak: 1 KiB counted on rank 0, 1023 B simulated (-1 bytes)\n");
}

TEST_CASE("held memory: the stash of encoded activations reads the same way") {
  const std::string text = coding_text({}, {{2, 512, 2048}});
  CHECK(text.ends_with(
      "stash at its peak: 512 B counted on rank 2, 2 KiB simulated (+1536 bytes)\n"));
}

}  // namespace penstock::testing
