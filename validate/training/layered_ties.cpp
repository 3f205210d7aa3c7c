#include <algorithm>
#include <utility>

#include "validate/kernels/steps/matrix.hpp"
#include "validate/training/layered_body.hpp"

namespace penstock {

/// The table of a stage at an end of a tied model, among tensors like its weights.
Tensor& LayeredBody::tied_tensor(std::uint32_t model_stage, LayerTensors& tensors) const {
  return model_stage == 0 ? tensors.front().front() : tensors.back().front();
}

std::uint32_t LayeredBody::last_stage() const {
  return static_cast<std::uint32_t>(model_->stages.size() - 1);
}

/// Whether this rank has a copy of a model stage.
bool LayeredBody::holds(std::uint32_t model_stage) const {
  return std::any_of(weights_.begin(), weights_.end(), [&](const auto& weights) {
    return model_stage_of(weights.first) == model_stage;
  });
}

/// Both ends step their copy of the table with the gradients of both. `gradients`: the sums over
/// all copies of the stage.
void LayeredBody::add_tie(std::uint32_t own, LayerTensors& gradients) {
  if (last_stage() == 0) {
    Tensor both = gradients.front().front();
    add_values(gradients.back().front(), both);
    gradients.front().front() = gradients.back().front() = std::move(both);
    return;
  }
  if (own != 0 && own != last_stage()) return;
  const std::uint32_t other = last_stage() - own;
  Tensor& table = tied_tensor(own, gradients);
  if (!holds(other)) {
    const auto received = ties_.extract(other);
    if (received) return add_values(received.mapped(), table);
    throw OrderFailure("the gradient of its tied weights at the other end of the model is missing");
  }
  table_sums_.insert_or_assign(own, table);
  const auto known = table_sums_.find(other);
  if (known != table_sums_.end()) add_values(known->second, table);
}

/// A rank with both ends holds the table once: the later update, which has the gradients of both,
/// sets it for the other end too.
void LayeredBody::share_table(std::uint32_t own, StageWeights& updated) {
  if (last_stage() == 0 || !table_sums_.contains(own)) return;
  const std::uint32_t other = last_stage() - own;
  if (!table_sums_.contains(other)) return;
  for (auto& [stage, weights] : weights_) {
    if (model_stage_of(stage) != other) continue;
    tied_tensor(other, weights.newest()) = tied_tensor(own, updated.newest());
  }
}

}  // namespace penstock
