#include "experiments/show/pictures/axis.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "experiments/show/pictures/canvas.hpp"
#include "experiments/show/pictures/page.hpp"
#include "tests/support/pictures.hpp"

namespace penstock::testing {

TEST_CASE("ticks stand at multiples of 1, 2 or 5 times a power of ten") {
  CHECK(texts(round_ticks(33, 10)) ==
        std::vector<std::string>{"0", "5", "10", "15", "20", "25", "30"});
  CHECK(texts(round_ticks(33, 33)).size() == 34);
  CHECK(texts(round_ticks(0.6, 3)) == std::vector<std::string>{"0.0", "0.2", "0.4", "0.6"});
  CHECK(texts(round_ticks(1, 1)) == std::vector<std::string>{"0", "1"});
  CHECK(texts(round_ticks(100, 5)) == std::vector<std::string>{"0", "20", "40", "60", "80", "100"});
  CHECK(texts(round_ticks(2500, 3)) == std::vector<std::string>{"0", "1000", "2000"});
  CHECK(texts(round_ticks(0, 5)) == std::vector<std::string>{"0"});
}

TEST_CASE("ticks are the doubles nearest to their texts") {
  for (double end : {0.7, 0.011, 3.3, 870.0, 1e7}) {
    for (const Tick& tick : round_ticks(end, 10)) CHECK(tick.at == std::stod(tick.text));
  }
}

TEST_CASE("ticks fill an axis as far as their number allows") {
  for (double end : {0.013, 0.1, 0.77, 1.0, 3.3, 42.0, 99.9, 100.0, 12345.0, 5e8}) {
    for (int most : {1, 2, 5, 10, 16}) {
      CAPTURE(end);
      CAPTURE(most);
      const auto ticks = round_ticks(end, most);
      REQUIRE(ticks.size() >= 1);
      CHECK(ticks.size() <= static_cast<std::size_t>(most) + 1);
      CHECK(round_step(end, most).times(static_cast<double>(ticks.size())) > end);
    }
  }
}

TEST_CASE("microbatches are ticked at the powers of two in their range") {
  CHECK(texts(power_of_two_ticks(1, 16, 20)) == std::vector<std::string>{"1", "2", "4", "8", "16"});
  CHECK(texts(power_of_two_ticks(3, 100, 20)) ==
        std::vector<std::string>{"4", "8", "16", "32", "64"});
  CHECK(texts(power_of_two_ticks(1, 1024, 5)) == std::vector<std::string>{"1", "8", "64", "512"});
  CHECK(texts(power_of_two_ticks(3, 3, 20)) == std::vector<std::string>{"3"});
}

TEST_CASE("times are given in the largest unit that they reach") {
  CHECK(unit_for(Time{999'999'999}).name == "µs");
  CHECK(unit_for(Time{1'000'000'000}).name == "ms");
  CHECK(unit_for(Time{1'000'000'000'000}).name == "s");
  CHECK(unit_for(Time{999'999}).name == "ns");
  CHECK(unit_for(Time{1}).name == "ps");
  CHECK(unit_for(Time{0}).name == "µs");
}

TEST_CASE("ticks of a logarithm are even, and at most as many as asked for") {
  CHECK(texts(log_ticks(0, 2, 8)) ==
        std::vector<std::string>{"1", "2", "5", "10", "20", "50", "100"});
  CHECK(texts(log_ticks(0, 2, 3)) == std::vector<std::string>{"1", "10", "100"});
  CHECK(texts(log_ticks(-2, 6, 5)) ==
        std::vector<std::string>{"0.01", "1", "100", "10000", "1000000"});
  // Between 1.2 and 1.9 there is neither a power of ten nor 2 or 5.
  CHECK(texts(log_ticks(std::log10(1.2), std::log10(1.9), 8)) ==
        std::vector<std::string>{"1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9"});
  for (int most = 1; most < 9; ++most) {
    CHECK(log_ticks(-3.3, 7.1, most).size() <= static_cast<std::size_t>(most));
  }
}

TEST_CASE("labels of an axis never touch") {
  for (const double width : {330.0, 500.0, 1200.0}) {
    for (const double end : {3.0, 1234.0, 987654.0}) {
      Canvas canvas;
      const std::vector<Tick> ticks = fitting_ticks(canvas, end, width);
      CHECK(ticks.size() >= 2);
      CHECK(labels_fit(canvas, ticks, width / end));
    }
  }
}

}  // namespace penstock::testing
