#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/draws.hpp"
#include "tests/support/layers.hpp"

namespace penstock::testing {
namespace {

LayerWork piece_of(NumbersByName numbers, double piece, const CellShape& shape) {
  numbers["piece"] = piece;
  return work_of("moe", numbers, shape);
}

/// A layer of experts, and who shares it.
NumbersByName random_mixture() {
  NumbersByName numbers{{"hidden", 64.0 * from_to(1, 4)},
                        {"experts", 16},
                        {"chosen", double(from_to(1, 4))},
                        {"expert_intermediate", 64.0 * from_to(1, 4)},
                        {"gated", double(below(2))}};
  if (one_in(2)) numbers["shared_intermediate"] = 128;
  if (one_in(2)) numbers["shared_gate"] = 1;
  if (one_in(2)) numbers["bias"] = 1;
  if (one_in(3)) numbers["latent"] = 32;
  if (one_in(2)) numbers["imbalance"] = 1.5;
  return numbers;
}

CellShape random_shape() {
  CellShape shape{
      .sequence = 512, .microbatch = double(from_to(1, 3)), .tensor = double(from_to(1, 2))};
  shape.expert = 1 << below(4);
  shape.sequence_parallel = shape.tensor > 1 && one_in(2);
  if (one_in(2)) shape.expert_tensor = 1;
  if (one_in(3)) shape.kept_size = 1;
  return shape;
}

/// Every kernel of a pass, in no order.
std::vector<std::string> kernels_of(const LayerWork& work) {
  std::vector<std::string> all;
  for (const Kernel& kernel : work.kernels) {
    all.push_back(fmt::format("{} {} {} {} {} {} {}", int(kernel.pass), kernel.flops, kernel.bytes,
                              kernel.grouped, kernel.routes, kernel.returns, kernel.shared));
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Every collective but those that tokens are exchanged by.
std::vector<std::string> collectives_in(const LayerWork& work) {
  std::vector<std::string> all;
  for (const Collective& one : work.collectives) {
    if (one.kind == CollectiveKind::all_to_all) continue;
    all.push_back(
        fmt::format("{} {} {} {}", int(one.pass), int(one.kind), int(one.group), one.bytes));
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("pieces of experts: together they are the whole layer") {
  CHECK(rc::check([] {
    const NumbersByName numbers = random_mixture();
    const CellShape shape = random_shape();
    const LayerWork whole = work_of("moe", numbers, shape);
    LayerWork sum = piece_of(numbers, 1, shape);
    for (const double piece : {2, 3}) append(sum, piece_of(numbers, piece, shape));
    RC_ASSERT(sum.parameters == whole.parameters);
    RC_ASSERT(sum.active_parameters == whole.active_parameters);
    RC_ASSERT(sum.held_parameters == whole.held_parameters);
    RC_ASSERT(sum.held_expert_parameters == whole.held_expert_parameters);
    RC_ASSERT(sum.forward_flops == whole.forward_flops);
    RC_ASSERT(sum.backward_flops == whole.backward_flops);
    RC_ASSERT(sum.kept_bytes == whole.kept_bytes);
    RC_ASSERT(sum.weight_bytes == whole.weight_bytes);
    RC_ASSERT(sum.pending_weight_bytes == whole.pending_weight_bytes);
    RC_ASSERT(sum.output_bytes == whole.output_bytes);
    RC_ASSERT(kernels_of(sum) == kernels_of(whole));
    RC_ASSERT(collectives_in(sum) == collectives_in(whole));
  }));
}

TEST_CASE(
    "pieces of experts: the first two hand tokens on, there and back, by half the exchanges") {
  const NumbersByName numbers{
      {"hidden", 64}, {"experts", 16}, {"chosen", 2}, {"expert_intermediate", 32}};
  const CellShape shape{.sequence = 512, .expert = 8};
  const LayerWork whole = work_of("moe", numbers, shape);
  REQUIRE(whole.collectives.size() == 2);
  CHECK(whole.handing_on.empty());
  for (const double piece : {1, 2}) {
    const LayerWork one = piece_of(numbers, piece, shape);
    REQUIRE(one.handing_on.size() == 2);
    for (std::size_t pass = 0; pass < 2; ++pass) {
      Collective half = whole.collectives[pass];
      half.count /= 2;
      CHECK(one.handing_on[pass] == half);
    }
    CHECK(one.output_bytes == 512 * 2 * 64 * 2);  // each token twice
  }
  CHECK(piece_of(numbers, 3, shape).handing_on.empty());
  CHECK(piece_of(numbers, 1, CellShape{.sequence = 512}).handing_on.empty());
}

}  // namespace penstock::testing
