#include "validate/wire/bytes.hpp"

#include <bit>
#include <cstring>
#include <stdexcept>

namespace penstock {

void ByteWriter::number(std::uint64_t value, int bytes) {
  for (int at = 0; at < bytes; ++at) bytes_.push_back(static_cast<std::byte>(value >> (8 * at)));
}

void ByteWriter::text(std::string_view value) {
  u32(static_cast<std::uint32_t>(value.size()));
  const auto* const first = reinterpret_cast<const std::byte*>(value.data());
  bytes_.insert(bytes_.end(), first, first + value.size());
}

void ByteWriter::words(std::span<const std::uint64_t> values) {
  if constexpr (std::endian::native == std::endian::little) {
    const auto all = std::as_bytes(values);
    bytes_.insert(bytes_.end(), all.begin(), all.end());
  } else {
    for (const std::uint64_t value : values) u64(value);
  }
}

std::span<const std::byte> ByteReader::take(std::size_t bytes) {
  if (bytes > bytes_.size()) throw std::runtime_error("a message ends early");
  const auto taken = bytes_.first(bytes);
  bytes_ = bytes_.subspan(bytes);
  return taken;
}

std::uint64_t ByteReader::number(std::size_t bytes) {
  const auto taken = take(bytes);
  std::uint64_t value = 0;
  for (std::size_t at = bytes; at > 0; --at) {
    value = value << 8 | std::to_integer<std::uint64_t>(taken[at - 1]);
  }
  return value;
}

std::string ByteReader::text() {
  const auto taken = take(u32());
  return {reinterpret_cast<const char*>(taken.data()), taken.size()};
}

std::uint32_t ByteReader::count(std::size_t least_bytes) {
  const std::uint32_t things = u32();
  if (things > bytes_.size() / least_bytes) throw std::runtime_error("a message ends early");
  return things;
}

void to_native(std::span<std::uint64_t> words) {
  if constexpr (std::endian::native == std::endian::little) return;
  for (std::uint64_t& word : words) {
    ByteReader reader(std::as_bytes(std::span(&word, 1)));
    word = reader.u64();
  }
}

}  // namespace penstock
