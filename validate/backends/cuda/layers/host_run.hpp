#pragma once

#include "validate/backends/cuda/arithmetic/team.hpp"
#include "validate/backends/cuda/layers/matrix_product.hpp"

namespace penstock {

// A step of a layer is a struct with what one kernel reads and writes, and a `count`: of elements,
// each done by `at(element)`, if `lanes` is 0; otherwise of rows, each done by a team of that many
// lanes with `row(row, team)`. Elements and rows do not read what others write.

/// Runs a step here, one element or row after the other.
template <class Step>
void run_on_host(const Step& step) {
  for (std::uint64_t i = 0; i < step.count; ++i) {
    if constexpr (Step::lanes == 0) {
      step.at(i);
    } else {
      step.row(i, Alone{});
    }
  }
}

/// Runs the passes of a layer here.
struct OnHost {
  template <class Step>
  void step(const Step& step) const {
    run_on_host(step);
  }
  template <class Number>
  void product(const LayerProduct<Number>& product) const {
    multiply(product);
  }
};

}  // namespace penstock
