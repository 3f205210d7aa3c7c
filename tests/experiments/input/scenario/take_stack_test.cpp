#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/scenario/settle_hardware.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/base/error.hpp"
#include "tests/support/megatron_arguments.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

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

TEST_CASE("the usual stack of a command is that of its framework, where it lists the device") {
  const Scratch scratch;
  const auto layout_of = [&](const std::string& file, const std::string& text,
                             const std::string& machine) {
    scratch.file(file, text);
    return settle(parse_scenario(
        R"({"model": {"command": ")" + file + R"(", "sequence": 4096, "microbatch": 1, "file": ")" +
            PENSTOCK_ROOT + R"(/experiments/models/llama-3.1-8b.json"}, "hardware": {"name": ")" +
            machine + R"(", "devices": 8}})",
        scratch.path("s.json")));
  };
  const auto stack_of_command = [&](const std::string& file, const std::string& text,
                                    const std::string& machine = "dgx-h100") {
    return layout_of(file, text, machine).hardware.spec.machine->device.stack.name;
  };
  const std::string titan =
      "torchrun --nproc-per-node 8 -m torchtitan.train --training.local_batch_size 1 "
      "--parallelism.data_parallel_shard_degree 1 --parallelism.data_parallel_replicate_degree 8";
  CHECK(stack_of_command("t.sh", titan) == "fsdp-eager");
  CHECK(stack_of_command("t.sh", titan + " --compile.enable") == "fsdp-compiled");
  CHECK(stack_of_command("t.sh", titan, "gb200-nvl72") == "megatron-bridge-2025");
  const auto says_of = [&](const std::string& machine, const std::string& what) {
    return std::ranges::any_of(layout_of("t.sh", titan, machine).notes,
                               [&](const std::string& note) { return note.starts_with(what); });
  };
  CHECK(says_of("dgx-h100", "stack fsdp-eager (the default of the command's framework)"));
  CHECK(says_of("gb200-nvl72", "stack megatron-bridge-2025 (the default of gb200)"));
  CHECK(says_of("tpu-v5p-slice", "stack xla (the default of tpu-v5p)"));
  CHECK(stack_of_command("d.json", R"({"zero_optimization": {"stage": 1},
                                       "train_micro_batch_size_per_gpu": 1})") == "fsdp-eager");
  CHECK(stack_of_command(
            "m.sh", "torchrun --nproc-per-node 8 pretrain_gpt.py " + least +
                        "--use-torch-fsdp2 --micro-batch-size 1 --global-batch-size 8 --bf16") ==
        "megatron-bridge-2025");
}

TEST_CASE("a device of a file of its own has a stack where it is like another; else a note") {
  const Scratch scratch;
  const auto layout_like = [&](const std::string& like) {
    scratch.file("chip.json",
                 R"({"penstock": 1, "is": "device", "name": "chip", "summary": "one",)" + like + R"(
      "peak_flops": {"bf16": {"value": 1e15, "source": "a test"}},
      "memory_bytes": {"value": 8e10, "source": "a test"},
      "memory_bandwidth_bytes_per_s": {"value": 3e12, "source": "a test"}})");
    return settle(parse_scenario(small_scenario, scratch.path("s.json"),
                                 {R"(/hardware={"file": "chip.json", "link": "nvlink-4"})"}));
  };
  const Layout alone = layout_like("");
  CHECK(alone.hardware.spec.machine->device.stack.name.empty());
  REQUIRE_FALSE(alone.hardware.notes.empty());
  CHECK(alone.hardware.notes.front() ==
        "no stack: chip comes from a file that states rates alone, which price its kernels; state "
        "\"like\" there, or /hardware/stack");
  const Layout like =
      layout_like(R"("like": {"value": "h100-sxm5-80gb", "assumption": "a test"},)");
  CHECK(like.hardware.spec.machine->device.stack.name == "megatron-bridge-2025");
  const Layout unlisted = layout_like(R"("like": {"value": "l40s", "assumption": "a test"},)");
  REQUIRE_FALSE(unlisted.hardware.notes.empty());
  CHECK(unlisted.hardware.notes.front() ==
        "no stack: chip comes from a file that states rates alone, which price its kernels; state "
        "/hardware/stack");
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
  CHECK(says(refused_with<InputError>([] { stack_with({"/hardware/stack=megatron-2023"}); }),
             "did you mean \"megatron-202"));
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
