#include "experiments/plan/planner/space/layout_rules.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "schedules/registry.hpp"
#include "sim/base/named.hpp"
#include "tests/support/plans.hpp"

namespace penstock::testing {

TEST_CASE("planner: shares of a stage's layers count the blocks of an encoder, but no ends") {
  // 27 blocks of the encoder go with the first of 36 layers: 63 in one stage, 27 + 18 in the first
  // of two. Patches, merger, embedding and head do not count.
  const TrainingTask task =
      read_task({.model = shared_model("qwen3-vl-8b.json"), .hardware = "dgx-h100"});
  const OrderChoice order{.rule = find_named(schedule_entries(), "1f1b")};
  const auto layers = [&](std::uint32_t pipeline, std::uint32_t quarters) {
    return some_layers(task, {.pipeline = pipeline}, order,
                       {.mode = "none", .quarters = quarters, .offloads = true});
  };
  CHECK(layers(1, 4) == 63);
  CHECK(layers(1, 2) == 32);
  CHECK(layers(2, 4) == 45);
}

}  // namespace penstock::testing
