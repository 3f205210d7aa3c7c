#include <doctest/doctest.h>

#include <vector>

#include "sim/costs/layer_turns.hpp"

namespace penstock {
namespace {

using Waits = std::vector<double>;

/// A stage of two layers of 3 us each that gather as long.
NextForward two_layers(double start_us, double gather_us) {
  const LayerTurn layer{.gather_us = gather_us, .compute_us = 3};
  return {.start_us = start_us, .turns = {layer, layer}};
}

}  // namespace

TEST_CASE("a first forward waits for the weights that have not come when it needs them") {
  // Gathered 0-2, 2-4: layer 0 runs 2-5, layer 1 5-8.
  CHECK(waits_for_weights(std::vector{two_layers(0, 2)}) == Waits{2});
  // Gathered 0-5, 5-10: layer 0 5-8, layer 1 10-13 instead of 3-6.
  CHECK(waits_for_weights(std::vector{two_layers(0, 5)}) == Waits{7});
  // The first forward of a later stage starts at 4, by when the first has come.
  CHECK(waits_for_weights(std::vector{two_layers(4, 2)}) == Waits{0});
  CHECK(waits_for_weights({}).empty());
}

TEST_CASE("chunks of a rank are gathered one after the other, behind the forwards before them") {
  // Stage 0 gathers until 4 and waits 2. Stage 1 would start at 6 and starts at 8, when its first
  // layer's weights have long come (4-6, 6-8).
  CHECK(waits_for_weights(std::vector{two_layers(0, 2), two_layers(6, 2)}) == Waits{2, 0});
  // 0-5, 5-10, 10-15, 15-20: stage 0 ends at 13 instead of 6; stage 1 runs 15-18 and 20-23 instead
  // of 13-19.
  CHECK(waits_for_weights(std::vector{two_layers(0, 5), two_layers(6, 5)}) == Waits{7, 4});
}

}  // namespace penstock
