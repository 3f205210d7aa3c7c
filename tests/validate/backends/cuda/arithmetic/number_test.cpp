#include "validate/backends/cuda/arithmetic/number.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "hardware_models/codecs/coding/bits.hpp"

namespace penstock::testing {

// Halves between two bf16 numbers, and a bit less and more, at all exponents.
TEST_CASE("gpu numbers: bf16 has the bits of the codecs' own") {
  for (std::uint32_t high = 0; high < 0x7F80U; high += 13) {
    for (const std::uint32_t low : {0U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      for (const std::uint32_t sign : {0U, 0x80000000U}) {
        const auto value = std::bit_cast<float>(sign | high << 16 | low);
        CHECK(bf16_of(value).bits == to_bf16(value));
      }
    }
    CHECK(value_of(Bf16{static_cast<std::uint16_t>(high)}) ==
          from_bf16(static_cast<std::uint16_t>(high)));
  }
}

// A product's sum that is too large is infinite, as in the library; a codec keeps it finite.
TEST_CASE("gpu numbers: what bf16 cannot hold is infinite, and a NaN stays one") {
  CHECK(value_of(bf16_of(std::numeric_limits<float>::max())) == HUGE_VALF);
  CHECK(value_of(bf16_of(-HUGE_VALF)) == -HUGE_VALF);
  CHECK(std::isnan(value_of(bf16_of(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(std::isnan(value_of(bf16_of(std::bit_cast<float>(0x7F800001U)))));
}

}  // namespace penstock::testing
