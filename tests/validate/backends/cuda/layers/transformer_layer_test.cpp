#include "validate/backends/cuda/layers/transformer_layer.hpp"

#include <doctest/doctest.h>

#include "tests/validate/backends/cuda/layers/layer_comparison.hpp"

namespace penstock::testing {
namespace {

constexpr unsigned small_head = 4;
using SmallShape = TransformerForm<small_head>;

SmallShape small_shape(bool gated) { return SmallShape({2, 5, 3, 10, gated}); }

}  // namespace

/// The layer of the reference: two norms, attention and a feed-forward network, with residuals.
struct ReferenceTransformer {
  ReferenceLayer first_norm, attention, second_norm, mlp;

  explicit ReferenceTransformer(const SmallShape& shape)
      : first_norm("norm", {{"hidden", shape.hidden()}, {"bias", 1}}, cell_of(shape)),
        attention("attention", {{"hidden", shape.hidden()}, {"heads", shape.heads}},
                  cell_of(shape)),
        second_norm("norm", {{"hidden", shape.hidden()}, {"bias", 1}}, cell_of(shape)),
        mlp("mlp",
            {{"hidden", shape.hidden()}, {"intermediate", shape.inner}, {"gated", shape.gated}},
            cell_of(shape)) {
    second_norm.weights = initial_weights(second_norm.kernel->weights(second_norm.numbers), 3, 99);
  }

  static KernelCell cell_of(const SmallShape& shape) {
    return {.examples = shape.examples, .tokens = shape.tokens};
  }

  Tensor forward(const Tensor& in) {
    const Tensor middle = sum_of(attention.forward(first_norm.forward(in)), in);
    return sum_of(mlp.forward(second_norm.forward(middle)), middle);
  }

  Tensor back(const Tensor& gradient) {
    const Tensor middle = sum_of(second_norm.back(mlp.back(gradient)), gradient);
    return sum_of(first_norm.back(attention.back(middle)), middle);
  }

  std::vector<ReferenceLayer*> parts() { return {&first_norm, &attention, &second_norm, &mlp}; }
};

/// In the order of the reference.
template <class Number>
std::vector<Number*> parts_of(const SmallShape& shape, const TransformerWeights<Number>& all) {
  return {all.first_norm,  all.first_norm + shape.hidden(),  all.project, all.bring_together,
          all.second_norm, all.second_norm + shape.hidden(), all.into,    all.out_of};
}

/// A layer as the GPU runs it, here.
template <class Number>
struct OwnTransformer {
  using Reference = ReferenceTransformer;
  SmallShape shape;
  Carved<TransformerWeights<Number>> weights{shape};
  Carved<TransformerWeights<SumOf<Number>>> sums{shape};
  Carved<TransformerKept<Number>> kept{shape};
  Carved<TransformerScratch<Number>> scratch{shape};

  std::size_t columns() const { return shape.columns(); }
  std::size_t numbers_in() const { return shape.numbers(); }
  std::size_t numbers_out() const { return shape.numbers(); }
  ReferenceTransformer reference() const { return ReferenceTransformer(shape); }
  TransformerLayer<Number, small_head> layer(const LayerEnds<Number>& ends) {
    return {shape, weights.value, sums.value, kept.value, scratch.value, ends};
  }
  std::vector<Number*> weight_parts() { return parts_of(shape, weights.value); }
  std::vector<SumOf<Number>*> sum_parts() { return parts_of(shape, sums.value); }
};

// In doubles only the order of sums differs; floats have 24 bits and bf16 numbers 8, of which each
// of a dozen steps rounds.
TEST_CASE("gpu transformer layer: results and gradients are those of the reference kernels") {
  for (const bool gated : {false, true}) {
    CAPTURE(gated);
    CHECK(distance<double, OwnTransformer>(small_shape(gated)) < 1e-12);
    CHECK(distance<float, OwnTransformer>(small_shape(gated)) < 1e-5);
    CHECK(distance<Bf16, OwnTransformer>(small_shape(gated)) < 0.04);
  }
}

// Sums of 75 columns for W are of two parts of 64 and 11.
TEST_CASE("gpu transformer layer: sums over many columns have parts") {
  CHECK(norm_parts<double>(64) == 1);
  CHECK(norm_parts<double>(75) == 2);
  CHECK(distance<double, OwnTransformer>(SmallShape({3, 25, 2, 6, false})) < 1e-12);
}

TEST_CASE("gpu transformer layer: gradients are those that differences show") {
  for (const bool gated : {false, true}) {
    CAPTURE(gated);
    const auto both = gradients_and_differences<OwnTransformer>(small_shape(gated));
    const std::vector<double>& gradients = both.first.values;
    const std::vector<double>& differences = both.second.values;
    REQUIRE(gradients.size() == differences.size());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      CAPTURE(i);
      CHECK(differences[i] == doctest::Approx(gradients[i]).epsilon(1e-6));
    }
  }
}

TEST_CASE("gpu transformer layer: gradient sums grow with each W") {
  LayerPair<double, OwnTransformer> pair(small_shape(true));
  pair.forward(pair.drawn_in());
  pair.back(pair.drawn_gradient());
  const auto sums = pair.own.sum_parts();
  std::vector<double> once;
  for (const double* sum : sums) once.push_back(*sum);
  pair.own.layer(pair.ends()).weight_gradient(on_host);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    CHECK(*sums[i] == doctest::Approx(2 * once[i]).epsilon(1e-12));
  }
}

}  // namespace penstock::testing
