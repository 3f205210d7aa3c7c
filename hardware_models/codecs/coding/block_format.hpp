#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

/// A codec name with its parameters: {"bfp", {{"bits", 4}}}.
struct CodecSpec {
  std::string name;
  std::map<std::string, double, std::less<>> numbers;

  friend bool operator==(const CodecSpec&, const CodecSpec&) = default;
};

/// The parameters of a codec, defaults filled in.
class CodecNumbers {
 public:
  explicit CodecNumbers(std::map<std::string, double, std::less<>> values)
      : values_(std::move(values)) {}

  double operator[](std::string_view name) const { return values_.find(name)->second; }
  std::uint32_t whole(std::string_view name) const {
    return static_cast<std::uint32_t>((*this)[name]);
  }

 private:
  std::map<std::string, double, std::less<>> values_;
};

/// How a codec packs a block of values with a shared exponent. A packed block starts with the
/// exponent; blocks follow without gaps.
struct BlockFormat {
  std::uint32_t block = 16;         // values per block
  std::uint32_t stride = 1;         // distance between values of a block
  std::uint32_t mantissa_bits = 4;  // per value, sign included
  std::uint32_t exponent_bits = 8;
  std::uint32_t outliers = 0;  // values per block that are stored separately
  // Mantissa levels as shares of 2^(E + 1); empty: evenly spaced from 0.
  std::vector<double> levels;

  std::uint32_t mantissas() const { return std::uint32_t{1} << (mantissa_bits - 1); }
};

/// Memory traffic of one direction: uncompressed plus packed bytes.
constexpr double bytes_moved(double plain_bytes, double packed_bytes) {
  return plain_bytes + packed_bytes;
}

}  // namespace penstock
