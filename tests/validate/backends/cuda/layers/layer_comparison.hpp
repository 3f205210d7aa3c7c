#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "hardware_models/layers/registry.hpp"
#include "sim/base/named.hpp"
#include "validate/backends/cuda/arithmetic/number.hpp"
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

  LayerRun run() { return {numbers, cell, weights, slices}; }
  Tensor forward(Tensor in) { return kernel->forward(run(), std::move(in), kept); }
  Tensor back(Tensor gradient) {
    Tensor before = kernel->input_gradient(run(), std::move(gradient), kept);
    kernel->weight_gradient(run(), kept, sums);
    return before;
  }
};

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
  explicit Carved(const Shape& shape) : memory(bytes_of(shape)), value(carved(shape, memory)) {}
  Carved(const Carved&) = delete;
  Carved& operator=(const Carved&) = delete;

 private:
  template <class Shape>
  static std::size_t bytes_of(const Shape& shape) {
    Carver carver;
    [[maybe_unused]] const Value counted(shape, carver);
    return carver.bytes();
  }
  template <class Shape>
  static Value carved(const Shape& shape, std::vector<std::byte>& memory) {
    Carver carver(memory.data());
    return Value(shape, carver);
  }
};

}  // namespace penstock::testing
