#include "experiments/input/files/table.hpp"

#include <doctest/doctest.h>

namespace penstock::testing {

TEST_CASE("a share that rounds to nothing has no sign") {
  CHECK(percent_text(-0.0001) == "0.0 %");
  CHECK(signed_percent_text(-0.0004) == "0.0 %");
  CHECK(signed_percent_text(0.0004) == "0.0 %");
  CHECK(signed_percent_text(-0.0006) == "-0.1 %");
  CHECK(signed_percent_text(0.125) == "+12.5 %");
  CHECK(percent_text(0.125) == "12.5 %");
}

TEST_CASE("times in tables have four significant digits and no exponent") {
  const TimeUnit ms{"ms", 1'000'000'000};
  CHECK(short_time_text(from_us(38400.7), ms) == "38.4");
  CHECK(short_time_text(from_us(337.544), ms) == "0.3375");
  CHECK(short_time_text(from_us(12345678), ms) == "12346");
  CHECK(short_time_text(from_us(9999600), ms) == "10000");
  CHECK(short_time_text(Time{}, ms) == "0");
  CHECK(short_time_text(Time{3385}, ms) == "0.000003385");
  CHECK(short_time_text(Time{-3385}, ms) == "-0.000003385");
  CHECK(short_time_text(Time{8}, unit_for(from_us(1e9))) == "0.000000000008");
  CHECK(short_time_text(Time{-3500}, ms) == "-0.0000035");
}

}  // namespace penstock::testing
