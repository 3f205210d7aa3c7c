#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

/// Packs numbers of up to 32 bits one after the other without gaps, the lowest bit of each first,
/// into the lowest free bit of a byte.
class BitWriter {
 public:
  /// `value` must have no more than `width` bits.
  void put(std::uint32_t value, std::uint32_t width);
  /// All bytes, the last one filled up with zeros.
  std::vector<std::uint8_t> take();

 private:
  std::vector<std::uint8_t> bytes_;
  std::uint64_t open_ = 0;  // bits that make no byte yet
  std::uint32_t open_bits_ = 0;
};

/// Reads them back.
class BitReader {
 public:
  explicit BitReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  /// The next so many bits; behind the end of the bytes there are zeros.
  std::uint32_t get(std::uint32_t width);
  /// Goes on at some bit, counted from the first.
  void seek(std::uint64_t bit) { next_ = bit; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::uint64_t next_ = 0;  // bit
};

}  // namespace penstock
