#include "validate/training/tensor_codec.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
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

std::vector<Tensor*> codable(const std::vector<PlacedLayer>& layers, LayerTensors& kept,
                             Tensor& input) {
  std::vector<Tensor*> tensors;
  for (std::size_t layer = 0; layer < kept.size(); ++layer) {
    for (std::size_t tensor = 0; tensor < kept[layer].size(); ++tensor) {
      const bool exact = tensor < 32 && (layers[layer].kernel->exact >> tensor & 1U) != 0;
      if (!exact) tensors.push_back(&kept[layer][tensor]);
    }
  }
  if (layers.front().kernel->ends != Ends::first) tensors.push_back(&input);
  return tensors;
}

void PackedStash::pack(const TensorCodec& codec, const std::vector<Tensor*>& tensors,
                       CodingSums* sums) {
  for (std::size_t number = 0; number < tensors.size(); ++number) {
    Tensor& tensor = *tensors[number];
    if (tensor.empty()) continue;
    std::vector<std::uint8_t> bytes = codec.packed(tensor.values, sums);
    const std::size_t size = bytes.size();
    packed_.push_back({number, tensor.rows, tensor.columns, size, std::move(bytes)});
    tensor = {};
  }
}

void PackedStash::unpack(const TensorCodec& codec, const std::vector<Tensor*>& tensors) {
  for (const Part& part : packed_) {
    Tensor tensor(part.rows, part.columns);
    tensor.values = codec.unpacked(part.bytes, part.rows * part.columns);
    *tensors.at(part.number) = std::move(tensor);
  }
  packed_.clear();
}

double PackedStash::bytes() const {
  double sum = 0;
  for (const Part& part : packed_) sum += static_cast<double>(part.size);
  return sum;
}

void PackedStash::move_out(std::vector<std::uint64_t>& words) {
  for (Part& part : packed_) {
    const std::size_t first = words.size();
    words.resize(first + words_for(part.size));
    std::memcpy(&words[first], part.bytes.data(), part.size);
    part.bytes = {};
  }
}

const std::uint64_t* PackedStash::move_in(const std::uint64_t* words) {
  for (Part& part : packed_) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(words);
    part.bytes.assign(bytes, bytes + part.size);
    words += words_for(part.size);
  }
  return words;
}

std::size_t PackedStash::words() const {
  std::size_t sum = 0;
  for (const Part& part : packed_) sum += words_for(part.size);
  return sum;
}

}  // namespace penstock
