#include "experiments/show/pictures/palette.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/show/pictures/picture.hpp"
#include "sim/report/report.hpp"
#include "tests/support/colour_sight.hpp"

namespace penstock::testing {

namespace {

/// Where two colours differ too little for someone.
std::string alike(std::string_view one, Colour first, std::string_view other, Colour second) {
  const double apart = least_difference(first, second);
  return apart >= 12 ? "" : fmt::format("{} and {}: {:.1f}\n", one, other, apart);
}

/// Colours with what they are of.
struct Named {
  std::string of;
  Colour colour;
};

std::string alike_among(const std::vector<Named>& all) {
  std::string found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      found += alike(all[j].of, all[j].colour, all[i].of, all[i].colour);
    }
  }
  return found;
}

std::string alike_between(const std::vector<Named>& ones, const std::vector<Named>& others) {
  std::string found;
  for (const Named& one : ones) {
    for (const Named& other : others) found += alike(one.of, one.colour, other.of, other.colour);
  }
  return found;
}

std::vector<Named> passes(PictureTheme ground) {
  std::vector<Named> all;
  for (std::size_t p = 0; p < pass_count; ++p) {
    const auto pass = static_cast<Pass>(p);
    all.push_back({std::string(letters(pass)), pass_colour(pass, 0, 1, ground)});
  }
  return all;
}

std::vector<Named> causes(PictureTheme ground) {
  std::vector<Named> all;
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    const auto cause = static_cast<IdleCause>(c);
    all.push_back({name(cause), idle_colour(cause, ground)});
  }
  return all;
}

std::vector<Named> kinds_of_memory() {
  std::vector<Named> all;
  for (std::size_t k = 0; k < buffer_kinds; ++k) {
    const auto kind = static_cast<BufferKind>(k);
    if (kind != BufferKind::gradient) all.push_back({std::string(name(kind)), memory_colour(kind)});
  }
  return all;
}

/// By the channel in which they differ most.
int apart(Colour one, Colour other) {
  return std::max({std::abs(one.red - other.red), std::abs(one.green - other.green),
                   std::abs(one.blue - other.blue)});
}

constexpr std::array<PictureTheme, 2> grounds{PictureTheme::light, PictureTheme::dark};

}  // namespace

TEST_CASE("colours: CIEDE2000 is that of its authors") {
  // Sharma, Wu and Dalal (2005), table 1.
  struct Pair {
    Lab one, other;
    double apart;
  };
  for (const Pair& pair :
       {Pair{{50, 2.6772, -79.7751}, {50, 0, -82.7485}, 2.0425},
        Pair{{50, -1, 2}, {50, 0, 0}, 2.3669},
        Pair{{50, 2.49, -0.001}, {50, -2.49, 0.0011}, 7.2195},
        Pair{{50, 2.5, 0}, {73, 25, -18}, 27.1492}, Pair{{50, 2.5, 0}, {56, -27, -3}, 31.9030},
        Pair{{22.7233, 20.0904, -46.694}, {23.0331, 14.973, -42.5619}, 2.0373},
        Pair{{2.0776, 0.0795, -1.135}, {0.9033, -0.0636, -0.5514}, 0.9082}}) {
    CHECK(difference(pair.one, pair.other) == doctest::Approx(pair.apart).epsilon(0.0001));
  }
  // Red and green of equal lightness, as someone without green cones sees them.
  CHECK(difference(seen({190, 70, 60}, Sight::usual), seen({60, 125, 60}, Sight::usual)) > 50);
  CHECK(difference(seen({190, 70, 60}, Sight::deutan), seen({60, 125, 60}, Sight::deutan)) < 15);
}

TEST_CASE("colours: passes and causes differ for everybody, on light and on dark ground") {
  for (const PictureTheme ground : grounds) {
    CHECK(alike_among(passes(ground)) == "");
    CHECK(alike_among(causes(ground)) == "");
    CHECK(alike_between(passes(ground), causes(ground)) == "");
  }
}

TEST_CASE("colours: a paler chunk is not taken for another pass or a cause") {
  for (const Pass pass :
       {Pass::forward, Pass::backward, Pass::backward_input, Pass::backward_weight}) {
    for (const std::uint32_t chunks : {2U, 3U, 4U}) {
      for (std::uint32_t chunk = 1; chunk < chunks; ++chunk) {
        const std::vector<Named> shade{
            {fmt::format("{} of chunk {} of {}", letters(pass), chunk, chunks),
             pass_colour(pass, chunk, chunks)}};
        for (const Pass other : {Pass::forward, Pass::backward, Pass::backward_input,
                                 Pass::backward_weight, Pass::recompute, Pass::update}) {
          for (std::uint32_t c = 0; other != pass && c < chunks; ++c) {
            CHECK(alike_between(shade, {{fmt::format("{} of chunk {}", letters(other), c),
                                         pass_colour(other, c, chunks)}}) == "");
          }
        }
        for (const PictureTheme ground : grounds) {
          CHECK(alike_between(shade, causes(ground)) == "");
        }
      }
    }
  }
}

TEST_CASE("colours: kinds of memory differ from each other and from the main passes") {
  CHECK(alike_among(kinds_of_memory()) == "");
  const std::vector<Named> main{{"F", pass_colour(Pass::forward)},
                                {"B", pass_colour(Pass::backward)},
                                {"I", pass_colour(Pass::backward_input)},
                                {"W", pass_colour(Pass::backward_weight)}};
  CHECK(alike_between(kinds_of_memory(), main) == "");
}

TEST_CASE("colours: series differ from each other and from all causes") {
  std::vector<Named> series;
  for (std::size_t s = 0; s < series_colours; ++s) {
    series.push_back({fmt::format("series {}", s), series_colour(s)});
  }
  CHECK(alike_among(series) == "");
  for (const PictureTheme ground : grounds) CHECK(alike_between(series, causes(ground)) == "");
}

TEST_CASE("colours: each cause has a hatch of its own") {
  std::set<Hatch> hatches;
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    hatches.insert(hatch_of(static_cast<IdleCause>(c)));
  }
  CHECK(hatches.size() == idle_cause_count);
}

TEST_CASE("numbers can be read on every pass and chunk") {
  for (std::size_t pass = 0; pass < pass_count; ++pass) {
    for (std::uint32_t chunk : {0u, 1u, 2u, 3u}) {
      for (const PictureTheme theme : grounds) {
        const Colour ground = pass_colour(static_cast<Pass>(pass), chunk, 4, theme);
        CAPTURE(pass);
        CAPTURE(chunk);
        CHECK(contrast(ground, text_on(ground)) >= 3.5);
      }
    }
  }
}

TEST_CASE("recomputation looks like no forward or backward, in any chunk") {
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

TEST_CASE("the causes of idle time are muted, the passes are not, and no two causes look alike") {
  const auto vividness = [](Colour c) {
    return std::max({c.red, c.green, c.blue}) - std::min({c.red, c.green, c.blue});
  };
  for (const PictureTheme ground : grounds) {
    const std::vector<Named> all = causes(ground);
    for (std::size_t i = 0; i < all.size(); ++i) {
      CAPTURE(all[i].of);
      CHECK(vividness(all[i].colour) <= 40);
      for (std::size_t j = 0; j < i; ++j) CHECK(apart(all[i].colour, all[j].colour) >= 24);
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
    for (std::size_t j = 0; j < i; ++j) CHECK(series_colour(i) != series_colour(j));
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
