#include "sim/base/time.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>

namespace penstock {

TEST_CASE("half a picosecond goes to the even neighbour") {
  CHECK(from_us(0.5e-6).picoseconds == 0);
  CHECK(from_us(1.5e-6).picoseconds == 2);
  CHECK(from_us(2.5e-6).picoseconds == 2);
  CHECK(from_us(3.5e-6).picoseconds == 4);
  CHECK(from_us(0.51e-6).picoseconds == 1);
  CHECK(from_us(2.49e-6).picoseconds == 2);
}

TEST_CASE("decimal microseconds are whole picoseconds, though their doubles are not exact") {
  CHECK(from_us(0.1).picoseconds == 100'000);
  CHECK(from_us(335.54432).picoseconds == 335'544'320);
  CHECK(from_us(0.1 + 0.2).picoseconds == 300'000);
  CHECK(from_us(1e12).picoseconds == 1'000'000'000'000'000'000);
}

TEST_CASE("a time as text is exact and has no zeros at its end") {
  CHECK(text_us(Time{0}) == "0");
  CHECK(text_us(Time{1}) == "0.000001");
  CHECK(text_us(Time{1'500'000}) == "1.5");
  CHECK(text_us(Time{33'000'000}) == "33");
  CHECK(text_us(Time{100'000'000}) == "100");
  CHECK(text_us(Time{-1'500'000}) == "-1.5");
  CHECK(text_us(max_time) == "9223372036854.775807");
  CHECK(text_us(Time{INT64_MIN}) == "-9223372036854.775808");
}

TEST_CASE("a time as a double is the nearest there is") {
  // 38,400,709,120 ps read as a decimal: multiplying by 1e-6 would be off in the last digit.
  CHECK(to_us(Time{38'400'709'120}) == 38400.70912);
  CHECK(to_us(Time{3}) == 0.000003);
  CHECK(to_us(Time{300'000}) == 0.3);
}

TEST_CASE("to microseconds and back nothing is lost within a quarter of an hour") {
  CHECK(rc::check([] {
    const auto bound = std::int64_t{900'000'000} * 1'000'000;
    const Time time{*rc::gen::resize(rc::kNominalSize, rc::gen::inRange(-bound, bound))};
    RC_ASSERT(from_us(to_us(time)) == time);
    RC_ASSERT(from_us(std::stod(text_us(time))) == time);
  }));
}

}  // namespace penstock
