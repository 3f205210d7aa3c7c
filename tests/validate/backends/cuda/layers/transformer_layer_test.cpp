#include "validate/backends/cuda/layers/transformer_layer.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "tests/validate/backends/cuda/layers/layer_comparison.hpp"
#include "validate/backends/cuda/layers/host_run.hpp"

namespace penstock::testing {
namespace {

constexpr unsigned small_head = 4;
using SmallShape = TransformerForm<small_head>;

SmallShape small_shape(bool gated) { return SmallShape({2, 5, 3, 10, gated}); }

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

  /// In the order of `parts_of`.
  std::vector<Tensor*> weights() {
    return {&first_norm.weights[0], &first_norm.weights[1],  &attention.weights[0],
            &attention.weights[1],  &second_norm.weights[0], &second_norm.weights[1],
            &mlp.weights[0],        &mlp.weights[1]};
  }
  std::vector<const Tensor*> sums() const {
    return {&first_norm.sums[0],  &first_norm.sums[1],  &attention.sums[0], &attention.sums[1],
            &second_norm.sums[0], &second_norm.sums[1], &mlp.sums[0],       &mlp.sums[1]};
  }
};

template <class Number>
std::vector<Number*> parts_of(const SmallShape& shape, const TransformerWeights<Number>& all) {
  return {all.first_norm,  all.first_norm + shape.hidden(),  all.project, all.bring_together,
          all.second_norm, all.second_norm + shape.hidden(), all.into,    all.out_of};
}

/// A layer as the GPU runs it, here.
template <class Number>
struct OwnTransformer {
  SmallShape shape;
  Carved<TransformerWeights<Number>> weights;
  Carved<TransformerWeights<SumOf<Number>>> sums;
  Carved<TransformerKept<Number>> kept;
  Carved<TransformerScratch<Number>> scratch;
  std::vector<Number> in, out, out_gradient, in_gradient;

  OwnTransformer(const SmallShape& the_shape, ReferenceTransformer& reference)
      : shape(the_shape), weights(shape), sums(shape), kept(shape), scratch(shape) {
    for (auto* all : {&in, &out, &out_gradient, &in_gradient}) all->resize(shape.numbers());
    const auto parts = parts_of(shape, weights.value);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      round_all<Number>(*reference.weights()[i]);
      write(*reference.weights()[i], parts[i]);
    }
  }

  TransformerLayer<Number, small_head> layer() {
    return {shape,         weights.value,
            sums.value,    kept.value,
            scratch.value, {in.data(), out.data(), out_gradient.data(), in_gradient.data()}};
  }

  Tensor forward(const Tensor& tensor) {
    constexpr OnHost host{};
    write(tensor, in.data());
    layer().forward(host);
    return read(out.data(), shape.hidden(), shape.columns());
  }

  Tensor back(const Tensor& gradient) {
    constexpr OnHost host{};
    write(gradient, out_gradient.data());
    layer().input_gradient(host);
    layer().weight_gradient(host);
    return read(in_gradient.data(), shape.hidden(), shape.columns());
  }
};

/// The furthest that results and gradients are from those of the reference.
template <class Number>
double distance(const SmallShape& shape) {
  ReferenceTransformer reference(shape);
  OwnTransformer<Number> own(shape, reference);
  Tensor in = drawn_tensor(shape.hidden(), shape.columns(), 1);
  Tensor gradient = drawn_tensor(shape.hidden(), shape.columns(), 2);
  for (Tensor* tensor : {&in, &gradient}) round_all<Number>(*tensor);
  double worst = furthest(own.forward(in), reference.forward(in));
  worst = std::max(worst, furthest(own.back(gradient), reference.back(gradient)));
  const auto sums = parts_of(shape, own.sums.value);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Tensor& right = *reference.sums()[i];
    CAPTURE(i);
    const double off = furthest(read(sums[i], right.rows, right.columns), right);
    CHECK(off < 1);
    worst = std::max(worst, off);
  }
  return worst;
}

}  // namespace

// In doubles only the order of sums differs; floats have 24 bits and bf16 numbers 8, of which each
// of a dozen steps rounds.
TEST_CASE("gpu transformer layer: results and gradients are those of the reference kernels") {
  for (const bool gated : {false, true}) {
    CAPTURE(gated);
    CHECK(distance<double>(small_shape(gated)) < 1e-12);
    CHECK(distance<float>(small_shape(gated)) < 1e-5);
    CHECK(distance<Bf16>(small_shape(gated)) < 0.04);
  }
}

// Sums of 75 columns for W are of two parts of 64 and 11.
TEST_CASE("gpu transformer layer: sums over many columns have parts") {
  CHECK(norm_parts<double>(64) == 1);
  CHECK(norm_parts<double>(75) == 2);
  CHECK(distance<double>(SmallShape({3, 25, 2, 6, false})) < 1e-12);
}

TEST_CASE("gpu transformer layer: gradients are those that differences show") {
  for (const bool gated : {false, true}) {
    CAPTURE(gated);
    const SmallShape shape = small_shape(gated);
    ReferenceTransformer reference(shape);
    OwnTransformer<double> own(shape, reference);
    const Tensor in = drawn_tensor(shape.hidden(), shape.columns(), 1);
    const Tensor factors = drawn_tensor(shape.hidden(), shape.columns(), 2);
    own.forward(in);
    const Tensor in_gradient = own.back(factors);
    const auto value = [&] {
      const Tensor out = own.forward(read(own.in.data(), shape.hidden(), shape.columns()));
      double sum = 0;
      for (std::size_t i = 0; i < out.values.size(); ++i) sum += out.values[i] * factors.values[i];
      return sum;
    };
    const auto slope = [&](double& at) {
      constexpr double step = 1e-5;
      const double here = at;
      at = here + step;
      const double above = value();
      at = here - step;
      const double below = value();
      at = here;
      return (above - below) / (2 * step);
    };
    for (std::size_t i = 0; i < own.in.size(); i += 7) {
      CHECK(slope(own.in[i]) == doctest::Approx(in_gradient.values[i]).epsilon(1e-6));
    }
    const auto weights = parts_of(shape, own.weights.value);
    const auto sums = parts_of(shape, own.sums.value);
    for (std::size_t part = 0; part < weights.size(); ++part) {
      CAPTURE(part);
      const std::size_t count = reference.weights()[part]->values.size();
      for (std::size_t i = 0; i < count; i += 1 + count / 8) {
        CHECK(slope(weights[part][i]) == doctest::Approx(sums[part][i]).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("gpu transformer layer: gradient sums grow with each W") {
  const SmallShape shape = small_shape(true);
  ReferenceTransformer reference(shape);
  OwnTransformer<double> own(shape, reference);
  constexpr OnHost host{};
  own.forward(drawn_tensor(shape.hidden(), shape.columns(), 1));
  own.back(drawn_tensor(shape.hidden(), shape.columns(), 2));
  const auto sums = parts_of(shape, own.sums.value);
  std::vector<double> once;
  for (const double* sum : sums) once.push_back(*sum);
  own.layer().weight_gradient(host);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    CHECK(*sums[i] == doctest::Approx(2 * once[i]).epsilon(1e-12));
  }
}

}  // namespace penstock::testing
