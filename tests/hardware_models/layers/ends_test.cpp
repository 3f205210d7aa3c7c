#include <doctest/doctest.h>

#include "tests/support/layers.hpp"

namespace penstock::testing {

TEST_CASE("embedding: keeps 8 bytes a token, and a mask of hidden where there is dropout") {
  const CellShape shape{.sequence = 10, .microbatch = 2};
  const NumbersByName plain = {{"vocab", 100}, {"hidden", 6}};
  const NumbersByName dropped = {{"vocab", 100}, {"hidden", 6}, {"dropout", 0.1}};
  CHECK(work_of("embedding", plain, shape).kept_bytes == 8 * 20);
  CHECK(work_of("embedding", dropped, shape).kept_bytes == 8 * 20 + 20 * 6);
  CHECK(work_of("embedding", plain, shape).output_bytes == 2 * 20 * 6);
}

TEST_CASE("embedding: rows are shared by a tensor group, places are not") {
  const NumbersByName numbers = {{"vocab", 101}, {"hidden", 6}, {"positions", 10}};
  const LayerWork work = work_of("embedding", numbers, CellShape{.sequence = 10, .tensor = 2});
  CHECK(work.parameters == 111 * 6);
  CHECK(work.held_parameters == (51 + 10) * 6);  // padded to 102
  CHECK(collectives_of(work, Pass::forward, Group::tensor) == "all_reduce 120");
}

TEST_CASE("embedding: a lookup has no FLOPs and no input gradient, and moves each row twice") {
  const LayerWork work =
      work_of("embedding", {{"vocab", 100}, {"hidden", 6}}, CellShape{.sequence = 10});
  CHECK(work.forward_flops == 0);
  CHECK(vector_bytes_of(work, Pass::forward) == 2 * 2 * 60);
  CHECK(vector_bytes_of(work, Pass::backward_input) == 0);
  CHECK(vector_bytes_of(work, Pass::backward_weight) == 3 * 2 * 60);
}

TEST_CASE("head: keeps its input and logits in 2 and in 4 bytes, and works on their gradient") {
  const CellShape shape{.sequence = 10, .tensor = 2};
  const LayerWork work = work_of("head", {{"hidden", 6}, {"vocab", 100}}, shape);
  CHECK(work.kept_bytes == 10 * 6 * 2 + 10 * 50 * (2 + 4));
  CHECK(work.workspace_bytes == 10 * 50 * 2);
  CHECK(work.forward_flops == 2 * 10 * 6 * 100);
  CHECK(2 * flops_of(work, Pass::forward) == work.forward_flops);
  CHECK(collectives_of(work, Pass::forward, Group::tensor) == "all_reduce 40 x3");
  CHECK(collectives_of(work, Pass::backward_input, Group::tensor) == "all_reduce 120");
  const NumbersByName half = {{"hidden", 6}, {"vocab", 100}, {"fp32_logits", 0}};
  CHECK(work_of("head", half, shape).kept_bytes == 10 * 6 * 2 + 10 * 50 * 2);
  // Codecs leave the copy in fp32 alone.
  CHECK(work.uncoded_bytes == 10 * 50 * 4);
  CHECK(work_of("head", half, shape).uncoded_bytes == 0);
}

TEST_CASE("head: the steps of a loss that is not fused each move the logits") {
  // 500 logits of 2 bytes, of 4 in the copy: F makes it, 2 + 4, reads the greatest, 4, subtracts
  // in place, 8, takes exponentials, 8, their sum, 4, divides, 8; I multiplies, 8, goes back, 4
  // + 2.
  const CellShape shape{.sequence = 10, .tensor = 2};
  const NumbersByName steps = {{"hidden", 6}, {"vocab", 100}, {"fused_loss", 0}};
  const LayerWork work = work_of("head", steps, shape);
  CHECK(vector_bytes_of(work, Pass::forward) == 500 * 38);
  CHECK(vector_bytes_of(work, Pass::backward_input) == 500 * 14);
  const LayerWork fused = work_of("head", {{"hidden", 6}, {"vocab", 100}}, shape);
  CHECK(work.kernels.size() == fused.kernels.size() + 5 + 1);
  CHECK(work.kept_bytes == fused.kept_bytes);
  // Without the copy there is neither the way there nor back.
  const NumbersByName half = {{"hidden", 6}, {"vocab", 100}, {"fused_loss", 0}, {"fp32_logits", 0}};
  CHECK(vector_bytes_of(work_of("head", half, shape), Pass::forward) == 500 * 16);
  CHECK(vector_bytes_of(work_of("head", half, shape), Pass::backward_input) == 500 * 4);
}

TEST_CASE("head: logits in fp32 are not copied to fp32") {
  const CellShape shape{.sequence = 10, .activation_size = 4, .kept_size = 4, .tensor = 2};
  for (const double fused : {0, 1}) {
    CAPTURE(fused);
    const NumbersByName usual = {{"hidden", 6}, {"vocab", 100}, {"fused_loss", fused}};
    NumbersByName none = usual;
    none["fp32_logits"] = 0;
    const LayerWork work = work_of("head", usual, shape), plain = work_of("head", none, shape);
    CHECK(work.kept_bytes == 10 * 6 * 4 + 10 * 50 * 4);
    CHECK(work.kernels == plain.kernels);
  }
}

TEST_CASE("head: tied weights are held but not counted again") {
  const LayerWork work = work_of("head", {{"hidden", 6}, {"vocab", 100}, {"tied", 1}});
  CHECK(work.parameters == 0);
  CHECK(work.held_parameters == 600);
  CHECK(work.tied_parameters == 600);
  const LayerWork own = work_of("head", {{"hidden", 6}, {"vocab", 100}, {"bias", 1}});
  CHECK(own.parameters == 700);
  CHECK(own.tied_parameters == 0);
}

TEST_CASE("norm: a LayerNorm has two numbers a feature, and sequence parallelism cuts its bytes") {
  CHECK(work_of("norm", {{"hidden", 6}}).parameters == 6);
  CHECK(work_of("norm", {{"hidden", 6}, {"bias", 1}}).parameters == 12);
  CHECK(work_of("norm", {{"hidden", 6}, {"weights", 0}}).parameters == 0);
  const CellShape shape{.sequence = 10, .tensor = 2, .sequence_parallel = true};
  CHECK(work_of("norm", {{"hidden", 6}}, shape).kept_bytes == 60);
  CHECK(vector_bytes_of(work_of("norm", {{"hidden", 6}}, shape), Pass::forward) == 120);
}

}  // namespace penstock::testing
