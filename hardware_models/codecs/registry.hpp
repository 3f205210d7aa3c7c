#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/codecs/coding/bits.hpp"
#include "hardware_models/spec/parameters.hpp"

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

/// One codec. A codec is one .cpp of this folder.
struct CodecEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const Parameter> parameters;
  /// Bits of a packed block. Throws InputError, its place a pointer below the codec, for numbers
  /// that do not go together.
  std::uint32_t (*block_bits)(const CodecNumbers& numbers);
  /// For numbers that go together.
  BlockFormat (*format)(const CodecNumbers& numbers);
  /// Both for whole blocks.
  void (*encode)(const BlockFormat& format, std::span<const float> block, BitWriter& packed);
  void (*decode)(const BlockFormat& format, BitReader& packed, std::span<float> block);
};

/// All codecs, by name.
std::span<const CodecEntry* const> codec_entries();

/// The entry of a codec. Throws InputError, its place a pointer below the codec, for a name that
/// there is not.
const CodecEntry& codec_entry(const CodecSpec& spec);

/// The numbers of a codec, checked one by one. Throws InputError likewise.
CodecNumbers codec_numbers(const CodecEntry& entry, const CodecSpec& spec);

/// How many bits an encoded value takes in whole blocks, its share of what blocks have in common
/// included. Throws InputError likewise, also for numbers that do not go together.
double bits_per_value(const CodecSpec& spec);

/// What either direction moves through memory: the values as they are, and as they are packed.
constexpr double bytes_moved(double plain_bytes, double packed_bytes) {
  return plain_bytes + packed_bytes;
}

}  // namespace penstock
