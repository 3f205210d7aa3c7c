#include "sim/costs/layer_turns.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace penstock {
namespace {

using Waits = std::vector<double>;

/// A stage of two layers of 3 us each that gather as long.
NextForward two_layers(double start_us, double gather_us) {
  const LayerTurn layer{.gather_us = gather_us, .compute_us = 3};
  return {.start_us = start_us, .turns = {layer, layer}};
}

}  // namespace

TEST_CASE("a pass waits for its first layer to be gathered, and ends with its last reduction") {
  const std::array<LayerTurn, 1> one{{{.gather_us = 2, .compute_us = 3, .reduce_us = 4}}};
  CHECK(turns_us(one, 0) == 9);
  CHECK(turns_us(one, 5) == 9);
  CHECK(turns_us({}, 1) == 0);
}

TEST_CASE("where compute is longer, only the ends of a pass are exposed") {
  // Gather 0-2, layers 2-7, 7-12, 12-17; each is gathered while the one before runs.
  const std::vector<LayerTurn> three(3, {.gather_us = 2, .compute_us = 5});
  CHECK(turns_us(three, 1) == 17);
  // Without prefetch each waits: 3 * (2 + 5).
  CHECK(turns_us(three, 0) == 21);
}

TEST_CASE("where gathering is longer, compute is hidden behind it") {
  // Gathered at 4, 8, 12; the last layer runs 12-13.
  const std::vector<LayerTurn> three(3, {.gather_us = 4, .compute_us = 1});
  CHECK(turns_us(three, 1) == 13);
  CHECK(turns_us(three, 2) == 13);
}

TEST_CASE("gathering further ahead hides a long gather behind several layers") {
  const std::array<LayerTurn, 4> turns{
      {{.compute_us = 3}, {.compute_us = 3}, {.compute_us = 3}, {.gather_us = 8, .compute_us = 1}}};
  CHECK(turns_us(turns, 0) == 9 + 8 + 1);
  CHECK(turns_us(turns, 1) == 6 + 8 + 1);
  CHECK(turns_us(turns, 2) == 3 + 8 + 1);
  CHECK(turns_us(turns, 3) == 9 + 1);
}

TEST_CASE("gathers and reductions share one link") {
  // Gather 0 0-2, layer 0 2-3; gather 1 2-4; reduction 0 4-6; layer 1 4-5; reduction 1 6-8.
  const std::vector<LayerTurn> two(2, {.gather_us = 2, .compute_us = 1, .reduce_us = 2});
  CHECK(turns_us(two, 1) == 8);
}

TEST_CASE("gathering further ahead never takes longer without reductions") {
  for (double gather = 0; gather < 5; ++gather) {
    const std::vector<LayerTurn> turns{{gather, 1, 0}, {1, gather, 0}, {2, 2, 0}, {gather, 3, 0}};
    for (std::uint32_t ahead = 0; ahead < 4; ++ahead) {
      CHECK(turns_us(turns, ahead + 1) <= turns_us(turns, ahead));
    }
  }
}

TEST_CASE("layers are slower while the weights of others are gathered, and these while they run") {
  // Gathered 0-2, 2-4, 4-6. Layer 0 runs 2-8: 2 us are gathered, in which it does 1 of its 5, and
  // the others come one ahead: 8-14, 14-19.
  const std::vector<LayerTurn> three(3, {.gather_us = 2, .compute_us = 5});
  CHECK(turns_us(three, 1, {.compute = 2}) == 2 + 6 + 6 + 5);
  CHECK(turns_us(three, 1, {.transfer = 1.5}) == 3 + 5 + 5 + 5);
  CHECK(slowed_us(5, 2, {.compute = 2}) == 6);
  CHECK(slowed_us(5, 20, {.compute = 2}) == 10);
  CHECK(slowed_us(5, 20, {}) == 5);
}

TEST_CASE("a layer waits for the exposed share of its gathering, though it was prefetched") {
  const std::vector<LayerTurn> layers{{2, 10, 0}, {2, 10, 0}, {2, 10, 0}};
  CHECK(turns_us(layers, 1) == 2 + 30);
  CHECK(turns_us(layers, 1, {}, {.gathers = 0.5}) == 2 + 10 + 1 + 10 + 1 + 10);
  CHECK(turns_us(layers, 1, {}, {.gathers = 1}) == 2 + 10 + 2 + 10 + 2 + 10);
}

TEST_CASE("a layer waits for the exposed share of the reduction before it, though that overlaps") {
  // The reduction of the last layer overlaps nothing.
  const std::vector<LayerTurn> layers(3, {.compute_us = 10, .reduce_us = 4});
  CHECK(turns_us(layers, 1) == 30 + 4);
  CHECK(turns_us(layers, 1, {}, {.sums = 0.5}) == 10 + 2 + 10 + 2 + 10 + 4);
  CHECK(turns_us(layers, 1, {}, {.sums = 1}) == 10 + 4 + 10 + 4 + 10 + 4);
  // Where the link has no pause, reductions already last as long: 1 + 3 * 4.
  const std::vector<LayerTurn> short_layers(3, {.compute_us = 1, .reduce_us = 4});
  CHECK(turns_us(short_layers, 1, {}, {.sums = 0.5}) == 1 + 4 + 4 + 4);
}

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
