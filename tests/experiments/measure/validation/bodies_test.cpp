#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/measure/validation/validation.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "tests/support/fake_gpu.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/small_scenarios.hpp"
#include "validate/backends/gpu/gpu_backend.hpp"

// What actions do in a run: a model's layers, or busy kernels.

namespace penstock::testing {
namespace {

Validation with_layers(const std::string& text, const std::vector<std::string>& settings = {},
                       const ValidationOptions& options = {}) {
  return validate(parse_scenario(text, "small.json", settings), cpu_logical(), options);
}

}  // namespace

TEST_CASE("validation: without a rule or numbers there is nothing to hold against each other") {
  Layout layout =
      settle(parse_scenario(scenario_two_mlps, "small.json", {"/schedule/name=pipedream"}));
  const auto why_not = [&](const std::optional<TrainedNumbers>& numbers) {
    const NumbersCheck check = check_numbers(layout, layout.schedule, {}, numbers);
    CHECK_FALSE(check.error);
    return check.why_not;
  };
  CHECK(why_not(std::nullopt) == "they were not collected");
  layout.rule = nullptr;  // an order of my own
  CHECK(why_not(TrainedNumbers{}) == "no rule states which weights this order uses");
}

TEST_CASE("validation: numbers that are off fail, whatever the times say") {
  Validation result = with_layers(scenario_two_mlps);
  result.numbers.error = 1e-9;
  CHECK(says(validation_text(result), "step: not those of the unpartitioned model"));
  result.numbers.error = HUGE_VAL;
  CHECK(validation_json(result)["numbers_error"].is_null());
}

TEST_CASE("validation: where layers are not run it says why, and runs busy kernels") {
  const auto reason = [](const std::string& model, const std::vector<std::string>& settings = {}) {
    const Validation result = with_layers(model, settings);
    CHECK_FALSE(result.job.layers);
    CHECK(validation_json(result)["bodies"] == "busy");
    return result.why_busy;
  };
  CHECK(with_layers(scenario_with_link).why_busy == "the model states times, not kinds of layers");
  CHECK(
      reason(scenario_two_mlps, {R"(/model/layers/0={"kind": "attention", "hidden": 4, "heads": 2,
                                "causal": 0, "window": 2})"}) ==
      "there are no kernels for some layers of kind \"attention\": \"window\" without \"causal\": "
      "the attention kernel only attends backwards");
  CHECK(reason(scenario_two_mlps, {"/model/layers/0/intermediate=10000000"}) ==
        "an iteration has 3.84e+09 FLOP; 2e+09 are the most");
  // 4e7 weights five times: as they are, two versions more, and gradients twice.
  CHECK(reason(scenario_two_mlps, {"/model/layers/0={\"kind\": \"embedding\", \"vocab\": 10000000, "
                                   "\"hidden\": 4}"}) ==
        "an iteration holds up to 1.6e+09 bytes in doubles; 1.07e+09 are the most");
}

TEST_CASE(
    "validation: a model that states times has no layers to run, whatever else is asked for") {
  const char* const times = "the model states times, not kinds of layers";
  const char* const chance = "/chance/jitter=0.01";
  CHECK(with_layers(scenario_with_link, {chance}).why_busy == times);
  CHECK(with_layers(scenario_two_mlps, {chance}).why_busy ==
        "layers take the time that they take, whatever chance says");
  const auto with_length = [](const std::string& text) {
    return with_layers(text, {}, {.action_us = 20}).why_busy;
  };
  CHECK(with_length(scenario_with_link) == times);
  CHECK(with_length(scenario_two_mlps) == "layers take the time that they take, not --action-us");
}

TEST_CASE("validation: actions of a backend that sleeps are called so") {
  const Validation result = validate(parse_scenario(scenario_two_mlps, "small.json", {}),
                                     *find_named(backend_entries(), "cpu_timed"),
                                     {.measuring = {.iterations = 3}, .action_us = 100});
  CHECK(validation_json(result)["bodies"] == "sleep");
  CHECK(says(validation_text(result), "actions: sleep; cpu_timed runs no layers\n"));
}

TEST_CASE("validation: layers that are asked for and not run are a usage error") {
  ValidationOptions options{.bodies = Bodies::layers};
  CHECK_THROWS_WITH_AS(with_layers(scenario_with_link, {}, options),
                       "--bodies layers: the model states times, not kinds of layers", UsageError);
  options.bodies = Bodies::busy;
  const Validation busy = with_layers(scenario_two_mlps, {}, options);
  CHECK(busy.why_busy == "that is what --bodies busy asks for");
  CHECK_FALSE(busy.job.layers);
}

const char* const small_transformers = R"({
  "penstock": 1,
  "model": { "sequence": 8, "microbatch": 2, "layers": [
    { "name": "embedding", "kind": "embedding", "vocab": 32, "hidden": 128, "even": false },
    { "name": "block", "repeat": 3, "parts": [
      { "kind": "norm", "hidden": 128 },
      { "kind": "attention", "hidden": 128, "heads": 1 },
      { "kind": "norm", "hidden": 128 },
      { "kind": "mlp", "hidden": 128, "intermediate": 64, "gated": true } ] },
    { "name": "head", "kind": "head", "hidden": 128, "vocab": 32, "even": false } ] },
  "hardware": { "name": "roofline", "device": "a100-sxm4-80gb", "link": "nvlink-3", "devices": 2 },
  "partition": { "stages": [[0, 1, 2], [3, 4]] },
  "schedule": { "name": "1f1b", "microbatches": 2 } })";

/// One action at a time, on a fake GPU.
BackendEntry on_whole_gpu() {
  BackendEntry entry = *find_named(backend_entries(), "cuda_logical");
  entry.obstacle = [](const PricedPlan&) { return std::optional<Obstacle>(); };
  entry.make = [](const Job& job) {
    static const FakeGpu gpu;
    static const GpuCalls calls = gpu.calls();
    return make_gpu_backend(job, GpuOrdering::one_by_one, calls);
  };
  return entry;
}

TEST_CASE("validation: on a GPU a fixed amount of work runs, and the report says of what") {
  const Scenario scenario = parse_scenario(small_transformers, "small.json", {});
  const std::pair<const char*, GpuWork> works[] = {{"flops", GpuWork::flops},
                                                   {"bytes", GpuWork::bytes}};
  for (const auto& [bodies, work] : works) {
    CAPTURE(bodies);
    const Validation result =
        validate(scenario, on_whole_gpu(), {.action_us = 5, .device = {.work = work}});
    const auto document = validation_json(result);
    CHECK(document["bodies"] == bodies);
    CHECK(document["bodies_reason"] == "");
    CHECK(says(validation_text(result),
               fmt::format("actions: {}, as much as takes their time\n", bodies)));
  }
}

TEST_CASE("validation: on a GPU the layers of a model run in their sizes, as many as a stage has") {
  const Scenario scenario = parse_scenario(small_transformers, "small.json", {});
  CHECK_THROWS_WITH_AS(
      validate(scenario, on_whole_gpu(), {.action_us = 5, .bodies = Bodies::layers}),
      "--bodies layers: layers take the time that they take, not --action-us", UsageError);
  const Validation result = validate(scenario, on_whole_gpu(), {.bodies = Bodies::layers});
  REQUIRE_FALSE(result.fault);
  REQUIRE(result.job.device.layers);
  CHECK(result.job.device.layers->of_stage == std::vector<std::uint32_t>{2, 1});
  CHECK(result.job.scale == 1);
  const auto& environment = result.typical.environment;
  CHECK(environment.at("bodies") == "gated_transformer");
  CHECK(environment.at("layers") == "examples=2 heads=1 hidden=128 inner=64 tokens=8");
  CHECK(environment.at("layers_of_stage") == "1 to 2");
  CHECK(validation_json(result)["bodies"] == "layers");
  CHECK(says(validation_text(result), "actions: the model's transformer layers"));
  // Two layers take twice the time of one, on the fake GPU.
  const Plan& plan = result.job.priced.plan;
  std::vector<Time> forward(2);
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    if (plan.classes[c].pass == Pass::forward && !plan.is_link(plan.classes[c].resource)) {
      forward[index(plan.classes[c].stage)] = result.measured.profile[c];
    }
  }
  CHECK(to_us(forward[0]) == doctest::Approx(2 * to_us(forward[1])).epsilon(0.1));
}

TEST_CASE("validation: a GPU refuses layers that it has no kernels of, and says which") {
  const auto refusal = [](const char* setting) -> std::string {
    return refused_with<UsageError>([&] {
      with_layers_of(settle(parse_scenario(small_transformers, "small.json", {setting})), {});
    });
  };
  CHECK(refusal("/schedule/microbatches=4") == "accepted");
  CHECK(
      refusal("/model/layers/1/parts/1/heads=4") ==
      "--bodies layers: heads have 64 or 128 numbers, and hidden as many as all heads; not 4 heads "
      "of 32 and hidden 128");
  CHECK(refusal("/model/layers/1/parts/1/window=4") ==
        "--bodies layers: kernels of attention know window 0 alone, not 4");
  CHECK(refusal(R"(/model/layers/1/parts/3={"kind": "moe", "hidden": 128, "experts": 4,
                   "chosen": 1, "expert_intermediate": 64})") ==
        "--bodies layers: a GPU has no kernels of moe");
  CHECK(refusal("/partition/stages=[[0],[1,2,3,4]]") ==
        "--bodies layers: stage 0 has no transformer layer");
  CHECK(refusal(R"(/recompute={"mode": "full"})") == "accepted");
  CHECK(refusal(R"(/recompute={"mode": "full", "layers": 1})") ==
        "--bodies layers: a GPU recomputes all layers of a stage or none");
  CHECK(refusal(R"(/model/layers/1/parts/0={"kind": "norm", "hidden": 128})") == "accepted");
  CHECK(refusal(R"(/model/layers/1/parts=[{"kind": "attention", "hidden": 128, "heads": 1},
                   {"kind": "mlp", "hidden": 128, "intermediate": 64}])") ==
        "--bodies layers: kernels have one norm before each attention and network, not 0 before "
        "attention");
  CHECK(refusal("/model/dtype=fp8") == "--bodies layers: kernels are in bf16, not fp8");
  CHECK(refusal(R"(/schedule={"name": "seq-1f1b", "microbatches": 2})") ==
        "--bodies layers: a GPU runs whole microbatches, not slices");
}

}  // namespace penstock::testing
