#include <utility>

#include "validate/kernels/steps/stacking.hpp"
#include "validate/training/layered_body.hpp"

namespace penstock {

/// The table of a stage at an end of a tied model, among tensors like its weights.
Tensor& LayeredBody::tied_tensor(std::uint32_t model_stage, LayerTensors& tensors) const {
  return model_stage == 0 ? tensors.front().front() : tensors.back().front();
}

/// Both ends step their copy of the table with the gradients of both.
void LayeredBody::add_tie(Stage stage, LayerTensors& gradients) {
  const std::uint32_t own = model_stage_of(stage);
  const auto last = static_cast<std::uint32_t>(model_->stages.size() - 1);
  if (last == 0) {
    Tensor both = gradients.front().front();
    add_values(gradients.back().front(), both);
    gradients.front().front() = gradients.back().front() = std::move(both);
  } else if (own == 0 || own == last) {
    add_values(gradient_of_end(last - own), tied_tensor(own, gradients));
  }
}

/// Of the table at an end of the model: received, or of a stage on this rank.
Tensor LayeredBody::gradient_of_end(std::uint32_t model_stage) {
  const auto received = ties_.find(model_stage);
  if (received != ties_.end()) return received->second;
  for (const auto& [stage, weights] : weights_) {
    if (model_stage_of(stage) != model_stage) continue;
    LayerTensors all = weights.all_gradients();
    return std::move(tied_tensor(model_stage, all));
  }
  throw OrderFailure("the gradient of its tied weights at the other end of the model is missing");
}

}  // namespace penstock
