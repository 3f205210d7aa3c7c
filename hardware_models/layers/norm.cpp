#include <array>

#include "hardware_models/layers/registry.hpp"

namespace penstock::norm_file {
namespace {

constexpr std::array parameters{Parameter{"hidden", "hidden size", std::nullopt},
                                Parameter{"bias", "1: LayerNorm, with a bias; 0: RMSNorm", 0, 0, 1},
                                Parameter{"weights", "0: LayerNorm, without any", 1, 0, 1}};

/// Memory-bound: reads and writes its tokens.
LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const double hidden = numbers["hidden"];
  const double bytes = shape.tokens_outside_tensor() * hidden * shape.activation_size;
  LayerWork work;
  work.parameters = numbers.is("weights") ? hidden * (numbers.is("bias") ? 2 : 1) : 0;
  work.active_parameters = work.parameters;
  work.held_parameters = work.parameters;
  work.input_bytes = work.output_bytes = bytes;
  work.kept_bytes = bytes;
  work.weight_bytes = 0;
  work.kernels = {{.pass = Pass::forward, .bytes = 2 * bytes},
                  {.pass = Pass::backward_input, .bytes = 3 * bytes}};
  return work;
}

}  // namespace

constinit extern const LayerKindEntry norm_entry{"norm", "RMSNorm or LayerNorm, memory-bound",
                                                 parameters, work};

}  // namespace penstock::norm_file
