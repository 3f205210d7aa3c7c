#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "hardware_models/layers/registry.hpp"
#include "sim/base/named.hpp"
#include "validate/backends/cuda/arithmetic/number.hpp"
#include "validate/backends/cuda/layers/host_run.hpp"
#include "validate/backends/cuda/layers/memory.hpp"
#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/drawn.hpp"

namespace penstock::testing {

/// A kernel of the reference with what it keeps and its gradient sums.
struct ReferenceLayer {
  const KernelEntry* kernel;
  LayerNumbers numbers;
  KernelCell cell;
  Tensors weights;
  Tensors sums;
  Tensors kept;
  SliceMemory slices;

  ReferenceLayer(const char* kind, const NamedNumbers& given, const KernelCell& the_cell)
      : kernel(find_named(kernel_entries(), kind)),
        numbers(settled_numbers(kind, find_named(layer_kind_entries(), kind)->parameters, given)),
        cell(the_cell),
        weights(initial_weights(kernel->weights(numbers), 3,
                                static_cast<std::uint32_t>(given.size() + kind[0]))) {
    for (const Tensor& weight : weights) sums.emplace_back(weight.rows, weight.columns);
  }

  std::vector<ReferenceLayer*> parts() { return {this}; }
  LayerRun run() { return {numbers, cell, weights, slices}; }
  Tensor forward(Tensor in) { return kernel->forward(run(), std::move(in), kept); }
  Tensor back(Tensor gradient) {
    Tensor before = kernel->input_gradient(run(), std::move(gradient), kept);
    kernel->weight_gradient(run(), kept, sums);
    return before;
  }
};

/// The weights of all parts of a reference, or their gradient sums.
template <class Reference>
std::vector<Tensor*> tensors_of(Reference& reference, Tensors ReferenceLayer::*which) {
  std::vector<Tensor*> all;
  for (ReferenceLayer* const part : reference.parts()) {
    for (Tensor& tensor : part->*which) all.push_back(&tensor);
  }
  return all;
}

inline Tensor sum_of(Tensor sum, const Tensor& more) {
  for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += more.values[i];
  return sum;
}

/// Values between -1 and 1.
inline Tensor drawn_tensor(std::size_t rows, std::size_t columns, std::uint32_t of) {
  Tensor tensor(rows, columns);
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    tensor.values[i] = draw(5, Drawn::number, of, 0, i);
  }
  return tensor;
}

/// As the GPU has them.
template <class Number>
Number number_of(double value) {
  return rounded<Number>(static_cast<SumOf<Number>>(value));
}

/// Rounds values to those that the GPU has.
template <class Number>
void round_all(Tensor& tensor) {
  for (double& value : tensor.values) {
    value = static_cast<double>(value_of(number_of<Number>(value)));
  }
}

template <class Number>
void write(const Tensor& tensor, Number* to) {
  for (const double value : tensor.values) *to++ = number_of<Number>(value);
}

template <class Number>
Tensor read(const Number* from, std::size_t rows, std::size_t columns) {
  Tensor tensor(rows, columns);
  for (double& value : tensor.values) value = static_cast<double>(value_of(*from++));
  return tensor;
}

/// The furthest that values are from others, as a share of the largest of those.
inline double furthest(const Tensor& values, const Tensor& right) {
  double largest = 0;
  double off = values.values.size() == right.values.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(values.values.size(), right.values.size()); ++i) {
    largest = std::max(largest, std::abs(right.values[i]));
    const double own = std::abs(values.values[i] - right.values[i]);
    off = std::isnan(own) ? HUGE_VAL : std::max(off, own);
  }
  return largest > 0 ? off / largest : HUGE_VAL;
}

/// Memory for a value that carves itself out, zeroed.
template <class Value>
struct Carved {
  std::vector<std::byte> memory;
  Value value;

  template <class Shape>
  explicit Carved(const Shape& shape)
      : memory(carved_bytes<Value>(shape)), value(carved<Value>(shape, memory.data())) {}
  Carved(const Carved&) = delete;
  Carved& operator=(const Carved&) = delete;
};

constexpr OnHost on_host{};

/// A layer as the GPU runs it, here, with its reference and what goes through both. `Own` has its
/// passes as `layer(ends)`, its weights and their sums by part, a `Reference` and its sizes.
template <class Number, template <class> class Own>
struct LayerPair {
  Own<Number> own;
  typename Own<Number>::Reference reference;
  std::vector<Number> in, out, out_gradient, in_gradient;

  template <class Sizes>
  explicit LayerPair(const Sizes& sizes)
      : own{sizes},
        reference(own.reference()),
        in(own.numbers_in()),
        out(own.numbers_out()),
        out_gradient(own.numbers_out()),
        in_gradient(own.numbers_in()) {
    const auto weights = tensors_of(reference, &ReferenceLayer::weights);
    const auto parts = own.weight_parts();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      round_all<Number>(*weights[i]);
      write(*weights[i], parts[i]);
    }
  }

  Tensor drawn_in() const { return drawn_tensor(in.size() / own.columns(), own.columns(), 1); }
  Tensor drawn_gradient() const {
    return drawn_tensor(out.size() / own.columns(), own.columns(), 2);
  }
  LayerEnds<Number> ends() {
    return {in.data(), out.data(), out_gradient.data(), in_gradient.data()};
  }
  Tensor forward(const Tensor& tensor) {
    write(tensor, in.data());
    own.layer(ends()).forward(on_host);
    return read(out.data(), out.size() / tensor.columns, tensor.columns);
  }
  Tensor back(const Tensor& gradient) {
    write(gradient, out_gradient.data());
    own.layer(ends()).input_gradient(on_host);
    own.layer(ends()).weight_gradient(on_host);
    return read(in_gradient.data(), in.size() / gradient.columns, gradient.columns);
  }
};

/// The furthest that results and gradients are from those of the reference.
template <class Number, template <class> class Own, class Sizes>
double distance(const Sizes& sizes) {
  LayerPair<Number, Own> pair(sizes);
  Tensor in = pair.drawn_in();
  Tensor gradient = pair.drawn_gradient();
  for (Tensor* tensor : {&in, &gradient}) round_all<Number>(*tensor);
  double worst = furthest(pair.forward(in), pair.reference.forward(in));
  worst = std::max(worst, furthest(pair.back(gradient), pair.reference.back(gradient)));
  const auto right = tensors_of(pair.reference, &ReferenceLayer::sums);
  const auto sums = pair.own.sum_parts();
  if (sums.size() != right.size()) return HUGE_VAL;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Tensor own = read(sums[i], right[i]->rows, right[i]->columns);
    worst = std::max(worst, furthest(own, *right[i]));
  }
  return worst;
}

/// In doubles, the gradients of what comes in and of all weights, and their central differences.
template <template <class> class Own, class Sizes>
std::pair<Tensor, Tensor> gradients_and_differences(const Sizes& sizes) {
  LayerPair<double, Own> pair(sizes);
  const Tensor factors = pair.drawn_gradient();
  pair.forward(pair.drawn_in());
  Tensor gradients = pair.back(factors);
  Tensor differences;
  const auto value = [&] {
    pair.own.layer(pair.ends()).forward(on_host);
    double sum = 0;
    for (std::size_t i = 0; i < pair.out.size(); ++i) sum += pair.out[i] * factors.values[i];
    return sum;
  };
  const auto add_difference = [&](double& at) {
    constexpr double step = 1e-5;
    const double here = at;
    at = here + step;
    const double above = value();
    at = here - step;
    const double below = value();
    at = here;
    differences.values.push_back((above - below) / (2 * step));
  };
  for (double& number : pair.in) add_difference(number);
  const auto weights = pair.own.weight_parts();
  const auto sums = pair.own.sum_parts();
  const auto sizes_of_parts = tensors_of(pair.reference, &ReferenceLayer::weights);
  for (std::size_t part = 0; part < weights.size(); ++part) {
    for (std::size_t i = 0; i < sizes_of_parts[part]->values.size(); ++i) {
      add_difference(weights[part][i]);
      gradients.values.push_back(sums[part][i]);
    }
  }
  return {std::move(gradients), std::move(differences)};
}

}  // namespace penstock::testing
