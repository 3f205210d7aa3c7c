#include <doctest/doctest.h>

#include "tests/support/layers.hpp"

namespace penstock::testing {
namespace {

// Queries from 6 numbers, keys and values from 5; heads of 3 + 2 for keys, 4 for values.
const NumbersByName mla_small = {{"hidden", 16},      {"heads", 2}, {"q_lora_rank", 6},
                                 {"kv_lora_rank", 5}, {"nope", 3},  {"rope", 2},
                                 {"value", 4}};

}  // namespace

TEST_CASE("mla: parameters are those of both latents, their norms and what is made from them") {
  const double queries = 6 * (16 + 2 * 5) + 6;
  const double keys = 16 * (5 + 2) + 5 + 5 * 2 * (3 + 4);
  CHECK(work_of("mla", mla_small).parameters == queries + keys + 2 * 4 * 16);
  NumbersByName direct = mla_small;
  direct["q_lora_rank"] = 0;
  CHECK(work_of("mla", direct).parameters == 16 * 2 * 5 + keys + 2 * 4 * 16);
}

TEST_CASE("mla: a token keeps its input, latents before and after norms, heads and a sum each") {
  // COSTS: 2h + 2*2r_q + 2(r_k+r) + 2r_k + 2*2a(n+r) + 2*2a*v_d + 4a
  const double token = 2 * 16 + 2 * 2 * 6 + 2 * (5 + 2) + 2 * 5 + 4 * 2 * 5 + 4 * 2 * 4 + 4 * 2;
  CHECK(work_of("mla", mla_small, CellShape{.sequence = 8}).kept_bytes == 8 * token);
  // Narrow attention keeps queries, keys, values and its output in half of their bytes.
  const CellShape narrow{.sequence = 8, .attention_share = 0.5};
  CHECK(work_of("mla", mla_small, narrow).kept_bytes == 8 * (token - 2 * 2 * 5 - 2 * 2 * 4));
}

TEST_CASE("mla: its scores have the size of keys, its results that of values") {
  // 8 tokens see 4 keys each: 2 * 2 * 8 * 4 * (5 + 4). Dense: all weights but the norms' 11.
  const LayerWork work = work_of("mla", mla_small, CellShape{.sequence = 8});
  const double core = 2 * 2 * 8 * 4 * (5 + 4);
  const double dense = 2 * 8 * (work.parameters - 11);
  CHECK(work.forward_flops == dense + core);
  CHECK(flops_of(work, Pass::forward) == dense + core);
  CHECK(flops_of(work, Pass::backward_input) == dense + 2 * core + 2 * 2 * 8 * 4 * 5);
  CHECK(flops_of(work, Pass::backward_weight) == dense);
}

TEST_CASE("mla: a tensor group sums gradients of latents, not of tokens") {
  CellShape shape{.sequence = 8, .tensor = 2};
  const LayerWork work = work_of("mla", mla_small, shape);
  CHECK(collectives_of(work, Pass::forward, Group::tensor) == "all_reduce 256");
  CHECK(collectives_of(work, Pass::backward_input, Group::tensor) == "all_reduce 208");
  // Projections into latents, 16 * 13 weights and 11 of norms, are on each device.
  CHECK(work.held_parameters == (work.parameters - 219) / 2 + 219);
  shape.sequence_parallel = true;
  const LayerWork cut = work_of("mla", mla_small, shape);
  CHECK(2 * flops_of(cut, Pass::forward) == cut.forward_flops);
  CHECK(cut.kept_bytes * 2 == work_of("mla", mla_small, CellShape{.sequence = 8}).kept_bytes);
}

TEST_CASE("mla: without flash it keeps scores, which selective recomputation makes again") {
  NumbersByName square = mla_small;
  square["flash"] = 0;
  const LayerWork work = work_of("mla", square, CellShape{.sequence = 8});
  CHECK(work.kept_bytes - work.kept_selective_bytes == 2 * 2 * 8 * 8);
}

}  // namespace penstock::testing
