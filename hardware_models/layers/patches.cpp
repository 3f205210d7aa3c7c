#include <array>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/registry.hpp"

namespace penstock::patches_file {
namespace {

constexpr std::array parameters{Parameter{"hidden", "width of a patch's vector", std::nullopt},
                                Parameter{"patch", "pixels of a side of a patch", std::nullopt},
                                Parameter{"channels", "colours of a pixel", 3},
                                Parameter{"frames", "pictures of a patch", 1},
                                flag("bias", "1: bias", 1),
                                Parameter{"positions", "learned positions; 0: none", 0, 0},
                                patches_of_layer};

/// A product with the pixels of each patch. Pictures have no gradient, so there is no I.
LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const double hidden = numbers["hidden"];
  const double pixels =
      numbers["channels"] * numbers["frames"] * numbers["patch"] * numbers["patch"];
  const double tokens = shape.tokens_outside_tensor();
  LayerWork work;
  work.parameters = hidden * (pixels + numbers["bias"] + numbers["positions"]);
  work.active_parameters = work.held_parameters = work.parameters;
  work.input_bytes = tokens * pixels * shape.activation_size;
  work.output_bytes = tokens * hidden * shape.activation_size;
  work.kept_bytes = work.input_bytes;
  work.pending_weight_bytes = work.output_bytes;
  add_dense(work, {tokens, pixels, hidden}, shape.activation_size);
  std::erase_if(work.kernels,
                [](const Kernel& kernel) { return kernel.pass == Pass::backward_input; });
  if (numbers.is("positions")) {
    work.kernels.push_back(vector_kernel(Pass::forward, 3 * work.output_bytes));
    work.kernels.push_back(vector_kernel(Pass::backward_weight, 3 * work.output_bytes));
  }
  const double flops = 2 * tokens_of_all(shape) * pixels * hidden;
  work.forward_flops = work.backward_flops = flops;
  return work;
}

}  // namespace

constinit extern const LayerKindEntry patches_entry{
    "patches", "patches of pictures as vectors, with learned positions or without", parameters,
    work};

}  // namespace penstock::patches_file
