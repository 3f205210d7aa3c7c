#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "tests/support/layers.hpp"

namespace penstock::testing {
namespace {

// 8 experts of 4 -> 6 -> 4 gated, of which 2 are chosen.
const NumbersByName mixture = {
    {"hidden", 4}, {"experts", 8}, {"chosen", 2}, {"expert_intermediate", 6}};

}  // namespace

TEST_CASE("mlp: 2hf weights, 3hf gated, with biases f + h and 2f + h more") {
  const auto parameters = [](double gated, double bias) {
    const NumbersByName numbers = {
        {"hidden", 4}, {"intermediate", 6}, {"gated", gated}, {"bias", bias}};
    return work_of("mlp", numbers).parameters;
  };
  CHECK(parameters(0, 0) == 48);
  CHECK(parameters(1, 0) == 72);
  CHECK(parameters(0, 1) == 48 + 10);
  CHECK(parameters(1, 1) == 72 + 16);
}

TEST_CASE("mlp: F, I and W take two FLOPs a weight and token each") {
  const LayerWork work = work_of("mlp", {{"hidden", 4}, {"intermediate", 6}, {"gated", 1}},
                                 CellShape{.sequence = 10, .microbatch = 3});
  for (const Pass pass : {Pass::forward, Pass::backward_input, Pass::backward_weight}) {
    CHECK(flops_of(work, pass) == 2 * 72 * 30);
  }
  CHECK(work.forward_flops + work.backward_flops == 3 * 2 * 72 * 30);
}

TEST_CASE("mlp: kernels read both factors and write what comes out") {
  // One token: 4 -> 6 -> 4, 2 bytes a number. The activation reads and writes 6, the sum moves 12.
  const LayerWork work =
      work_of("mlp", {{"hidden", 4}, {"intermediate", 6}}, CellShape{.sequence = 1});
  REQUIRE(work.kernels.front().kind == KernelKind::matrix);
  CHECK(work.kernels.front().bytes == 2 * (4 + 24 + 6));
  CHECK(vector_bytes_of(work, Pass::forward) == 2 * (6 + 6) + 2 * 3 * 4);
  CHECK(vector_bytes_of(work, Pass::backward_input) == 2 * (6 + 6 + 6) + 2 * 3 * 4);
}

TEST_CASE("mlp: dropout keeps a byte for each output and moves it") {
  const NumbersByName plain = {{"hidden", 4}, {"intermediate", 6}};
  NumbersByName dropped = plain;
  dropped["dropout"] = 0.1;
  const CellShape shape{.sequence = 10};
  CHECK(work_of("mlp", dropped, shape).kept_bytes - work_of("mlp", plain, shape).kept_bytes == 40);
  CHECK(vector_bytes_of(work_of("mlp", dropped, shape), Pass::forward) -
            vector_bytes_of(work_of("mlp", plain, shape), Pass::forward) ==
        40);
}

TEST_CASE("moe: a token meets the router, the chosen experts and the shared one") {
  const LayerWork work =
      work_of("moe", with(mixture, {{"shared_intermediate", 5}, {"shared_gate", 1}}));
  CHECK(work.parameters == 8 * 72 + 60 + 4 * 8 + 4);
  CHECK(work.active_parameters == 2 * 72 + 60 + 4 * 8 + 4);
  CHECK(work.held_expert_parameters == 8 * 72);
  CHECK(work.held_parameters == 60 + 4 * 8 + 4);
  CHECK(work.forward_flops == 2 * 2048 * work.active_parameters);
}

TEST_CASE("moe: biases of experts and router count, and those of outputs take passes in fp32") {
  const CellShape shape{.sequence = 10};
  const LayerWork plain = work_of("moe", mixture, shape);
  const LayerWork biased = work_of("moe", with(mixture, {{"bias", 1}}), shape);
  CHECK(biased.parameters - plain.parameters == 8 * (2 * 6 + 4) + 8);
  CHECK(biased.active_parameters - plain.active_parameters == 2 * (2 * 6 + 4) + 8);
  CHECK(biased.held_expert_parameters - plain.held_expert_parameters == 8 * (2 * 6 + 4));
  CHECK(biased.held_parameters - plain.held_parameters == 8);
  CHECK(biased.forward_flops == plain.forward_flops);
  CHECK(biased.kept_bytes == plain.kept_bytes);
  // b*p: write 4; t + it: read 2 and 4, write 4; join: read and write 4; round: read 4, write 2.
  const double outputs = 10 * 2 * 4;
  const auto added = [&](Pass pass) {
    return vector_bytes_of(biased, pass) - vector_bytes_of(plain, pass);
  };
  CHECK(added(Pass::forward) == 28 * outputs);
  CHECK(added(Pass::backward_input) == 40 * outputs);
}

TEST_CASE("moe: a token keeps 2h + 2kh + 6kf + 2kh + 4E + 6f_s bytes") {
  const NumbersByName numbers = with(mixture, {{"shared_intermediate", 5}});
  const double token = 2 * 4 + 2 * 2 * 4 + 6 * 2 * 6 + 2 * 2 * 4 + 4 * 8 + 6 * 5;
  CHECK(work_of("moe", numbers, CellShape{.sequence = 10}).kept_bytes == 10 * token);
  const CellShape cut{.sequence = 10, .tensor = 1, .sequence_parallel = true};
  CHECK(work_of("moe", numbers, cut).kept_bytes == 10 * token);
}

TEST_CASE("moe: with tensor and sequence parallelism all that is kept is shared") {
  const NumbersByName numbers = with(mixture, {{"shared_intermediate", 6}});
  const CellShape shape{.sequence = 10, .tensor = 2, .sequence_parallel = true};
  CHECK(2 * work_of("moe", numbers, shape).kept_bytes ==
        work_of("moe", numbers, CellShape{.sequence = 10}).kept_bytes);
}

TEST_CASE("moe: an expert group shares experts, and sends tokens there and back in F and in I") {
  const CellShape shape{.sequence = 10, .expert = 4};
  const LayerWork work = work_of("moe", mixture, shape);
  const LayerWork alone = work_of("moe", mixture, CellShape{.sequence = 10});
  CHECK(work.held_expert_parameters == alone.held_expert_parameters / 4);
  CHECK(work.held_parameters == alone.held_parameters);
  // As many tokens come as go: the work of a device stays what it was.
  CHECK(flops_of(work, Pass::forward) == flops_of(alone, Pass::forward));
  CHECK(work.forward_flops == alone.forward_flops);
  for (const Pass pass : {Pass::forward, Pass::backward_input}) {
    CHECK(collectives_of(work, pass, Group::expert) == "all_to_all 160 x2");
  }
  CHECK(collectives_of(alone, Pass::forward, Group::expert).empty());
}

TEST_CASE("moe: imbalance multiplies the experts' time, memory and traffic, not FLOPs that count") {
  const CellShape shape{.sequence = 10, .expert = 2};
  const LayerWork even = work_of("moe", mixture, shape);
  const LayerWork uneven = work_of("moe", with(mixture, {{"imbalance", 1.5}}), shape);
  const double experts = 2.0 * 10 * 2 * 72;
  CHECK(flops_of(uneven, Pass::forward) - flops_of(even, Pass::forward) == experts / 2);
  CHECK(uneven.kept_bytes - even.kept_bytes == 10 * (2 * 2 * 4 + 6 * 2 * 6 + 2 * 2 * 4) / 2);
  CHECK(collectives_of(uneven, Pass::forward, Group::expert) == "all_to_all 240 x2");
  CHECK(uneven.forward_flops == even.forward_flops);
}

TEST_CASE("moe: a token meets an expert at most once, which bounds the imbalance") {
  const auto uneven = [](double imbalance, double expert) {
    const CellShape shape{.sequence = 10, .expert = expert};
    return work_of("moe", with(mixture, {{"imbalance", imbalance}}), shape);
  };
  // Of 8 experts a token chooses 2. On 8 devices the busiest gets each token once, where the mean
  // is 2 / 8; on 2 devices twice, where the mean is 1.
  uneven(4, 8);
  uneven(2, 2);
  CHECK_THROWS_WITH_AS(uneven(4.5, 8), doctest::Contains("it is 4.5; it must be at most experts"),
                       InputError);
  CHECK_THROWS_WITH_AS(uneven(2.5, 2), doctest::Contains("that share the experts, 2:"), InputError);
  // One device has all tokens, which is the mean.
  CHECK(flops_of(uneven(4, 1), Pass::forward) == flops_of(uneven(1, 1), Pass::forward));
}

TEST_CASE("moe: with a capacity experts are padded to it, whatever the imbalance") {
  const CellShape shape{.sequence = 10, .expert = 2};
  const LayerWork padded =
      work_of("moe", with(mixture, {{"capacity_factor", 1.25}, {"imbalance", 3}}), shape);
  const LayerWork uneven = work_of("moe", with(mixture, {{"imbalance", 1.25}}), shape);
  CHECK(flops_of(padded, Pass::forward) == flops_of(uneven, Pass::forward));
  CHECK(padded.kept_bytes == uneven.kept_bytes);
}

TEST_CASE("moe: a tensor group sums once where it has all tokens, and gathers what it shares") {
  CellShape shape{.sequence = 10, .tensor = 2};
  CHECK(collectives_of(work_of("moe", mixture, shape), Pass::forward, Group::tensor) ==
        "all_reduce 80");
  shape.sequence_parallel = true;
  const LayerWork work = work_of("moe", mixture, shape);
  CHECK(collectives_of(work, Pass::forward, Group::expert_tensor) ==
        "all_gather 160, reduce_scatter 160");
  CHECK(collectives_of(work, Pass::backward_input, Group::expert_tensor) ==
        "reduce_scatter 160, all_gather 160");
  CHECK(collectives_of(work, Pass::backward_weight, Group::expert_tensor) == "all_gather 160");
  CHECK(collectives_of(work, Pass::forward, Group::tensor).empty());
}

TEST_CASE("moe: whole experts compute the tokens that a device brings, those of others stay") {
  // Ten tokens over a tensor group of two: five each, with two experts of eight a device.
  CellShape split{.sequence = 10, .tensor = 2, .expert = 4, .sequence_parallel = true};
  CellShape whole = split;
  whole.expert_tensor = 1;
  const LayerWork apart = work_of("moe", mixture, split), work = work_of("moe", mixture, whole);
  CHECK(work.held_expert_parameters == 2 * apart.held_expert_parameters);
  CHECK(work.parameters == apart.parameters);
  CHECK(work.forward_flops == apart.forward_flops);
  CHECK(flops_of(work, Pass::forward) == flops_of(apart, Pass::forward));
  CHECK(work.kept_bytes == apart.kept_bytes);
  for (const Pass pass : {Pass::forward, Pass::backward_input}) {
    CHECK(collectives_of(work, pass, Group::expert) == "all_to_all 80 x2");
    CHECK(collectives_of(apart, pass, Group::expert) == "all_to_all 80 x2");
    CHECK(collectives_of(work, pass, Group::expert_tensor).empty());
    CHECK(collectives_of(work, pass, Group::tensor).empty());
  }
}

TEST_CASE("moe: half a tensor group shares an expert, and gathers its tokens alone") {
  const CellShape shape{.sequence = 20, .tensor = 4, .expert_tensor = 2, .sequence_parallel = true};
  const LayerWork work = work_of("moe", mixture, shape);
  CHECK(work.held_expert_parameters == 8 * 72 / 2);
  // Five tokens a device, ten of two: each goes to two experts.
  CHECK(collectives_of(work, Pass::forward, Group::expert_tensor) ==
        "all_gather 160, reduce_scatter 160");
  // Shared experts are split over the whole group, and gather its twenty tokens.
  const LayerWork shared = work_of("moe", with(mixture, {{"shared_intermediate", 8}}), shape);
  CHECK(collectives_of(shared, Pass::forward, Group::expert_tensor) ==
        "all_gather 160, reduce_scatter 160");
  CHECK(collectives_of(shared, Pass::forward, Group::tensor) ==
        "all_gather 160, reduce_scatter 160");
}

TEST_CASE("moe: without sequence parallelism each device routes its share of the tokens") {
  const CellShape shape{.sequence = 10, .tensor = 2, .expert = 4, .expert_tensor = 1};
  const LayerWork work = work_of("moe", mixture, shape);
  CHECK(collectives_of(work, Pass::forward, Group::expert) == "all_to_all 80 x2");
  // What comes back is gathered, and so are the gradients of what was sent.
  CHECK(collectives_of(work, Pass::forward, Group::tensor) == "all_gather 80");
  CHECK(collectives_of(work, Pass::backward_input, Group::tensor) == "all_gather 80");
  // Shared experts bring partial sums of the same tokens: one reduction for both.
  const LayerWork shared = work_of("moe", with(mixture, {{"shared_intermediate", 6}}), shape);
  CHECK(collectives_of(shared, Pass::forward, Group::tensor) == "all_reduce 80");
  CHECK(collectives_of(shared, Pass::backward_input, Group::tensor) == "all_reduce 80");
}

TEST_CASE(
    "moe: more chosen experts than there are, or a group that does not divide them, is wrong") {
  CHECK_THROWS_WITH_AS(work_of("moe", with(mixture, {{"chosen", 9}})),
                       "it is 9; it must be at most experts, 8", InputError);
  CHECK_THROWS_AS(work_of("moe", mixture, CellShape{.expert = 3}), InputError);
}

}  // namespace penstock::testing
