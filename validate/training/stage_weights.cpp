#include "validate/training/stage_weights.hpp"

#include <fmt/format.h>

#include <utility>

namespace penstock {

StageWeights::StageWeights(const std::vector<PlacedLayer>& layers, std::uint64_t seed, double rate)
    : rate_(rate),
      first_(initial_weights(layers, seed)),
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

void StageWeights::drop_unused() {
  const std::uint32_t newest_number = versions_.rbegin()->first;
  std::erase_if(versions_, [&](const auto& version) {
    const bool used = version.first < left_.size() && left_[version.first] > 0;
    return !used && version.first != newest_number;
  });
}

void StageWeights::add_gradients(const std::vector<PlacedLayer>& layers,
                                 TrainedNumbers& numbers) const {
  LayerTensors all = earlier_;
  add(sums_, all);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    TrainedNumbers own;
    own.gradients.resize(layers[layer].number + 1);
    std::vector<double>& row = own.gradients.back();
    for (const Tensor& tensor : all[layer]) {
      row.insert(row.end(), tensor.values.begin(), tensor.values.end());
    }
    add(own, numbers);
  }
}

}  // namespace penstock
