#pragma once

#include "validate/backends/cuda/layers/image_patches.hpp"
#include "validate/backends/cuda/layers/matrix_product.hpp"
#include "validate/backends/cuda/layers/memory.hpp"
#include "validate/backends/cuda/layers/sums.hpp"

namespace penstock {

// Passes say what to run in which order, as those of transformer_layer.hpp do.

/// The products of a convolution; weights are one kernel of all images, or one of each.
template <class Number>
struct ConvolutionProducts {
  ImageSizes sizes;
  bool kernel_of_each;

  /// out = patches * kernel.
  LayerProduct<Number> forward(const Number* patches, const Number* kernel, Number* out) const {
    ProductForm form;
    form.batch = sizes.examples;
    form.a_step = patch_step();
    form.b_step = kernel_step();
    form.c_step = out_step();
    return {sizes.places_out(), sizes.channels_out, sizes.window(), form, patches, kernel, out};
  }

  /// Of patches: gradient * transposed kernel.
  LayerProduct<Number> back(const Number* gradient, const Number* kernel,
                            Number* patch_gradient) const {
    ProductForm form;
    form.b_transposed = true;
    form.batch = sizes.examples;
    form.a_step = out_step();
    form.b_step = kernel_step();
    form.c_step = patch_step();
    return {sizes.places_out(), sizes.window(), sizes.channels_out, form,
            gradient,           kernel,         patch_gradient};
  }

  /// Of the kernel of each image: transposed patches * gradient.
  LayerProduct<Number> of_kernels(const Number* patches, const Number* gradient,
                                  SumOf<Number>* kernel_gradients) const {
    ProductForm form;
    form.a_transposed = true;
    form.result = ProductResult::sums;
    form.batch = sizes.examples;
    form.a_step = patch_step();
    form.b_step = out_step();
    form.c_step = sizes.weights();
    return {sizes.window(), sizes.channels_out, sizes.places_out(), form,
            patches,        gradient,           kernel_gradients};
  }

 private:
  std::uint64_t patch_step() const { return std::uint64_t{sizes.window()} * sizes.places_out(); }
  std::uint64_t kernel_step() const { return kernel_of_each ? sizes.weights() : 0; }
  std::uint64_t out_step() const { return std::uint64_t{sizes.places_out()} * sizes.channels_out; }
};

/// The kernel, a column of numbers under it for each output channel; or the sums of its gradient.
template <class Number>
struct ConvolutionWeights {
  Number* kernel;

  ConvolutionWeights(const ImageSizes& sizes, Carver& carver)
      : kernel(carver.take<Number>(sizes.weights())) {}
};

/// What a pass alone needs.
template <class Number>
struct ConvolutionScratch {
  Number* patches;                  // or their gradient
  SumOf<Number>* kernel_gradients;  // by image

  ConvolutionScratch(const ImageSizes& sizes, Carver& carver)
      : patches(carver.take<Number>(sizes.patch_numbers())),
        kernel_gradients(carver.take<SumOf<Number>>(sizes.examples * sizes.weights())) {}
};

/// A ReLU and a convolution in a pass. It keeps its input alone.
template <class Number>
struct ConvolutionLayer {
  ImageSizes sizes;
  ConvolutionWeights<Number> weights;
  ConvolutionWeights<SumOf<Number>> sums;
  ConvolutionScratch<Number> scratch;
  LayerEnds<Number> ends;

  template <class Out>
  void forward(Out& out) const {
    out.step(patches());
    out.product(products().forward(scratch.patches, weights.kernel, ends.out));
  }

  template <class Out>
  void input_gradient(Out& out) const {
    out.product(products().back(ends.out_gradient, weights.kernel, scratch.patches));
    out.step(PatchGradient<Number>{sizes.numbers_in(), sizes, ends.in, scratch.patches, nullptr,
                                   ends.in_gradient});
  }

  template <class Out>
  void weight_gradient(Out& out) const {
    out.step(patches());
    out.product(
        products().of_kernels(scratch.patches, ends.out_gradient, scratch.kernel_gradients));
    out.step(
        AddedParts<Number>{sizes.weights(), sizes.examples, scratch.kernel_gradients, sums.kernel});
  }

 private:
  ConvolutionProducts<Number> products() const { return {sizes, false}; }
  Patches<Number> patches() const {
    return {sizes.patch_numbers(), sizes, ends.in, scratch.patches};
  }
};

}  // namespace penstock
