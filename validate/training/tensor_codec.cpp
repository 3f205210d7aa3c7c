#include "validate/training/tensor_codec.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock {
namespace {

void add_errors(const std::vector<double>& values, const std::vector<float>& decoded,
                CodingSums& sums) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = std::abs(values[i] - static_cast<double>(decoded[i]));
    sums.signal += values[i] * values[i];
    sums.noise += error * error;
    sums.most_error = std::max(sums.most_error, error);
    sums.most_value = std::max(sums.most_value, std::abs(values[i]));
  }
}

}  // namespace

std::vector<std::uint8_t> TensorCodec::packed(const std::vector<double>& values,
                                              CodingSums* sums) const {
  const std::vector<float> single(values.begin(), values.end());
  std::vector<std::uint8_t> bytes = encode(codec_, single);
  if (sums != nullptr) {
    sums->values += values.size();
    sums->packed_bytes += bytes.size();
    add_errors(values, decode(codec_, bytes, values.size()), *sums);
  }
  return bytes;
}

std::vector<double> TensorCodec::unpacked(std::span<const std::uint8_t> packed,
                                          std::size_t count) const {
  const std::vector<float> single = decode(codec_, packed, count);
  return {single.begin(), single.end()};
}

void PackedStash::pack(const TensorCodec& codec, const std::vector<PlacedLayer>& layers,
                       LayerTensors& kept, CodingSums* sums) {
  for (std::size_t layer = 0; layer < kept.size(); ++layer) {
    for (std::size_t tensor = 0; tensor < kept[layer].size(); ++tensor) {
      std::vector<double>& values = kept[layer][tensor].values;
      const bool exact = tensor < 32 && (layers[layer].kernel->exact >> tensor & 1U) != 0;
      if (exact || values.empty()) continue;
      packed_.push_back({layer, tensor, codec.packed(values, sums)});
      std::vector<double>().swap(values);
    }
  }
}

void PackedStash::unpack(const TensorCodec& codec, LayerTensors& kept) {
  for (const Part& part : packed_) {
    Tensor& tensor = kept[part.layer][part.tensor];
    tensor.values = codec.unpacked(part.bytes, tensor.rows * tensor.columns);
  }
  packed_.clear();
}

double PackedStash::held(const LayerTensors& kept, double value_bytes) const {
  double bytes = 0;
  for (const Part& part : packed_) bytes += static_cast<double>(part.bytes.size());
  for (const Tensors& layer : kept) {
    for (const Tensor& tensor : layer) {
      bytes += value_bytes * static_cast<double>(tensor.values.size());
    }
  }
  return bytes;
}

}  // namespace penstock
