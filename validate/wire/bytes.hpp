#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// Writes values as little-endian bytes on any machine.
class ByteWriter {
 public:
  void u32(std::uint32_t value) { number(value, 4); }
  void u64(std::uint64_t value) { number(value, 8); }
  void i64(std::int64_t value) { number(static_cast<std::uint64_t>(value), 8); }
  void f64(double value) { u64(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string_view value);
  void words(std::span<const std::uint64_t> values);

  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  void clear() { bytes_.clear(); }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void number(std::uint64_t value, int bytes);

  std::vector<std::byte> bytes_;
};

/// Reads such values. Throws std::runtime_error when bytes are missing.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  std::int64_t i64() { return static_cast<std::int64_t>(number(8)); }
  double f64() { return std::bit_cast<double>(u64()); }
  std::string text();
  /// Reads a count of things of at least this many bytes each, and checks that they fit.
  std::uint32_t count(std::size_t least_bytes);
  bool done() const { return bytes_.empty(); }

 private:
  std::uint64_t number(std::size_t bytes);
  std::span<const std::byte> take(std::size_t bytes);

  std::span<const std::byte> bytes_;
};

/// Converts little-endian words to native ones.
void to_native(std::span<std::uint64_t> words);

}  // namespace penstock
