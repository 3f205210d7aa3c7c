#include <array>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock::head_file {
namespace {

constexpr std::array parameters{
    Parameter{"hidden", "hidden size", std::nullopt},
    Parameter{"vocab", "vocabulary size", std::nullopt},
    flag("tied", "1: weights tied to the embedding", 0),
    flag("bias", "1: bias", 0),
    flag("fp32_logits", "1: softmax and loss on an fp32 copy", 1),
    flag("fused_loss", "1: one kernel for the whole loss; 0: each step reads the logits", 1)};

constexpr double float_bytes = 4;

/// Bytes of logits: in the model's precision, in the copy, and in the softmax, which overwrites the
/// copy or the logits.
struct LogitBytes {
  double stated;
  double copied;
  double softmax;
};

/// A kernel of the loss: its passes over the logits are counted one by one.
Kernel loss_kernel(Pass pass, double bytes) {
  Kernel kernel = vector_kernel(pass, bytes);
  kernel.fused = true;
  return kernel;
}

void add_fused_loss(LayerWork& work, const LogitBytes& bytes) {
  const auto& [stated, copied, softmax] = bytes;
  work.kernels.push_back(loss_kernel(Pass::forward, stated + copied + 2 * softmax));
  work.kernels.push_back(loss_kernel(Pass::backward_input, softmax + stated));
}

/// One kernel each for copy, maximum, difference, exponential, sum and quotient; then for the
/// product with the gradient of the loss and the conversion back. In-place kernels read and write.
void add_loss_by_steps(LayerWork& work, const LogitBytes& bytes) {
  const auto& [stated, copied, softmax] = bytes;
  const auto add = [&](Pass pass, double moved) {
    if (moved > 0) work.kernels.push_back(loss_kernel(pass, moved));
  };
  add(Pass::forward, copied > 0 ? stated + copied : 0);
  for (const double times : {1, 2, 2, 1, 2}) add(Pass::forward, times * softmax);
  add(Pass::backward_input, 2 * softmax);
  add(Pass::backward_input, copied > 0 ? softmax + stated : 0);
}

void add_loss(LayerWork& work, const LayerNumbers& numbers, const CellShape& shape, double logits) {
  const bool copies = numbers.is("fp32_logits") && shape.activation_size < float_bytes;
  const double copied = copies ? logits * float_bytes : 0;
  const double stated = logits * shape.activation_size;
  const LogitBytes bytes{stated, copied, copied > 0 ? copied : stated};
  if (numbers.is("fused_loss")) {
    add_fused_loss(work, bytes);
  } else {
    add_loss_by_steps(work, bytes);
  }
  work.kept_bytes += stated + copied;
  work.uncoded_bytes += copied;
  work.pending_weight_bytes = stated;
  // The gradient of the logits, which a fused loss makes in place of the softmax. Steps of their
  // own hold that of the loss and that of the softmax at once.
  work.workspace_bytes += numbers.is("fused_loss") ? stated : 2 * bytes.softmax;
  if (shape.tensor == 1) return;
  // The maximum logit, the sum of exponentials and the target logit.
  work.collectives.push_back({.pass = Pass::forward,
                              .kind = CollectiveKind::all_reduce,
                              .group = Group::tensor,
                              .bytes = shape.tokens() * float_bytes,
                              .count = 3});
}

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const double hidden = numbers["hidden"];
  const double columns = padded_share(numbers["vocab"], shape.tensor);
  const bool tied = numbers.is("tied");
  const double inputs = hidden + (numbers.is("bias") ? 1 : 0);
  LayerWork work;
  work.parameters = numbers["vocab"] * (tied ? inputs - hidden : inputs);
  work.active_parameters = work.parameters;
  work.held_parameters = columns * inputs;
  work.tied_parameters = tied ? columns * hidden : 0;
  work.input_bytes = shape.tokens_outside_tensor() * hidden * shape.activation_size;
  work.kept_bytes = work.input_bytes;
  work.weight_bytes = work.input_bytes;
  count_dense_flops(work, numbers["vocab"] * hidden, tokens_of_all(shape));
  add_dense(work, {shape.tokens(), hidden, columns}, shape.activation_size);
  for (Kernel& kernel : work.kernels) {
    kernel.narrows = false;  // logits keep their precision
    kernel.logits = true;
  }
  add_loss(work, numbers, shape, shape.tokens() * columns);
  enter_tensor_group(work, shape, hidden);
  return work;
}

}  // namespace

constinit extern const LayerKindEntry head_entry{"head", "logits of the vocabulary and the loss",
                                                 parameters, work};

}  // namespace penstock::head_file
