#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "hardware_models/codecs/coding/bits.hpp"
#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/reference/codec.hpp"

// What codecs pack, held bit by bit against another way to get there: text of 0s and 1s, and a
// search through all mantissas.

namespace penstock::testing {
namespace {

struct Format {
  std::uint32_t block = 16, bits = 4, exponent_bits = 8, stride = 1, outliers = 0;
};

void append(std::string& bits, std::uint32_t number, std::uint32_t width) {
  for (std::uint32_t i = 0; i < width; ++i) bits += (number >> i & 1U) != 0 ? '1' : '0';
}

/// Of the two values around a float that bf16 has, the nearer; of equally near ones the even one.
std::uint32_t nearest_bf16(float value) {
  const std::uint32_t below = std::bit_cast<std::uint32_t>(value) >> 16;
  const auto off = [&](std::uint32_t bits) {
    return std::abs(double{std::bit_cast<float>(bits << 16)} - double{value});
  };
  if (off(below) == off(below + 1)) return below + below % 2;
  return off(below) < off(below + 1) ? below : below + 1;
}

/// The place of the largest magnitude of those that are still there, the first of equals.
std::size_t largest(const std::vector<float>& block, const std::vector<bool>& there) {
  std::size_t place = block.size();
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (!there[i]) continue;
    if (place == block.size() || std::abs(block[i]) > std::abs(block[place])) place = i;
  }
  return place;
}

/// Codes of exponents from the highest down, until one is no larger than the magnitude.
std::uint32_t naive_exponent(double magnitude, const Format& format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  for (int code = (1 << format.exponent_bits) - 2; code > 0; --code) {
    if (std::pow(2.0, code - bias) <= magnitude) return static_cast<std::uint32_t>(code);
  }
  return 0;
}

std::uint32_t naive_mantissa(double magnitude, double step, std::uint32_t count) {
  std::uint32_t best = 0;
  for (std::uint32_t q = 1; q < count; ++q) {
    const double off = std::abs(q * step - magnitude), least = std::abs(best * step - magnitude);
    if (off < least || (off == least && q % 2 == 0)) best = q;
  }
  return best;
}

void append_block(std::string& bits, std::vector<float> block, const Format& format) {
  std::string aside;
  std::vector<bool> there(block.size(), true);
  for (std::uint32_t k = 0; k < format.outliers; ++k) {
    const std::size_t place = largest(block, there);
    append(aside, nearest_bf16(block[place]), 16);
    append(aside, static_cast<std::uint32_t>(place), 8);
    block[place] = 0;
    there[place] = false;
  }
  const std::uint32_t code = naive_exponent(std::abs(block[largest(block, there)]), format);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const double step =
      std::pow(2.0, static_cast<int>(code) - bias - static_cast<int>(format.bits) + 2);
  append(bits, code, format.exponent_bits);
  for (const float value : block) {
    append(bits, naive_mantissa(std::abs(value), step, 1U << (format.bits - 1)), format.bits - 1);
    append(bits, std::signbit(value) ? 1 : 0, 1);
  }
  bits += aside;
}

std::string naive_bits(const std::vector<float>& values, const Format& format) {
  std::string bits;
  for (std::size_t column = 0; column < std::min<std::size_t>(format.stride, values.size());
       ++column) {
    for (std::size_t at = column; at < values.size();) {
      std::vector<float> block;
      for (std::uint32_t i = 0; i < format.block; ++i, at += format.stride) {
        block.push_back(at < values.size() ? values[at] : 0);
      }
      append_block(bits, block, format);
    }
    // Columns that end above the last row are padded to as many blocks as the first.
    const std::size_t rows = (values.size() + format.stride - 1) / format.stride;
    const std::size_t blocks = (rows + format.block - 1) / format.block;
    const std::size_t own_rows = (values.size() - column + format.stride - 1) / format.stride;
    for (std::size_t b = (own_rows + format.block - 1) / format.block; b < blocks; ++b) {
      append_block(bits, std::vector<float>(format.block), format);
    }
  }
  return bits;
}

std::string bits_of(const std::vector<std::uint8_t>& bytes) {
  std::string bits;
  for (const std::uint8_t byte : bytes) append(bits, byte, 8);
  return bits;
}

CodecSpec spec_of(const Format& format) {
  CodecSpec spec{format.outliers == 0 ? "bfp" : "outlier-bfp",
                 {{"block", format.block},
                  {"bits", format.bits},
                  {"exponent_bits", format.exponent_bits},
                  {"stride", format.stride}}};
  if (format.outliers > 0) spec.numbers["outliers"] = format.outliers;
  return spec;
}

void check_packing(const Format& format, const std::vector<float>& values) {
  CAPTURE(format.block);
  CAPTURE(format.bits);
  CAPTURE(format.exponent_bits);
  CAPTURE(format.stride);
  CAPTURE(format.outliers);
  CAPTURE(values.size());
  const Codec codec = make_codec(spec_of(format));
  const std::vector<std::uint8_t> packed = encode(codec, values);
  std::string expected = naive_bits(values, format);
  CHECK(expected.size() % codec.block_bits == 0);
  expected.append((8 - expected.size() % 8) % 8, '0');
  CHECK((bits_of(packed) == expected));  // too long to be shown
  CHECK(packed.size() == packed_bytes(codec, values.size()));
}

}  // namespace

TEST_CASE("packing: whole blocks take exactly the bits of their values") {
  // 4096 values of 4.5 bits: 2304 bytes; 6 bits with an outlier in 16: 3072.
  const std::vector<float> values = draw_values({}, 4096, 4);
  for (const CodecEntry* entry : codec_entries()) {
    const CodecSpec usual{std::string(entry->name), {}};
    CAPTURE(usual.name);
    CHECK(static_cast<double>(encode(make_codec(usual), values).size()) * 8 ==
          bits_per_value(usual) * 4096);
  }
  CHECK(encode(make_codec({"bfp", {}}), values).size() == 2304);
  CHECK(encode(make_codec({"outlier-bfp", {}}), values).size() == 3072);
  // 17 values are two blocks of 72 bits.
  CHECK(packed_bytes(make_codec({"bfp", {}}), 17) == 18);
  CHECK(packed_bytes(make_codec({"bfp", {{"bits", 3}, {"block", 3}}}), 4) == 5);  // 2 * 17 bits
  CHECK(encode(make_codec({"bfp", {}}), {}).empty());
}

TEST_CASE("packing: every bit is where a naive implementation has it") {
  const std::vector<float> values = draw_values({.tail_share = 0.05, .tail_factor = 30}, 301, 5);
  for (const std::uint32_t block : {1U, 2U, 7U, 16U, 100U}) {
    for (const std::uint32_t bits : {2U, 3U, 5U, 8U}) {
      check_packing({.block = block, .bits = bits}, values);
      check_packing({.block = block, .bits = bits, .exponent_bits = 3}, values);
      check_packing({.block = block, .bits = bits, .stride = 10}, values);
      if (block > 1) check_packing({.block = block, .bits = bits, .outliers = 1}, values);
      if (block > 3) {
        check_packing({.block = block, .bits = bits, .stride = 43, .outliers = 3}, values);
      }
    }
  }
  check_packing({.stride = 1'000'000'000}, {1.5F, -2, 3});
  check_packing({.block = 256, .outliers = 255}, values);
}

TEST_CASE("packing: ties, zeros, the smallest and the largest floats are packed as naively") {
  std::vector<float> values{0.0F, -0.0F, 1e-45F, -1e-45F, 1e-38F, 3e-39F, 3e38F, -3.4e38F, 1, 1.5F};
  for (int quarter = 0; quarter < 64; ++quarter) values.push_back(static_cast<float>(quarter) / 4);
  for (const std::uint32_t block : {1U, 4U, 64U}) {
    for (const std::uint32_t bits : {2U, 3U, 4U, 8U}) {
      check_packing({.block = block, .bits = bits}, values);
      if (block > 1) check_packing({.block = block, .bits = bits, .outliers = 2}, values);
    }
  }
}

}  // namespace penstock::testing
