#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

/// A codec by its name and that codec's numbers: {"bfp", {{"bits", 4}}}.
struct CodecSpec {
  std::string name;
  std::map<std::string, double, std::less<>> numbers;

  friend bool operator==(const CodecSpec&, const CodecSpec&) = default;
};

/// The numbers of a codec, defaults filled in.
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

/// How a codec writes a block of values that share an exponent. A packed block begins with that
/// exponent; blocks follow each other without gaps.
struct BlockFormat {
  std::uint32_t block = 16;         // values of a block
  std::uint32_t stride = 1;         // how far apart they lie
  std::uint32_t mantissa_bits = 4;  // of a value, its sign included
  std::uint32_t exponent_bits = 8;
  std::uint32_t outliers = 0;  // values of a block that are kept aside
  // What mantissas stand for, as shares of twice the power of two that the exponent names; empty:
  // evenly spaced from 0 on.
  std::vector<double> levels;

  std::uint32_t mantissas() const { return std::uint32_t{1} << (mantissa_bits - 1); }
};

/// What either direction moves through memory: the values as they are, and as they are packed.
constexpr double bytes_moved(double plain_bytes, double packed_bytes) {
  return plain_bytes + packed_bytes;
}

}  // namespace penstock
