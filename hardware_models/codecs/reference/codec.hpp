#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware_models/codecs/registry.hpp"

namespace penstock {

/// A codec ready to encode: the reference that other implementations must match bit by bit.
struct Codec {
  const CodecEntry* entry = nullptr;
  BlockFormat format;
  std::uint32_t block_bits = 0;
};

/// Throws InputError with a pointer below the codec.
Codec make_codec(const CodecSpec& spec);

/// Where the values of blocks lie in an array: rows of `stride` values, each column cut into blocks
/// from the top. A block that reaches past the array is padded with zeros.
class BlockOrder {
 public:
  BlockOrder(const BlockFormat& format, std::size_t count);

  std::size_t blocks() const { return columns_ * blocks_a_column_; }
  /// The position of a value of a block; `count` or more past the end of the array.
  std::size_t position(std::size_t block, std::size_t place) const {
    const std::size_t row = block % blocks_a_column_ * block_ + place;
    return row * stride_ + block / blocks_a_column_;
  }

 private:
  std::size_t block_;
  std::size_t stride_;
  std::size_t columns_;
  std::size_t blocks_a_column_;
};

/// The packed size of this many values: whole blocks, the last byte padded.
std::size_t packed_bytes(const Codec& codec, std::size_t count);

std::vector<std::uint8_t> encode(const Codec& codec, std::span<const float> values);

/// Throws InputError when the number of bytes does not match the number of values.
std::vector<float> decode(const Codec& codec, std::span<const std::uint8_t> packed,
                          std::size_t count);

}  // namespace penstock
