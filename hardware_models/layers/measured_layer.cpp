#include <array>

#include "hardware_models/layers/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::array parameters{
    Parameter{"forward_us", "of at_examples", std::nullopt, 0, 1e15, false},
    Parameter{"backward_us", "the same of B; otherwise its two parts", absent, 0, 1e15, false},
    Parameter{"backward_input_us", "the same of I", absent, 0, 1e15, false},
    Parameter{"backward_weight_us", "the same of W", absent, 0, 1e15, false},
    Parameter{"at_examples", "that were measured at once", 1, 1e-9, 1e15, false},
    Parameter{"parameters", "on a device", 0, 0},
    Parameter{"input_bytes", "of at_examples", 0, 0, 1e18, false},
    Parameter{"output_bytes", "of at_examples", 0, 0, 1e18, false},
    Parameter{"stash_bytes", "from F to the end of B, of at_examples", 0, 0, 1e18, false},
    Parameter{"weight_bytes", "of these, what W reads and I leaves; otherwise all", absent, 0, 1e18,
              false},
    Parameter{"pending_weight_bytes", "what I makes for W, of at_examples", 0, 0, 1e18, false}};

void check_weight_bytes(const LayerNumbers& numbers) {
  if (numbers.given("weight_bytes").value_or(0) <= numbers["stash_bytes"]) return;
  throw InputError("/weight_bytes", "this is more than stash_bytes, of which it is a part");
}

void check_backward(const LayerNumbers& numbers) {
  const bool input = numbers.given("backward_input_us").has_value();
  const bool weight = numbers.given("backward_weight_us").has_value();
  if (input != weight) {
    throw InputError(input ? "/backward_weight_us" : "/backward_input_us",
                     "this is missing beside the other part of the backward");
  }
  if (input || numbers.given("backward_us")) return;
  throw InputError("/backward_us",
                   "this is missing; the backward, or both of its parts, must be stated");
}

/// It was measured on such devices as it will run on: degrees of parallelism divide nothing.
LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  check_backward(numbers);
  check_weight_bytes(numbers);
  const double ratio = shape.microbatch / shape.slices / numbers["at_examples"];
  const auto scaled = [&](std::string_view name) {
    const auto given = numbers.given(name);
    return given ? std::optional(*given * ratio) : std::nullopt;
  };
  LayerWork work;
  work.parameters = work.active_parameters = work.held_parameters = numbers["parameters"];
  work.input_bytes = numbers["input_bytes"] * ratio;
  work.output_bytes = numbers["output_bytes"] * ratio;
  work.kept_bytes = work.kept_selective_bytes = numbers["stash_bytes"] * ratio;
  work.weight_bytes = scaled("weight_bytes");
  work.pending_weight_bytes = numbers["pending_weight_bytes"] * ratio;
  work.forward_us = scaled("forward_us");
  work.backward_us = scaled("backward_us");
  work.backward_input_us = scaled("backward_input_us");
  work.backward_weight_us = scaled("backward_weight_us");
  return work;
}

}  // namespace

constinit extern const LayerKindEntry measured_layer_entry{
    "measured", "a layer by its times, in proportion to the examples that they were measured on",
    parameters, work};

}  // namespace penstock
