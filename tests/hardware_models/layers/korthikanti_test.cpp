#include <doctest/doctest.h>

#include <array>

#include "tests/support/layers.hpp"

// Reducing Activation Recomputation (Korthikanti et al., arXiv 2205.05198): what a block keeps, and
// the memory of four models on the first rank of 1F1B.

namespace penstock::testing {
namespace {

constexpr double korthikanti_gib = 1024.0 * 1024 * 1024;

struct Model {
  const char* name;
  double heads, hidden, layers;
  double tensor, pipeline, chunks, microbatch;
  // GiB of figure 1, as calculon/llm/validation.py (calculon-ai/calculon) lists them.
  double parameters_and_optimizer, all_activations, fewest_activations;
};

// Table 3 of the paper.
constexpr std::array models{
    Model{"22B", 64, 6144, 48, 8, 1, 1, 4, 45.5625, 59.25, 9.5625},
    Model{"175B", 96, 12288, 96, 8, 8, 3, 1, 45.5625, 66.84375, 12.3515625},
    Model{"530B", 128, 20480, 105, 8, 35, 3, 1, 31.640625, 114.0234375, 23.076171875},
    Model{"1T", 160, 25600, 128, 8, 64, 1, 1, 32.958984375, 131.25, 26.5625}};

CellShape shape_of(const Model& model, bool sequence_parallel) {
  return {.sequence = 2048,
          .microbatch = model.microbatch,
          .tensor = model.tensor,
          .sequence_parallel = sequence_parallel};
}

/// The first rank of 1F1B holds as many activations as there are layers; interleaved, some more.
double layers_held(const Model& model) {
  const double more = (model.pipeline - 1) / (model.pipeline * model.chunks);
  return model.layers * (model.chunks > 1 ? 1 + more : 1);
}

}  // namespace

TEST_CASE("the classic block keeps sbh(34 + 5as/h) bytes, and less where a group shares them") {
  const double s = 2048, b = 4, h = 6144, a = 64, t = 8;
  const Layers block = classic_block(h, a);
  const double scores = 5 * a * s * s * b;
  CellShape shape{.sequence = s, .microbatch = b};
  CHECK(work_of(block, shape).kept_bytes == 34 * s * b * h + scores);
  CHECK(work_of(block, shape).kept_selective_bytes == 34 * s * b * h);
  shape.tensor = t;
  CHECK(work_of(block, shape).kept_bytes == (10 + 24 / t) * s * b * h + scores / t);
  CHECK(work_of(block, shape).kept_selective_bytes == (10 + 24 / t) * s * b * h);
  CHECK(work_of(block, shape).input_bytes == 2 * s * b * h);
  shape.sequence_parallel = true;
  CHECK(work_of(block, shape).kept_bytes == (34 * s * b * h + scores) / t);
  CHECK(work_of(block, shape).kept_selective_bytes == 34 * s * b * h / t);
  CHECK(work_of(block, shape).input_bytes == 2 * s * b * h / t);
}

TEST_CASE("without dropout the classic block keeps no masks: sbh(32 + 2as/h) bytes") {
  const double s = 1024, b = 2, h = 512, a = 8;
  const LayerWork work =
      work_of(classic_block(h, a, false), CellShape{.sequence = s, .microbatch = b});
  CHECK(work.kept_bytes == 32 * s * b * h + 2 * a * s * s * b);
  CHECK(work.kept_selective_bytes == 32 * s * b * h);
}

TEST_CASE("a modern block keeps 8h + 4ad + 4gd + 4a + 6f bytes a token") {
  const double h = 4096, a = 32, g = 8, d = 128, f = 14336, s = 8192, t = 4, c = 2;
  const Layers block = {
      spec("norm", {{"hidden", h}}),
      spec("attention", {{"hidden", h}, {"heads", a}, {"kv_heads", g}, {"head_dim", d}}),
      spec("norm", {{"hidden", h}}),
      spec("mlp", {{"hidden", h}, {"intermediate", f}, {"gated", 1}})};
  CellShape shape{.sequence = s};
  const double kept = s * (8 * h + 4 * a * d + 4 * g * d + 4 * a + 6 * f);
  CHECK(work_of(block, shape).kept_bytes == kept);
  CHECK(work_of(block, shape).kept_selective_bytes == kept - s * 4 * a);
  shape.tensor = t;
  shape.context = c;
  shape.sequence_parallel = true;
  CHECK(work_of(block, shape).kept_bytes == kept / t / c);
}

TEST_CASE("the twelve memory figures of four models come out to every printed digit") {
  for (const Model& model : models) {
    CAPTURE(model.name);
    // 18 bytes a weight; the figures leave biases, norms and embeddings out.
    const LayerWork weights =
        work_of(Layers{spec("attention", {{"hidden", model.hidden}, {"heads", model.heads}}),
                       spec("mlp", {{"hidden", model.hidden}, {"intermediate", 4 * model.hidden}})},
                shape_of(model, false));
    CHECK(weights.held_parameters * 18 * model.layers / model.pipeline / korthikanti_gib ==
          model.parameters_and_optimizer);
    const Layers block = classic_block(model.hidden, model.heads);
    const double all = work_of(block, shape_of(model, false)).kept_bytes;
    CHECK(all * layers_held(model) / korthikanti_gib ==
          doctest::Approx(model.all_activations).epsilon(1e-12));
    const double fewest = work_of(block, shape_of(model, true)).kept_selective_bytes;
    CHECK(fewest * layers_held(model) / korthikanti_gib ==
          doctest::Approx(model.fewest_activations).epsilon(1e-12));
  }
}

}  // namespace penstock::testing
