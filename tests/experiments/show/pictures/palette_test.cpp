#include "experiments/show/pictures/palette.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "experiments/show/pictures/picture.hpp"
#include "sim/report/report.hpp"

namespace penstock::testing {

TEST_CASE("recomputation looks like no forward or backward, in any chunk") {
  const auto apart = [](Colour one, Colour other) {
    return std::max({std::abs(one.red - other.red), std::abs(one.green - other.green),
                     std::abs(one.blue - other.blue)});
  };
  for (const Pass pass : {Pass::forward, Pass::backward, Pass::backward_input}) {
    for (std::uint32_t chunk = 0; chunk < 4; ++chunk) {
      for (std::uint32_t other = 0; other < 4; ++other) {
        CAPTURE(chunk);
        CAPTURE(other);
        CHECK(apart(pass_colour(Pass::recompute, chunk, 4), pass_colour(pass, other, 4)) >= 48);
      }
    }
  }
}

TEST_CASE("numbers can be read on every pass and chunk") {
  for (std::size_t pass = 0; pass < pass_count; ++pass) {
    for (std::uint32_t chunk : {0u, 1u, 2u, 3u}) {
      const Colour ground = pass_colour(static_cast<Pass>(pass), chunk, 4);
      CAPTURE(pass);
      CAPTURE(chunk);
      CHECK(contrast(ground, text_on(ground)) >= 3.5);
    }
  }
}

TEST_CASE("the causes of idle time are muted, the passes are not, and no two causes look alike") {
  const auto vividness = [](Colour c) {
    return std::max({c.red, c.green, c.blue}) - std::min({c.red, c.green, c.blue});
  };
  const auto apart = [](Colour one, Colour other) {
    return std::max({std::abs(one.red - other.red), std::abs(one.green - other.green),
                     std::abs(one.blue - other.blue)});
  };
  for (std::size_t i = 0; i < idle_cause_count; ++i) {
    const Colour colour = idle_colour(static_cast<IdleCause>(i));
    CAPTURE(i);
    CHECK(vividness(colour) <= 40);
    for (std::size_t j = 0; j < i; ++j) {
      CHECK(apart(colour, idle_colour(static_cast<IdleCause>(j))) >= 24);
    }
  }
  for (const Pass pass :
       {Pass::forward, Pass::backward, Pass::backward_input, Pass::backward_weight}) {
    for (std::uint32_t chunk = 0; chunk < 4; ++chunk) {
      CHECK(vividness(pass_colour(pass, chunk, 4)) >= 60);
    }
  }
}

TEST_CASE("the series of a plot with a dozen lines have colours of their own") {
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(contrast(series_colour(i), paper) > 2);
    for (std::size_t j = 0; j < i; ++j) {
      CAPTURE(i);
      CAPTURE(j);
      CHECK(series_colour(i) != series_colour(j));
    }
  }
}

TEST_CASE("on dark ground lightness turns over, and series are as easy to see") {
  CHECK(on_dark(paper) == Colour{23, 23, 23});
  CHECK(contrast(on_dark(ink), on_dark(paper)) > 7);
  for (std::size_t i = 0; i < series_colours; ++i) {
    CAPTURE(i);
    CHECK(contrast(on_dark(series_colour(i)), on_dark(paper)) > 2.5);
  }
}

}  // namespace penstock::testing
