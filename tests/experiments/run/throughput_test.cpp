#include "experiments/run/throughput.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "experiments/run/run.hpp"

namespace penstock {
namespace {

/// Two networks and an attention on one rank; times do not matter.
RunResult small_run(const std::string& recompute, const std::string& schedule,
                    const std::vector<std::string>& settings = {}) {
  const std::string text = R"({
    "model": { "layers": [ { "kind": "mlp", "hidden": 64, "intermediate": 128, "repeat": 2 },
                           { "kind": "attention", "hidden": 64, "heads": 4, "flash": false } ],
               "sequence": 128, "microbatch": 2 },
    "hardware": { "name": "dgx-a100" },
    "parallel": { "pipeline": 1, "data": 2 },
    "recompute": { "mode": ")" +
                           recompute + R"(" }, "schedule": { "name": ")" + schedule +
                           R"(", "microbatches": 3 } })";
  return run(parse_scenario(text, "s.json", settings), {});
}

double seconds(const RunResult& result) { return to_us(result.report->makespan) * 1e-6; }

// 256 tokens. An mlp: 2 * 2 * 64 * 128 FLOPs a token. Attention: four products of 64 x 64, and
// 4 * 128 * 64 for the whole square of scores.
constexpr double mlps = 2 * 256 * 2 * 2 * 64 * 128;
constexpr double projections = 256 * 2 * 4 * 64 * 64;
constexpr double scores = 256 * 4 * 128 * 64;
constexpr double forward = mlps + projections + scores;
constexpr double peak = 312e12;

}  // namespace

TEST_CASE("samples and tokens are those of all data replicas") {
  const RunResult result = small_run("none", "1f1b");
  CHECK(result.throughput.samples_per_s == doctest::Approx(3 * 2 * 2 / seconds(result)));
  CHECK(*result.throughput.tokens_per_s == doctest::Approx(3 * 2 * 2 * 128 / seconds(result)));
}

TEST_CASE("utilisation counts the model's FLOPs three times, and what is made again once more") {
  for (const char* schedule : {"1f1b", "zb-h1"}) {
    CAPTURE(schedule);
    for (const auto& [mode, again] :
         {std::pair{"none", 0.0}, {"full", forward}, {"selective", scores}}) {
      CAPTURE(mode);
      const RunResult result = small_run(mode, schedule);
      const double possible = seconds(result) * peak;
      CHECK(*result.throughput.model_flops_utilization ==
            doctest::Approx(3 * 3 * forward / possible));
      CHECK(*result.throughput.hardware_flops_utilization ==
            doctest::Approx(3 * (3 * forward + again) / possible));
    }
  }
}

TEST_CASE("whatever is made again at a time, FLOPs count as often as they are run") {
  // Of three microbatches, except_last spares one. Stacks that stop early leave out the second
  // product of a network that is not the input of what is made again with it.
  constexpr double product = 2 * 256 * 128 * 64;
  struct Case {
    const char* recompute;
    const char* stack;
    double again;
  };
  for (const auto& [recompute, stack, again] :
       {Case{R"({"mode":"full","together":2})", "megatron-2024", 3 * forward},
        Case{R"({"mode":"full","unit":"stage"})", "megatron-2024", 3 * forward},
        Case{R"({"mode":"except_last"})", "megatron-2024", 2 * forward},
        Case{R"({"mode":"full"})", "fsdp-eager", 3 * (forward - 2 * product)},
        Case{R"({"mode":"full","together":2})", "fsdp-eager", 3 * (forward - product)},
        Case{R"({"mode":"full","unit":"stage"})", "fsdp-eager", 3 * forward},
        Case{R"({"mode":"selective","operators":["mlp"]})", "megatron-2024", 3 * mlps},
        Case{R"({"mode":"selective","operators":["mlp"]})", "fsdp-eager",
             3 * (mlps - 2 * product)}}) {
    CAPTURE(recompute);
    CAPTURE(stack);
    const RunResult result = small_run(
        "none", "1f1b",
        {std::string("/recompute=") + recompute, std::string("/hardware/stack=") + stack});
    CHECK(*result.throughput.hardware_flops_utilization ==
          doctest::Approx((9 * forward + again) / (seconds(result) * peak)));
  }
}

TEST_CASE("without a backward only the forward counts") {
  const RunResult result = small_run("none", "forward-only");
  CHECK(*result.throughput.model_flops_utilization ==
        doctest::Approx(3 * forward / (seconds(result) * peak)));
}

TEST_CASE("a model by times has no FLOPs and no tokens") {
  const Scenario scenario = parse_scenario(
      R"({ "model": { "stages": [ { "forward_us": 1, "backward_us": 2 } ] },
           "schedule": { "name": "1f1b", "microbatches": 4 } })",
      "s.json");
  const RunResult result = run(scenario, {});
  CHECK(result.throughput.samples_per_s == doctest::Approx(4 / 12e-6));
  CHECK_FALSE(result.throughput.tokens_per_s);
  CHECK_FALSE(result.throughput.model_flops_utilization);
}

}  // namespace penstock
