#include "hardware_models/codecs/coding/bits.hpp"

#include <utility>

namespace penstock {

void BitWriter::put(std::uint32_t value, std::uint32_t width) {
  open_ |= std::uint64_t{value} << open_bits_;
  open_bits_ += width;
  for (; open_bits_ >= 8; open_bits_ -= 8) {
    bytes_.push_back(static_cast<std::uint8_t>(open_));
    open_ >>= 8;
  }
}

std::vector<std::uint8_t> BitWriter::take() {
  if (open_bits_ > 0) put(0, 8 - open_bits_);
  return std::exchange(bytes_, {});
}

std::uint32_t BitReader::get(std::uint32_t width) {
  // 32 bits at any offset span up to five bytes.
  std::uint64_t window = 0;
  for (std::uint32_t i = 0; i < 5; ++i) {
    const std::uint64_t byte = next_ / 8 + i;
    if (byte < bytes_.size()) window |= std::uint64_t{bytes_[byte]} << (8 * i);
  }
  window >>= next_ % 8;
  next_ += width;
  return static_cast<std::uint32_t>(window & ((std::uint64_t{1} << width) - 1));
}

}  // namespace penstock
