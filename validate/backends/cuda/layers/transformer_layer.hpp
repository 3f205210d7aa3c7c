#pragma once

#include "validate/backends/cuda/layers/activation.hpp"
#include "validate/backends/cuda/layers/causal_attention.hpp"
#include "validate/backends/cuda/layers/layer_norm.hpp"
#include "validate/backends/cuda/layers/matrix_product.hpp"
#include "validate/backends/cuda/layers/memory.hpp"
#include "validate/backends/cuda/layers/sums.hpp"

namespace penstock {

// A transformer layer: norm, causal attention, residual, norm, feed-forward network with GELU or
// SwiGLU, residual. Its passes say what to run in which order, to an `out` with step() and
// product(): the GPU launches that, and the host runs it.

struct TransformerSizes {
  std::uint32_t examples;
  std::uint32_t tokens;  // of an example
  std::uint32_t heads;
  std::uint32_t inner;  // of the feed-forward network
  bool gated;           // SwiGLU
};

/// The same with the size of a head, and what follows.
template <unsigned head>
struct TransformerForm : TransformerSizes {
  explicit TransformerForm(const TransformerSizes& sizes) : TransformerSizes(sizes) {}

  std::uint32_t hidden() const { return heads * head; }
  std::uint32_t columns() const { return examples * tokens; }
  std::uint32_t wide() const { return gated ? 2 * inner : inner; }
  std::uint64_t numbers() const { return std::uint64_t{columns()} * hidden(); }
  std::uint64_t inner_numbers() const { return std::uint64_t{columns()} * inner; }
  std::uint64_t wide_numbers() const { return std::uint64_t{columns()} * wide(); }
  AttentionSizes<head> attention() const { return {examples, tokens, heads}; }
};

/// Weights, or the sums of their gradients.
template <class Number>
struct TransformerWeights {
  Number* first_norm;  // gain, then shift
  Number* project;     // to queries, keys and values
  Number* bring_together;
  Number* second_norm;
  Number* into;
  Number* out_of;

  template <unsigned head>
  TransformerWeights(const TransformerForm<head>& shape, Carver& carver)
      : first_norm(carver.take<Number>(2 * shape.hidden())),
        project(carver.take<Number>(std::uint64_t{3} * shape.hidden() * shape.hidden())),
        bring_together(carver.take<Number>(std::uint64_t{1} * shape.hidden() * shape.hidden())),
        second_norm(carver.take<Number>(2 * shape.hidden())),
        into(carver.take<Number>(std::uint64_t{1} * shape.wide() * shape.hidden())),
        out_of(carver.take<Number>(std::uint64_t{1} * shape.hidden() * shape.inner)) {}
};

/// What F leaves for I and W, and I for W.
template <class Number>
struct TransformerKept {
  using Sum = SumOf<Number>;
  NormScales<Number> first_scales, second_scales;
  Number *first_normed, *projected, *attended, *middle, *second_normed, *wide, *active;
  Sum* log_sums;
  Number *first_gradient, *projected_gradient, *middle_gradient, *second_gradient, *wide_gradient;

  template <unsigned head>
  TransformerKept(const TransformerForm<head>& shape, Carver& carver) {
    const std::uint64_t all = shape.numbers();
    for (NormScales<Number>* scales : {&first_scales, &second_scales}) {
      scales->means = carver.take<Sum>(shape.columns());
      scales->scales = carver.take<Sum>(shape.columns());
    }
    for (Number** place : {&first_normed, &attended, &middle, &second_normed, &first_gradient,
                           &middle_gradient, &second_gradient}) {
      *place = carver.take<Number>(all);
    }
    for (Number** place : {&projected, &projected_gradient}) *place = carver.take<Number>(3 * all);
    for (Number** place : {&wide, &wide_gradient}) {
      *place = carver.take<Number>(shape.wide_numbers());
    }
    active = carver.take<Number>(shape.inner_numbers());
    log_sums = carver.take<Sum>(shape.attention().rows());
  }
};

/// What a pass alone needs.
template <class Number>
struct TransformerScratch {
  Number* numbers;
  Number* inner_numbers;
  SumOf<Number>* mean_slopes;
  SumOf<Number>* parts;

  template <unsigned head>
  TransformerScratch(const TransformerForm<head>& shape, Carver& carver)
      : numbers(carver.take<Number>(shape.numbers())),
        inner_numbers(carver.take<Number>(shape.inner_numbers())),
        mean_slopes(carver.take<SumOf<Number>>(shape.attention().rows())),
        parts(carver.take<SumOf<Number>>(std::uint64_t{2} * shape.hidden() *
                                         norm_parts<Number>(shape.columns()))) {}
};

/// A layer in a pass.
template <class Number, unsigned head>
struct TransformerLayer {
  TransformerForm<head> shape;
  TransformerWeights<Number> weights;
  TransformerWeights<SumOf<Number>> sums;
  TransformerKept<Number> kept;
  TransformerScratch<Number> scratch;
  LayerEnds<Number> ends;

  template <class Out>
  void forward(Out& out) const {
    norm(out, ends.in, weights.first_norm, kept.first_normed, kept.first_scales);
    dense(out, 3 * shape.hidden(), shape.hidden(), weights.project, kept.first_normed,
          kept.projected);
    const auto attention = shape.attention();
    out.step(CausalAttention<Number, head>{attention.rows(), attention, kept.projected,
                                           kept.attended, kept.log_sums});
    dense(out, shape.hidden(), shape.hidden(), weights.bring_together, kept.attended,
          scratch.numbers);
    out.step(Added<Number>{shape.numbers(), ends.in, scratch.numbers, kept.middle});
    norm(out, kept.middle, weights.second_norm, kept.second_normed, kept.second_scales);
    dense(out, shape.wide(), shape.hidden(), weights.into, kept.second_normed, kept.wide);
    out.step(Activation<Number>{shape.inner_numbers(), shape.inner, shape.gated, kept.wide,
                                kept.active});
    dense(out, shape.hidden(), shape.inner, weights.out_of, kept.active, scratch.numbers);
    out.step(Added<Number>{shape.numbers(), kept.middle, scratch.numbers, ends.out});
  }

  template <class Out>
  void input_gradient(Out& out) const {
    dense_gradient(out, shape.hidden(), shape.inner, weights.out_of, ends.out_gradient,
                   scratch.inner_numbers);
    out.step(ActivationGradient<Number>{shape.inner_numbers(), shape.inner, shape.gated, kept.wide,
                                        scratch.inner_numbers, kept.wide_gradient});
    dense_gradient(out, shape.wide(), shape.hidden(), weights.into, kept.wide_gradient,
                   kept.second_gradient);
    out.step(LayerNormGradient<Number>{
        shape.columns(), shape.hidden(), kept.middle, weights.second_norm, kept.second_scales,
        kept.second_gradient, ends.out_gradient, kept.middle_gradient});
    dense_gradient(out, shape.hidden(), shape.hidden(), weights.bring_together,
                   kept.middle_gradient, scratch.numbers);
    const auto attention = shape.attention();
    const AttentionGradient<Number, head> all{
        attention.rows(), attention,       kept.projected,      kept.attended,
        kept.log_sums,    scratch.numbers, scratch.mean_slopes, kept.projected_gradient};
    out.step(QueryGradient<Number, head>{all});
    out.step(KeyGradient<Number, head>{all});
    dense_gradient(out, 3 * shape.hidden(), shape.hidden(), weights.project,
                   kept.projected_gradient, kept.first_gradient);
    out.step(LayerNormGradient<Number>{shape.columns(), shape.hidden(), ends.in, weights.first_norm,
                                       kept.first_scales, kept.first_gradient, kept.middle_gradient,
                                       ends.in_gradient});
  }

  template <class Out>
  void weight_gradient(Out& out) const {
    dense_sums(out, shape.hidden(), shape.inner, ends.out_gradient, kept.active, sums.out_of);
    dense_sums(out, shape.wide(), shape.hidden(), kept.wide_gradient, kept.second_normed,
               sums.into);
    norm_sums(out, kept.middle, kept.second_scales, kept.second_gradient, sums.second_norm);
    dense_sums(out, shape.hidden(), shape.hidden(), kept.middle_gradient, kept.attended,
               sums.bring_together);
    dense_sums(out, 3 * shape.hidden(), shape.hidden(), kept.projected_gradient, kept.first_normed,
               sums.project);
    norm_sums(out, ends.in, kept.first_scales, kept.first_gradient, sums.first_norm);
  }

 private:
  template <class Out>
  void norm(Out& out, const Number* in, const Number* own, Number* normed,
            const NormScales<Number>& scales) const {
    out.step(LayerNorm<Number>{shape.columns(), shape.hidden(), in, own, normed, scales});
  }

  template <class Out>
  void norm_sums(Out& out, const Number* in, const NormScales<Number>& scales,
                 const Number* gradient, SumOf<Number>* own) const {
    const std::uint32_t parts = norm_parts<Number>(shape.columns());
    out.step(NormWeightParts<Number>{std::uint64_t{parts} * shape.hidden(), shape.hidden(),
                                     shape.columns(), in, scales, gradient, scratch.parts});
    out.step(AddedParts<Number>{2 * shape.hidden(), parts, scratch.parts, own});
  }

  /// to = weights * from.
  template <class Out>
  void dense(Out& out, std::uint32_t rows, std::uint32_t inner, const Number* own,
             const Number* from, Number* to) const {
    out.product(LayerProduct<Number>{rows, shape.columns(), inner, {}, own, from, to});
  }

  /// to = transposed weights * gradient.
  template <class Out>
  void dense_gradient(Out& out, std::uint32_t rows, std::uint32_t inner, const Number* own,
                      const Number* gradient, Number* to) const {
    ProductForm form;
    form.a_transposed = true;
    out.product(LayerProduct<Number>{inner, shape.columns(), rows, form, own, gradient, to});
  }

  /// own += gradient * transposed input.
  template <class Out>
  void dense_sums(Out& out, std::uint32_t rows, std::uint32_t inner, const Number* gradient,
                  const Number* in, SumOf<Number>* own) const {
    ProductForm form;
    form.b_transposed = true;
    form.result = ProductResult::added;
    out.product(LayerProduct<Number>{rows, inner, shape.columns(), form, gradient, in, own});
  }
};

}  // namespace penstock
