#include "validate/training/stage_weights.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace penstock {
namespace {

std::vector<double> flat(const Tensors& tensors) {
  std::vector<double> row;
  for (const Tensor& tensor : tensors) {
    row.insert(row.end(), tensor.values.begin(), tensor.values.end());
  }
  return row;
}

}  // namespace

StageWeights::StageWeights(const std::vector<PlacedLayer>& layers, const JobLayers& job)
    : rate_(job.rate),
      rule_(job.step),
      first_(initial_weights(layers, job.seed)),
      sums_(zeros_like(first_)),
      earlier_(sums_) {
  begin();
}

void StageWeights::expect(std::uint32_t version) {
  if (users_.size() <= version) users_.resize(version + 1);
  ++users_[version];
}

void StageWeights::begin() {
  left_ = users_;
  versions_.clear();
  versions_.emplace(0, first_);
  sums_ = zeros_like(first_);
  earlier_ = sums_;
  steps_ = 0;
  if (rule_ == StepRule::adam) mean_ = square_ = sums_;
}

const LayerTensors& StageWeights::version(std::uint32_t number) const {
  const auto found = versions_.find(number);
  if (found != versions_.end()) return found->second;
  throw OrderFailure(fmt::format("version {} of its weights is missing", number));
}

void StageWeights::done_with(std::uint32_t version) {
  if (version < left_.size() && left_[version] > 0) --left_[version];
  drop_unused();
}

void StageWeights::update() {
  const std::uint32_t newest_number = versions_.rbegin()->first;
  versions_.emplace(newest_number + 1, stepped(newest(), sums_, rate_));
  add(sums_, earlier_);
  sums_ = zeros_like(first_);
  drop_unused();
}

LayerTensors StageWeights::take_sums() {
  add(sums_, earlier_);
  return std::exchange(sums_, zeros_like(first_));
}

LayerTensors StageWeights::all_gradients() const {
  LayerTensors all = earlier_;
  add(sums_, all);
  return all;
}

void StageWeights::step(const LayerTensors& gradients) {
  ++steps_;
  LayerTensors next = rule_ == StepRule::sgd ? stepped(newest(), gradients, rate_) : newest();
  if (rule_ == StepRule::adam) adam(gradients, next);
  versions_.emplace(versions_.rbegin()->first + 1, std::move(next));
  drop_unused();
}

void StageWeights::adam(const LayerTensors& gradients, LayerTensors& weights) {
  constexpr double keeps_mean = 0.9;
  constexpr double keeps_square = 0.999;
  constexpr double epsilon = 1e-8;
  const double mean_share = 1 - std::pow(keeps_mean, steps_);
  const double square_share = 1 - std::pow(keeps_square, steps_);
  for_each_value(gradients, mean_,
                 [](double g, double& m) { m = keeps_mean * m + (1 - keeps_mean) * g; });
  for_each_value(gradients, square_,
                 [](double g, double& v) { v = keeps_square * v + (1 - keeps_square) * g * g; });
  LayerTensors roots = square_;
  for_each_value(square_, roots,
                 [&](double v, double& root) { root = std::sqrt(v / square_share) + epsilon; });
  LayerTensors change = mean_;
  for_each_value(roots, change, [&](double root, double& m) { m = m / mean_share / root; });
  for_each_value(change, weights, [&](double c, double& w) { w -= rate_ * c; });
}

void StageWeights::drop_unused() {
  const std::uint32_t newest_number = versions_.rbegin()->first;
  std::erase_if(versions_, [&](const auto& version) {
    const bool used = version.first < left_.size() && left_[version.first] > 0;
    return !used && version.first != newest_number;
  });
}

void StageWeights::add_gradients(const std::vector<PlacedLayer>& layers,
                                 TrainedNumbers& numbers) const {
  const LayerTensors all = all_gradients();
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    TrainedNumbers own;
    own.gradients.resize(layers[layer].number + 1);
    own.gradients.back() = flat(all[layer]);
    add(own, numbers);
  }
}

void StageWeights::add_weights(const std::vector<PlacedLayer>& layers,
                               TrainedNumbers& numbers) const {
  if (steps_ == 0) return;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    TrainedNumbers own;
    own.weights.resize(layers[layer].number + 1);
    own.weights.back() = flat(newest()[layer]);
    add(own, numbers);
  }
}

}  // namespace penstock
