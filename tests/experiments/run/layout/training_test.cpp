#include "experiments/run/layout/training.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "experiments/input/model_files/model_file.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

double all_of(const BytesPerParameter& bytes) {
  return bytes.parameter + bytes.gradient + bytes.optimizer;
}

/// Two stages of one layer each, the second with the copies of a context group of 4.
Layout two_stages(const std::string& schedule = "1f1b") {
  Layout layout = settle(parse_scenario(
      R"({ "model": { "stages": [ {"forward_us": 1, "backward_us": 2, "parameter_bytes": 8},
                                  {"forward_us": 1, "backward_us": 2, "parameter_bytes": 8} ] },
           "schedule": { "name": "1f1b", "microbatches": 2 } })",
      "s.json", {"/schedule/name=" + schedule}));
  layout.model.layers[1].copies = 4;
  return layout;
}

/// A layer whose recomputation costs what its kernels do.
Layout with_kernel(bool selective) {
  Layout layout = two_stages();
  layout.model.layers[0].work.kernels = {
      {.pass = Pass::forward, .flops = 1, .selective = selective}};
  return layout;
}

std::vector<bool> made_again(Layout layout, std::optional<RecomputeMode> mode) {
  layout.recompute.mode = mode;
  return extras_of(layout).recomputing.stages;
}

}  // namespace

TEST_CASE("with Adam a parameter takes 18 bytes in bf16, 20 in fp16 and 16 in fp32") {
  CHECK(all_of(bytes_per_parameter(Precision::bf16, Optimizer::adam)) == 2 + 4 + 12);
  CHECK(all_of(bytes_per_parameter(Precision::fp16, Optimizer::adam)) == 2 + 2 + 16);
  CHECK(all_of(bytes_per_parameter(Precision::fp32, Optimizer::adam)) == 4 + 4 + 8);
}

TEST_CASE("SGD keeps fp32 weights where there are none, and momentum one fp32 number more") {
  // fp16 keeps the gradients in fp32 too.
  CHECK(bytes_per_parameter(Precision::bf16, Optimizer::sgd).optimizer == 4);
  CHECK(bytes_per_parameter(Precision::fp16, Optimizer::sgd).optimizer == 8);
  CHECK(bytes_per_parameter(Precision::fp32, Optimizer::sgd).optimizer == 0);
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::fp32}) {
    CHECK(bytes_per_parameter(precision, Optimizer::momentum).optimizer ==
          bytes_per_parameter(precision, Optimizer::sgd).optimizer + 4);
    CHECK(bytes_per_parameter(precision, Optimizer::none).optimizer == 0);
    CHECK(bytes_per_parameter(precision, Optimizer::none).gradient_factor() == 1);
  }
}

TEST_CASE("stages sum where a group holds their weights several times, without data replicas too") {
  Layout layout = two_stages();
  CHECK(extras_of(layout).tail.reduces == std::vector<bool>{false, true});
  layout.degrees.data = 2;
  CHECK(extras_of(layout).tail.reduces == std::vector<bool>{true, true});
  layout.degrees.data = 1;
  layout.model.layers[1].copies = 1;
  CHECK(extras_of(layout).tail.reduces.empty());
}

TEST_CASE("copies of experts count only where there are experts, and those of the rest likewise") {
  Layout layout = two_stages();
  Layer& layer = layout.model.layers[1];
  layer.expert_parameter_bytes = 8;  // all of them are experts, each held once
  CHECK(extras_of(layout).tail.reduces.empty());
  layer.expert_copies = 2;
  CHECK(extras_of(layout).tail.reduces == std::vector<bool>{false, true});
}

TEST_CASE("experts that all data replicas hold once together are not summed") {
  Layout layout = two_stages();
  Layer& layer = layout.model.layers[1];
  layer.expert_parameter_bytes = 8;
  layer.expert_spread = 4;
  layout.degrees.data = 4;
  CHECK(extras_of(layout).tail.reduces == std::vector<bool>{true, false});
  layout.degrees.data = 8;
  CHECK(extras_of(layout).tail.reduces == std::vector<bool>{true, true});
}

TEST_CASE("replicas exchange tokens in stages with experts that they hold once together") {
  Layout layout = two_stages();
  for (Layer& layer : layout.model.layers) layer.expert_spread = 4;  // degrees are those of all
  layout.model.layers[1].expert_parameter_bytes = 8;
  const Together together = together_of(layout.model, layout.partition, training_of(layout));
  CHECK(together.exchanging == std::vector<std::uint32_t>{1, 4});
  CHECK(together.of_all == Together{}.of_all);
}

TEST_CASE("an UNSHARD gathers weights where groups that shard have several replicas") {
  const auto settled = [](const std::string& groups) {
    return settle(parse_scenario(
        R"({ "model": { "stages": [ {"forward_us": 1, "backward_us": 2, "parameter_bytes": 8},
                                    {"forward_us": 1, "backward_us": 2, "parameter_bytes": 8} ] },
             "parallel": { "data": 4 }, "memory": { "zero": 3 },
             "schedule": { "name": "1f1b", "microbatches": 2, "communication": "written" } })",
        "s.json", {"/memory/shard_groups=" + groups}));
  };
  for (const char* groups : {"1", "2"}) CHECK(settled(groups).communication.weights);
  Layout alone = settled("4");
  CHECK_FALSE(alone.communication.weights);
  CHECK_FALSE(extras_of(alone).has(BufferKind::gathered));
  CHECK(std::ranges::any_of(alone.notes, [](const std::string& note) {
    return says(note, "UNSHARD and RESHARD gather and free nothing: each device keeps all");
  }));
  // Experts that the replicas of a group hold once together are not gathered either.
  alone.memory.shard_groups = 2;
  CHECK(gathers_weights(alone));
  for (Layer& layer : alone.model.layers) {
    layer.expert_parameter_bytes = 8;
    layer.expert_spread = 2;
  }
  CHECK_FALSE(gathers_weights(alone));
}

TEST_CASE("levels of ZeRO decide when gradients are summed and weights gathered") {
  Layout layout = two_stages();
  const auto tail_at = [&](std::uint32_t zero) {
    layout.memory.zero = zero;
    layout.memory.whole_gradients = false;
    return extras_of(layout).tail;
  };
  CHECK(!tail_at(0).gathers);
  CHECK(tail_at(1).gathers);
  CHECK(tail_at(1).summing == Summing::behind_stage);
  CHECK(tail_at(2).gathers);
  CHECK(tail_at(2).summing == Summing::behind_each);
  // Each pass does it by itself.
  CHECK(tail_at(3).empty());
  CHECK(extras_of(layout).has(BufferKind::workspace));
  // Alone there is nothing to share.
  layout.model.layers[1].copies = 1;
  CHECK(training_of(layout).zero == 0);
}

TEST_CASE("an order that updates as it goes is refused where a group would have to sum") {
  CHECK(refused_at([] { extras_of(two_stages("pipedream")); }).starts_with("/parallel: "));
}

TEST_CASE("a layer known by its kernels is made again where a mode asks for it") {
  const std::vector<bool> first{true, false}, none{false, false};
  CHECK(made_again(with_kernel(false), std::nullopt) == none);
  CHECK(made_again(with_kernel(false), RecomputeMode::none).empty());
  CHECK(made_again(with_kernel(false), RecomputeMode::full) == first);
  CHECK(made_again(with_kernel(false), RecomputeMode::except_last) == first);
  CHECK(made_again(with_kernel(false), RecomputeMode::selective) == none);
  CHECK(made_again(with_kernel(true), RecomputeMode::selective) == first);
}

TEST_CASE("a layout that hides experts is proposed where passes of two microbatches interleave") {
  const auto proposed = [](const std::vector<std::string>& settings) {
    return is_proposed(settle(parse_scenario(
        R"({ "model": { "layers": [ {"repeat": 8, "parts": [
                 {"kind": "moe", "hidden": 64, "experts": 8, "chosen": 2, "expert_intermediate": 32}
               ]} ], "sequence": 64 },
             "hardware": { "name": "dgx-h100" },
             "parallel": { "pipeline": 2, "data": 4, "expert": 4, "overlap_experts": true },
             "schedule": { "name": "interleaved-1f1b", "microbatches": 4 } })",
        "s.json", settings)));
  };
  CHECK(proposed({}));
  CHECK(proposed({"/schedule/name=1f1b", "/parallel/pipeline=1"}));
  CHECK_FALSE(proposed({"/schedule/name=1f1b"}));
  CHECK_FALSE(proposed({"/schedule/name=dualpipev"}));
  CHECK_FALSE(proposed({"/recompute/mode=full"}));
  CHECK_FALSE(proposed({"/parallel/expert=1"}));
  CHECK(proposed({"/schedule/name=dualpipev", "/parallel/overlap_experts=false"}));
}

}  // namespace penstock::testing
