#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware_models/codecs/reference/codec.hpp"
#include "validate/job/trained_numbers.hpp"
#include "validate/training/layered_stage.hpp"

namespace penstock {

/// How many words that many bytes take.
constexpr std::size_t words_for(std::size_t bytes) {
  return (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
}

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

/// The tensors of a cell that its codec changes: all that its layers keep but what must stay exact,
/// such as token ids; and the input of the stage, if that is kept for recomputation.
std::vector<Tensor*> codable(const std::vector<PlacedLayer>& layers, LayerTensors& kept,
                             Tensor& input);

/// What is encoded of a cell, in place of its tensors.
class PackedStash {
 public:
  /// Frees the tensors that it packs.
  void pack(const TensorCodec& codec, const std::vector<Tensor*>& tensors, CodingSums* sums);
  /// `tensors`: of the same cell.
  void unpack(const TensorCodec& codec, const std::vector<Tensor*>& tensors);

  bool empty() const { return packed_.empty(); }
  double bytes() const;
  /// Moves its content out to words behind others, and back in; returns the end of what it read.
  void move_out(std::vector<std::uint64_t>& words);
  const std::uint64_t* move_in(const std::uint64_t* words);
  std::size_t words() const;

 private:
  struct Part {
    std::size_t number;  // among the codable tensors
    std::size_t rows;
    std::size_t columns;
    std::size_t size;  // in bytes
    std::vector<std::uint8_t> bytes;
  };
  std::vector<Part> packed_;
};

}  // namespace penstock
