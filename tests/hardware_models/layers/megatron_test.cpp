#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/layers.hpp"

// Megatron-LM (Narayanan et al., arXiv 2104.04473): parameters and FLOPs of tables 1 and 2.

namespace penstock::testing {
namespace {

using nlohmann::json;

constexpr double words = 51200;
constexpr double sequence = 2048;
constexpr double peak_tflops = 312;  // A100, dense, fp16

struct Sums {
  double parameters = 0;
  double flops = 0;  // of one example, with full recomputation
};

/// The model of a row. The paper's formulas leave the last norm out; the embedding serves as head.
Sums sums_of(double heads, double hidden, double layers) {
  const CellShape shape{.sequence = sequence};
  const LayerWork block = work_of(classic_block(hidden, heads), shape);
  const LayerWork embedding =
      work_of("embedding", {{"vocab", words}, {"hidden", hidden}, {"positions", sequence}}, shape);
  const LayerWork head =
      work_of("head", {{"vocab", words}, {"hidden", hidden}, {"tied", 1}}, shape);
  const auto passes = [](const LayerWork& work, double forwards) {
    return forwards * flops_of(work, Pass::forward) + flops_of(work, Pass::backward_input) +
           flops_of(work, Pass::backward_weight);
  };
  return {layers * block.parameters + embedding.parameters + head.parameters,
          layers * passes(block, 2) + passes(head, 1)};
}

/// Half a unit of the last digit that is printed of a number that others are made from.
bool within(double ours, double printed, double half_a_digit) {
  return std::abs(ours - printed) <= half_a_digit * (1 + 1e-9);
}

}  // namespace

TEST_CASE("Megatron: parameters are 12lh^2(1 + 13/(12h) + (V+s)/(12lh)), exactly") {
  const double l = 96, h = 12288;
  CHECK(sums_of(96, h, l).parameters == 12 * l * h * h + 13 * l * h + (words + sequence) * h);
}

TEST_CASE("Megatron: an iteration runs 96Bslh^2(1 + s/(6h) + V/(16lh)) FLOPs, exactly") {
  const double l = 96, h = 12288;
  CHECK(sums_of(96, h, l).flops ==
        96 * sequence * l * h * h + 16 * sequence * sequence * l * h + 6 * sequence * h * words);
}

TEST_CASE("Megatron: FLOPs of the model are those of its kernels where all are useful") {
  const LayerWork block = work_of(classic_block(1024, 16), CellShape{.sequence = sequence});
  CHECK(block.forward_flops == flops_of(block, Pass::forward));
  CHECK(block.backward_flops ==
        flops_of(block, Pass::backward_input) + flops_of(block, Pass::backward_weight));
  CHECK(block.backward_flops == 2 * block.forward_flops);
  CHECK(block.full_attention_flops == 0);  // scores behind the mask are computed all the same
}

TEST_CASE("Megatron: table 1 has our parameters, and its columns of FLOPs go together") {
  const auto paper = oracle("papers/megatron_sc21.json");
  if (!paper) return;
  for (const json& row : (*paper)["table1"]["rows"]) {
    const double printed = row[0], gpus = row[6], tflops = row[8];
    CAPTURE(printed);
    const double billions = sums_of(row[1], row[2], row[3]).parameters / 1e9;
    CHECK(within(billions, printed, 0.05));
    // TFLOPs are printed without a fraction.
    CHECK(within(tflops / peak_tflops * 100, row[9], 0.5 + 50 / peak_tflops));
    CHECK(within(tflops * gpus / 1000, row[10], 0.05 + gpus / 2000));
  }
}

TEST_CASE("Megatron: table 2 has the days that our FLOPs take at the speed of its rows") {
  const auto paper = oracle("papers/megatron_sc21.json");
  if (!paper) return;
  for (const json& row : (*paper)["table2"]["rows"]) {
    if (row[0] != "PTD") continue;
    const bool small = row[1] == 174.6;
    const Sums sums = small ? sums_of(96, 12288, 96) : sums_of(128, 20480, 105);
    const double gpus = row[4], tflops = row[6], days = row[7];
    CAPTURE(gpus);
    const double ours = sums.flops / sequence * 300e9 / (gpus * tflops * 1e12) / 86400;
    CHECK(within(ours, days, 0.5 + days * 0.5 / tflops));
  }
}

}  // namespace penstock::testing
