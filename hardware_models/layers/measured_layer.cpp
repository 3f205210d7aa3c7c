#include <array>

#include "hardware_models/layers/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock::measured_layer_file {
namespace {

constexpr std::array parameters{
    Parameter{"forward_us", "time of F for at_examples", std::nullopt, 0, 1e15, false},
    Parameter{"backward_us", "time of B; default I + W", absent, 0, 1e15, false},
    Parameter{"backward_input_us", "time of I", absent, 0, 1e15, false},
    Parameter{"backward_weight_us", "time of W", absent, 0, 1e15, false},
    Parameter{"at_examples", "examples in the measurement", 1, 1e-9, 1e15, false},
    Parameter{"parameters", "parameters per device", 0, 0},
    Parameter{"input_bytes", "input size for at_examples", 0, 0, 1e18, false},
    Parameter{"output_bytes", "output size for at_examples", 0, 0, 1e18, false},
    Parameter{"stash_bytes", "kept from F to the end of B, for at_examples", 0, 0, 1e18, false},
    Parameter{"weight_bytes", "of stash_bytes, what W reads and I does not free; default all",
              absent, 0, 1e18, false},
    Parameter{"pending_weight_bytes", "allocated by I for W, for at_examples", 0, 0, 1e18, false}};

void check_weight_bytes(const LayerNumbers& numbers) {
  if (numbers.given("weight_bytes").value_or(0) <= numbers["stash_bytes"]) return;
  throw InputError("/weight_bytes", "larger than stash_bytes, of which it is a part");
}

void check_backward(const LayerNumbers& numbers) {
  const bool input = numbers.given("backward_input_us").has_value();
  const bool weight = numbers.given("backward_weight_us").has_value();
  if (input != weight) {
    throw InputError(input ? "/backward_weight_us" : "/backward_input_us",
                     "missing: the other part of the backward is given");
  }
  if (input || numbers.given("backward_us")) return;
  throw InputError("/backward_us", "missing: give the backward or both its parts");
}

/// Measured on devices like the target: degrees of parallelism divide nothing.
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
  work.kept_bytes = numbers["stash_bytes"] * ratio;
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
    "measured", "a layer with measured times, scaled by the number of examples", parameters, work};

}  // namespace penstock::measured_layer_file
