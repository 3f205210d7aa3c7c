#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/scenario/settle_hardware.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

const std::string small_scenario = R"({
  "model":    { "layers": [ { "parts": [ {"kind": "attention", "hidden": 1024, "heads": 8},
                                         {"kind": "mlp", "hidden": 1024, "intermediate": 4096} ],
                              "repeat": 2 } ], "sequence": 512, "microbatch": 1 },
  "hardware": { "name": "dgx-a100" },
  "parallel": { "pipeline": 1 },
  "schedule": { "name": "1f1b", "microbatches": 1 } })";

Layout stack_layout(const std::vector<std::string>& settings) {
  return settle(parse_scenario(small_scenario, "s.json", settings));
}

std::string stack_with(const std::vector<std::string>& settings) {
  return stack_layout(settings).hardware.spec.machine->device.stack.name;
}

}  // namespace

TEST_CASE(
    "the usual stack is the newest; PyTorch's own where it was measured with sharded weights") {
  CHECK(stack_with({}) == "megatron-bridge-2025");
  CHECK(stack_with({"/memory/zero=1"}) == "megatron-bridge-2025");
  CHECK(stack_with({"/memory/zero=3", "/parallel/data=8"}) == "fsdp-compiled");
  CHECK(stack_with({"/hardware/name=gb200-nvl72", "/memory/zero=3", "/parallel/data=8"}) ==
        "megatron-bridge-2025");
  CHECK(stack_with({"/hardware/stack=fsdp-compiled"}) == "fsdp-compiled");
}

TEST_CASE("a stack without its year is the newest of its family") {
  CHECK(stack_with({"/hardware/stack=megatron"}) == "megatron-2024");
  CHECK(stack_with({"/hardware/stack=megatron-2021"}) == "megatron-2021");
  CHECK(stack_with({"/hardware/stack=megatron-bridge"}) == "megatron-bridge-2025");
}

TEST_CASE("no stack where none is wanted or constants are stated") {
  CHECK(stack_with({"/hardware/stack=none"}).empty());
  CHECK(stack_with({"/hardware/efficiency=0.5"}).empty());
  CHECK(stack_with({"/hardware/name=dgx-1"}) == "megatron-bridge-2025");
}

TEST_CASE("the note says which stack prices kernels; an unknown one is refused") {
  const Layout layout = stack_layout({});
  REQUIRE_FALSE(layout.notes.empty());
  CHECK(layout.notes.front().starts_with("stack megatron-bridge-2025 (the default with zero 0)"));
  CHECK(refused_with<InputError>([] {
          stack_with({"/hardware/stack=megatron-2023"});
        }).find("did you mean \"megatron-202") != std::string::npos);
}

TEST_CASE("a scenario may state constants of a stack itself") {
  const Layout layout = stack_layout(
      {R"(/hardware/stack={"name": "megatron-2021", "matrix_share": 0.5, "vector_passes": 2})"});
  const StackConstants& stack = layout.hardware.spec.machine->device.stack;
  CHECK(stack.name == "megatron-2021");
  CHECK(stack.matrix_share == 0.5);
  CHECK(stack.fp8_share == 0.5);
  CHECK(stack.vector_passes == 2);
}

TEST_CASE("a key of hardware inside its stack is refused with its place") {
  CHECK(refused_with<InputError>([] {
          stack_with({R"(/hardware/stack={"name": "megatron-2021", "kernel_issue_us": 0})"});
        })
            .ends_with("/hardware/stack/kernel_issue_us: unknown key \"kernel_issue_us\"; did you "
                       "mean /hardware/kernel_issue_us?"));
}

TEST_CASE("devices of one chip share the constants of a stack") {
  const auto share = [&](const char* machine) {
    return stack_layout({std::string("/hardware/name=") + machine})
        .hardware.spec.machine->device.stack.matrix_share;
  };
  CHECK(share("dgx-h200") == share("dgx-h100"));
  CHECK(share("grand-teton-h100") == share("dgx-h100"));
  CHECK(share("dgx-a100") != share("dgx-h100"));
}

TEST_CASE("the interval of a step time holds it, by the spread of the stack") {
  const RunResult result = run(stack_layout({"/hardware/kernel_issue_us=0"}));
  REQUIRE(has_uncertainty(result));
  const nlohmann::ordered_json told = uncertainty_json(result);
  const double us = to_us(result.report->makespan);
  const double spread = told["spread"];
  CHECK(told["least_us"].get<double>() == doctest::Approx(us * std::exp(-1.645 * spread)));
  CHECK(told["most_us"].get<double>() == doctest::Approx(us * std::exp(1.645 * spread)));
  CHECK_FALSE(told["measured"].empty());
  CHECK_FALSE(told["fitted"].empty());
  const RunResult without = run(stack_layout({"/hardware/stack=none"}));
  CHECK_FALSE(has_uncertainty(without));
  CHECK(uncertainty_text(without).empty());
}

TEST_CASE("intervals are those of the kind of run") {
  const auto spread = [](std::vector<std::string> settings) {
    settings.emplace_back("/hardware/name=dgx-h100");
    return stack_layout(settings).hardware.confidence->spread;
  };
  const double dense = spread({});
  CHECK(spread({"/model/dtype=fp8"}) > dense);
  const std::string experts = R"(/model/layers/0/parts/1={"kind": "moe", "hidden": 1024,
      "experts": 8, "chosen": 2, "expert_intermediate": 512})";
  CHECK(spread({experts}) > spread({"/model/dtype=fp8"}));
  for (const char* stack : {"megatron-2021", "megatron-2024", "fsdp-eager", "fsdp-compiled"}) {
    CAPTURE(stack);  // none of them has runs with experts
    CHECK(spread({experts, fmt::format("/hardware/stack={}", stack)}) == 0.35);
  }
  CHECK(spread({R"(/model/layers/0/parts/1={"kind": "mamba2", "hidden": 1024,
      "heads": 16, "head_dim": 64, "state": 64})"}) == 0.25);
  CHECK(stack_layout({"/hardware/name=dgx-1"}).hardware.confidence->spread > 4 * dense);
}

}  // namespace penstock::testing
