#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hardware_models/codecs/reference/codec.hpp"
#include "validate/job/coding_sums.hpp"
#include "validate/training/layered_stage.hpp"

namespace penstock {

/// Encodes tensors by the reference codec, in single precision.
class TensorCodec {
 public:
  /// Throws InputError with a pointer below the codec.
  explicit TensorCodec(const CodecSpec& spec) : codec_(make_codec(spec)) {}

  std::size_t packed_bytes(std::size_t values) const {
    return penstock::packed_bytes(codec_, values);
  }
  /// The packed values of a tensor. With `sums`, adds the error of each value.
  std::vector<std::uint8_t> packed(const std::vector<double>& values, CodingSums* sums) const;
  /// As many values as were packed.
  std::vector<double> unpacked(std::span<const std::uint8_t> packed, std::size_t count) const;

 private:
  Codec codec_;
};

/// The stash of a cell: encodes and decodes what its layers keep, in place, except what must stay
/// exact, such as token ids.
class PackedStash {
 public:
  /// Frees the values of the tensors that it packs, but not their sizes.
  void pack(const TensorCodec& codec, const std::vector<PlacedLayer>& layers, LayerTensors& kept,
            CodingSums* sums);
  void unpack(const TensorCodec& codec, LayerTensors& kept);

  bool empty() const { return packed_.empty(); }
  /// Bytes: packed ones, and `value_bytes` for each value that is not.
  double held(const LayerTensors& kept, double value_bytes) const;

 private:
  struct Part {
    std::size_t layer;
    std::size_t tensor;
    std::vector<std::uint8_t> bytes;
  };
  std::vector<Part> packed_;
};

}  // namespace penstock
