#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

/// Packs numbers of up to 32 bits without gaps, least significant bit first.
class BitWriter {
 public:
  /// `value` must fit in `width` bits.
  void put(std::uint32_t value, std::uint32_t width);
  /// All bytes, the last one padded with zeros.
  std::vector<std::uint8_t> take();

 private:
  std::vector<std::uint8_t> bytes_;
  std::uint64_t open_ = 0;  // bits that do not fill a byte yet
  std::uint32_t open_bits_ = 0;
};

/// Reads numbers that BitWriter packed.
class BitReader {
 public:
  explicit BitReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  /// The next `width` bits; zeros beyond the end.
  std::uint32_t get(std::uint32_t width);
  /// Continues at this bit, counted from the start.
  void seek(std::uint64_t bit) { next_ = bit; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::uint64_t next_ = 0;  // bit
};

/// The upper half of a float, rounded half to even. Finite values stay finite; NaNs stay NaNs.
inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  const std::uint32_t rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  const bool overflows = std::isfinite(value) && (rounded & 0x7FFFU) == 0x7F80U;
  return static_cast<std::uint16_t>(overflows ? rounded - 1 : rounded);
}

inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace penstock
