#include "experiments/run/layout/stack_memory.hpp"

#include <doctest/doctest.h>

#include "experiments/run/layout/layout.hpp"

namespace penstock::testing {
namespace {

Layout layout_of(std::vector<std::string> settings) {
  const char* const text = R"({
    "model": { "layers": [ { "parts": [ {"kind": "mlp", "hidden": 1024, "intermediate": 4096} ],
                             "repeat": 2 },
                           { "kind": "head", "hidden": 1024, "vocab": 32000, "even": false } ],
               "sequence": 512, "microbatch": 1 },
    "hardware": { "name": "dgx-b200", "stack": "megatron-bridge" },
    "parallel": { "pipeline": 1 },
    "schedule": { "name": "1f1b", "microbatches": 1 } })";
  return settle(parse_scenario(text, "s.json", settings));
}

double kept(std::vector<std::string> settings) { return layout_of(settings).shape.kept_size; }

}  // namespace

TEST_CASE("a stack that keeps what it cast keeps the size of the recipe") {
  CHECK(kept({}) == 2);
  CHECK(kept({"/model/dtype=fp8"}) == 1);
  CHECK(kept({"/model/dtype=fp8-block"}) == 1 + 4.0 / 128);
  CHECK(kept({"/model/dtype=mxfp8"}) == 1 + 1.0 / 32);
  CHECK(kept({"/model/dtype=nvfp4"}) == 0.5 + 1.0 / 16);
}

TEST_CASE("nothing is narrow on a device without narrow units, nor where the stack keeps it wide") {
  CHECK(kept({"/hardware/name=dgx-a100", "/model/dtype=fp8"}) == 2);
  CHECK(kept({"/hardware/stack=fsdp-compiled", "/model/dtype=fp8"}) == 2);
  CHECK(kept({"/hardware/stack=none", "/model/dtype=fp8"}) == 2);
}

TEST_CASE("attention in fp8 takes one byte a value where the device has fp8 units") {
  const char* attention =
      R"(/model/layers/0/parts/0={"kind": "attention", "hidden": 1024, "heads": 8})";
  const auto share = [&](const char* recipe, const char* machine) {
    return layout_of({attention, "/model/fp8_attention=true", std::string("/model/dtype=") + recipe,
                      std::string("/hardware/name=") + machine})
        .shape.attention_share;
  };
  CHECK(share("fp8", "dgx-b200") == 0.5);
  CHECK(share("nvfp4", "dgx-b200") == 0.5);
  CHECK(share("fp8", "dgx-a100") == 1);
  CHECK(layout_of({"/model/dtype=fp8"}).shape.attention_share == 1);
}

TEST_CASE("gathers in low precision carry weights of products narrow, and those of heads wide") {
  const std::vector<std::string> asked{"/model/dtype=mxfp8", "/memory/zero=1", "/parallel/data=8",
                                       "/parallel/narrow_gathers=true"};
  const auto shares = [](std::vector<std::string> settings) {
    std::vector<double> all;
    for (const Layer& layer : layout_of(std::move(settings)).model.layers) {
      all.push_back(layer.gathered_share);
    }
    return all;
  };
  const double narrow = (1 + 1.0 / 32) / 2;
  CHECK(shares(asked) == std::vector<double>{narrow, narrow, 1});
  std::vector<std::string> on_a100 = asked;
  on_a100.emplace_back("/hardware/name=dgx-a100");
  CHECK(shares(on_a100) == std::vector<double>{1, 1, 1});
  CHECK(shares({}) == std::vector<double>{1, 1, 1});
}

TEST_CASE("a stack leaves one placeholder gradient of each shape of weights, and frees logits") {
  const Layout layout = layout_of({});
  // Two products of each layer of an mlp; that of the head is smaller than its softmax in fp32 of
  // 512 tokens was.
  const double shapes = 2 * 1024.0 * 4096 * 2, head = 1024.0 * 32000 * 2 - 512.0 * 32000 * 4;
  CHECK(placeholders_of(layout) == std::vector<double>{shapes + head});
  const Layout without = layout_of({"/hardware/stack=none"});
  CHECK(placeholders_of(without).empty());
  const double freed = 512.0 * 32000 * 2;
  CHECK(layout.model.layers.back().stash_bytes == without.model.layers.back().stash_bytes - freed);
}

TEST_CASE("a stack frees nothing of convolutions, which leave no placeholder gradients") {
  const Layout layout = layout_of(
      {R"(/model/layers=[{"kind": "conv", "channels_in": 256, "channels_out": 64, "height": 56,
                          "width": 56, "kernel": 1, "batch_norm": true, "relu": true},
                         {"kind": "conv", "channels_in": 64, "channels_out": 64, "height": 7,
                          "width": 7, "kernel": 3, "batch_norm": false, "relu": false}])"});
  // The input and, for batch norm, the result.
  CHECK(layout.model.layers[0].stash_bytes == (256 + 64) * 56 * 56 * 2);
  CHECK(layout.model.layers[1].stash_bytes == 64 * 7 * 7 * 2);
  CHECK(placeholders_of(layout) == std::vector<double>{0});
}

}  // namespace penstock::testing
