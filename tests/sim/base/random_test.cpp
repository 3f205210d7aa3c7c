#include "sim/base/random.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace penstock::testing {

TEST_CASE("philox gives the numbers that its authors publish") {
  // kat_vectors of Random123, philox4x32 with 10 rounds.
  using Counter = std::array<std::uint32_t, 4>;
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) ==
        Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform numbers never reach 0 or 1, and lie symmetrically between them") {
  CHECK(uniform(0) == 0x1p-53);
  CHECK(uniform(UINT64_MAX) == 1 - 0x1p-53);
  CHECK(uniform(std::uint64_t{1} << 63) == 0.5 + 0x1p-53);
}

TEST_CASE("the portable logarithm and exponential agree with the library's to 1e-12") {
  for (int i = 0; i < 100'000; ++i) {
    const double x = -700 + 1400 * (i + 0.5) / 100'000;
    const double exp = std::exp(x);
    REQUIRE(std::abs(portable_exp(x) - exp) <= 1e-12 * exp);
    REQUIRE(std::abs(portable_log(exp) - std::log(exp)) <= 1e-12 * std::abs(std::log(exp)));
    const double near_one = 0.5 + 1.5 * i / 100'000;
    REQUIRE(std::abs(portable_log(near_one) - std::log(near_one)) <= 1e-15);
  }
  CHECK(portable_exp(0) == 1);
  CHECK(portable_log(1) == 0);
}

TEST_CASE("the normal quantile is the inverse of the normal distribution, far into its tails") {
  CHECK(normal_quantile(0.5) == 0);
  CHECK(normal_quantile(0.975) == doctest::Approx(1.959963984540054).epsilon(1e-15));
  for (double p = 1e-300; p < 0.5; p *= 1.01) {
    const double z = normal_quantile(p);
    // The part below z is erfc(-z / sqrt 2) / 2. Its relative error is z times that of z.
    REQUIRE(std::erfc(-z / std::sqrt(2.0)) / 2 == doctest::Approx(p).epsilon(1e-12));
  }
  for (double p = 0.01; p < 0.5; p += 0.01) {
    CHECK(normal_quantile(1 - p) == doctest::Approx(-normal_quantile(p)).epsilon(1e-13));
  }
}

}  // namespace penstock::testing
