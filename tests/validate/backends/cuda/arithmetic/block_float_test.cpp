#include "validate/backends/cuda/arithmetic/block_float.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "hardware_models/codecs/coding/bits.hpp"
#include "hardware_models/codecs/registry.hpp"
#include "sim/base/named.hpp"

namespace penstock::testing {
namespace {

using Block = std::vector<std::uint16_t>;

/// The reference codec with these bits per value, on a block.
struct ReferenceCodec {
  const CodecEntry* entry = find_named(codec_entries(), "bfp");
  BlockFormat format;

  explicit ReferenceCodec(std::uint32_t bits) {
    CodecSpec spec{.name = "bfp"};
    spec.numbers["bits"] = bits;
    format = entry->format(codec_numbers(*entry, spec));
  }
};

std::vector<float> floats(const Block& block) {
  std::vector<float> values;
  for (const std::uint16_t bits : block) values.push_back(from_bf16(bits));
  return values;
}

/// Packs and unpacks with the functions of the GPU and with the reference: all bits are equal.
void check_block(const Block& block, std::uint32_t bits) {
  const ReferenceCodec codec(bits);
  BitWriter writer;
  codec.entry->encode(codec.format, floats(block), writer);
  const std::vector<std::uint8_t> expected = writer.take();
  std::vector<std::uint8_t> packed(packed_bytes(bits));
  pack_block(block.data(), bits, packed.data());
  REQUIRE(packed == expected);
  std::vector<float> values(block_values);
  BitReader reader(expected);
  codec.entry->decode(codec.format, reader, values);
  Block back(block_values);
  unpack_block(packed.data(), bits, back.data());
  for (std::uint32_t i = 0; i < block_values; ++i) {
    CHECK(std::bit_cast<std::uint32_t>(values[i]) == std::uint32_t{back[i]} << 16);
  }
}

/// A block whose exponents lie within `span` of each other, from `highest` down.
Block block_of(std::uint64_t seed, std::uint32_t highest, std::uint32_t span) {
  Block block;
  std::uint64_t state = seed * 2654435761U + 88172645463325252ULL;
  for (std::uint32_t i = 0; i < block_values; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const auto below = static_cast<std::uint32_t>(state >> 33) % (span + 1);
    const std::uint32_t exponent = highest > below ? highest - below : 0;
    block.push_back(static_cast<std::uint16_t>((state >> 20 & 0x8000U) | exponent << 7 |
                                               (state >> 12 & 0x7FU)));
  }
  return block;
}

}  // namespace

// Exponents 0 (zeros and the values below the range) to 254, and 255: infinities and NaNs.
TEST_CASE("gpu block floating point: all blocks have the bits of the reference") {
  for (std::uint32_t bits = 2; bits <= most_block_bits; ++bits) {
    CAPTURE(bits);
    for (std::uint32_t highest = 0; highest <= 255; ++highest) {
      CAPTURE(highest);
      for (const std::uint32_t span : {0U, 1U, 5U, 12U}) {
        check_block(block_of(highest * 31 + span, highest, span), bits);
      }
    }
  }
}

// With 4 bits and the exponent of 1, a step is 1/4. 0.375 is 1.5 steps and 0.625 is 2.5: both go to
// the even one, 2. 1.9375 is 7.75 steps: the highest mantissa is 7.
TEST_CASE("gpu block floating point: mantissas are rounded half to even, and saturate") {
  Block block(block_values, to_bf16(1.0F));
  block[0] = to_bf16(0.375F);
  block[1] = to_bf16(-0.625F);
  block[2] = to_bf16(1.9375F);
  block[3] = to_bf16(-0.0F);
  check_block(block, 4);
  std::vector<std::uint8_t> packed(packed_bytes(4));
  pack_block(block.data(), 4, packed.data());
  CHECK(packed[0] == 127);
  CHECK(packed[1] == (2 | (8 + 2) << 4));
  CHECK(packed[2] == (7 | 8 << 4));
}

TEST_CASE("gpu block floating point: a block with a NaN or an infinity is NaNs") {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    Block block(block_values, to_bf16(3.0F));
    block[7] = to_bf16(value);
    check_block(block, 6);
    Block back(block_values);
    std::vector<std::uint8_t> packed(packed_bytes(6));
    pack_block(block.data(), 6, packed.data());
    unpack_block(packed.data(), 6, back.data());
    CHECK(std::isnan(from_bf16(back[0])));
  }
}

}  // namespace penstock::testing
