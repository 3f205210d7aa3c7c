#include "tests/support/kernel_gradients.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "sim/base/named.hpp"
#include "validate/kernels/steps/drawn.hpp"
#include "validate/training/layered_model.hpp"

namespace penstock::testing {
namespace {

/// A layer with weights and inputs, whose gradients are known by trying.
class Trial {
 public:
  Trial(const KernelEntry& kernel, LayerNumbers numbers, const KernelCell& cell)
      : kernel_(kernel), numbers_(std::move(numbers)), cell_(cell) {
    weights_ = initial_weights(kernel.weights(numbers_), 7, 3);
    for (cell_.slice = 0; cell_.slice < cell_.slices; ++cell_.slice) {
      in_.push_back(
          kernel.ends == Ends::first
              ? drawn_tokens(cell_, size_of(numbers_, "vocab"))
              : drawn_numbers(cell_, kernel.columns, kernel.rows_in(numbers_), Drawn::number));
    }
  }

  /// The furthest that gradients are from central differences, as a share of the largest.
  double error(double step) {
    step_ = step;
    find_gradients();
    for (std::size_t i = 0; i < in_.size() && kernel_.ends != Ends::first; ++i) {
      compare(in_[i], in_gradients_[i]);
    }
    for (std::size_t i = 0; i < weights_.size(); ++i) compare(weights_[i], weight_gradients_[i]);
    CHECK(largest_ > 1e-3);  // so that there is something to compare
    return furthest_ / largest_;
  }

 private:
  Tensor factors(const Tensor& out) const {
    Tensor drawn(out.rows, out.columns);
    for (std::size_t i = 0; i < out.values.size(); ++i) {
      drawn.values[i] = draw(11, Drawn::target, cell_.slice, 0, i);
    }
    return drawn;
  }

  LayerRun run(SliceMemory& slices) const { return {numbers_, cell_, weights_, slices}; }

  double value() {
    SliceMemory slices;
    double sum = 0;
    for (cell_.slice = 0; cell_.slice < cell_.slices; ++cell_.slice) {
      Tensors kept;
      const Tensor out = kernel_.forward(run(slices), in_[cell_.slice], kept);
      const Tensor times = factors(out);
      for (std::size_t i = 0; i < out.values.size(); ++i) sum += times.values[i] * out.values[i];
    }
    return sum;
  }

  void find_gradients() {
    SliceMemory slices;
    std::vector<Tensors> kept(cell_.slices);
    Tensors above(cell_.slices);
    for (cell_.slice = 0; cell_.slice < cell_.slices; ++cell_.slice) {
      above[cell_.slice] =
          factors(kernel_.forward(run(slices), in_[cell_.slice], kept[cell_.slice]));
    }
    in_gradients_.resize(cell_.slices);
    for (const Tensor& weight : weights_)
      weight_gradients_.emplace_back(weight.rows, weight.columns);
    for (cell_.slice = cell_.slices; cell_.slice-- > 0;) {
      Tensors& own = kept[cell_.slice];
      in_gradients_[cell_.slice] = kernel_.input_gradient(run(slices), above[cell_.slice], own);
      kernel_.weight_gradient(run(slices), own, weight_gradients_);
    }
  }

  void compare(Tensor& at, const Tensor& gradient) {
    REQUIRE(gradient.values.size() == at.values.size());
    for (std::size_t i = 0; i < at.values.size(); ++i) {
      const double here = at.values[i];
      at.values[i] = here + step_;
      const double above = value();
      at.values[i] = here - step_;
      const double slope = (above - value()) / (2 * step_);
      at.values[i] = here;
      largest_ = std::max(largest_, std::abs(slope));
      furthest_ = std::max(furthest_, std::abs(slope - gradient.values[i]));
    }
  }

  const KernelEntry& kernel_;
  LayerNumbers numbers_;
  KernelCell cell_;
  Tensors weights_;
  Tensors in_;
  Tensors in_gradients_;
  Tensors weight_gradients_;
  double step_ = 1e-5;
  double largest_ = 0;
  double furthest_ = 0;
};

}  // namespace

LayerNumbers all_numbers(const LayerSpec& spec) { return LayerNumbers(all_numbers_of(spec)); }

double gradient_error(const KernelEntry& kernel, const LayerNumbers& numbers,
                      const KernelCell& cell, double step) {
  return Trial(kernel, numbers, cell).error(step);
}

void check_gradients(const char* kind, const NamedNumbers& usual, const KernelCell& cell,
                     std::vector<NamedNumbers> variants, double step) {
  variants.push_back({});
  for (const NamedNumbers& variant : variants) {
    LayerSpec spec{kind, usual, ""};
    std::string title = kind;
    for (const auto& [name, value] : variant) {
      spec.numbers[name] = value;
      title += " " + name + " " + std::to_string(value);
    }
    CAPTURE(title);
    const KernelEntry& kernel = *find_named(kernel_entries(), spec.kind);
    CHECK(gradient_error(kernel, all_numbers(spec), cell, step) < 1e-6);
  }
}

}  // namespace penstock::testing
