#include "gui/models/drawing/theme.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "experiments/show/pictures/palette.hpp"
#include "gui/models/strips/strip_lines.hpp"
#include "tests/support/colour_sight.hpp"

namespace penstock {
namespace {

TEST_CASE("themes: text has a contrast of at least 4.5 on every ground it stands on") {
  for (std::size_t t = 0; t < theme_count; ++t) {
    const Theme& colours = theme(static_cast<ThemeName>(t));
    for (const Colour ground : {colours.ground, colours.panel}) {
      CHECK(contrast(colours.ink, ground) >= 4.5);
      CHECK(contrast(colours.faint_ink, ground) >= 4.5);
      CHECK(contrast(colours.accent, ground) >= 4.5);
      CHECK(contrast(colours.warning, ground) >= 4.5);
    }
  }
}

TEST_CASE("themes: what stands in a lane differs from the lane and from each other for everybody") {
  for (std::size_t t = 0; t < theme_count; ++t) {
    const Theme& colours = theme(static_cast<ThemeName>(t));
    CAPTURE(name(static_cast<ThemeName>(t)));
    const auto apart = [&](Colour colour) {
      return testing::least_difference(colour, colours.lane);
    };
    for (std::size_t p = 0; p < pass_count; ++p) {
      CAPTURE(p);
      CHECK(apart(pass_colour(static_cast<Pass>(p), 0, 1, colours.kind)) >= 12);
    }
    for (const Colour idle : colours.idle) {
      CHECK(apart(idle) >= 12);
      CHECK(testing::least_difference(idle, colours.busy()) >= 12);
    }
    for (std::size_t s = 0; s < series_colours; ++s) CHECK(apart(series_colour(s)) >= 12);
    for (std::size_t k = 0; k < buffer_kinds; ++k) {
      const auto kind = static_cast<BufferKind>(k);
      if (kind != BufferKind::gradient) CHECK(apart(memory_colour(kind)) >= 12);
    }
    for (const Colour difference : {later_colour, earlier_colour}) {
      CHECK(apart(difference) >= 12);
      for (const Pass pass : {Pass::forward, Pass::backward}) {
        CHECK(testing::least_difference(difference, pass_colour(pass)) >= 12);
      }
    }
  }
  CHECK(testing::least_difference(later_colour, earlier_colour) >= 12);
}

TEST_CASE("themes: on dark ground every pass is lighter than its lane, most of them by far") {
  // As light as passes can be and still differ from each other and from all causes for everybody.
  for (const ThemeName dark : {ThemeName::dark, ThemeName::contrast}) {
    const Theme& colours = theme(dark);
    int far = 0;
    for (std::size_t p = 0; p < pass_count; ++p) {
      CAPTURE(p);
      const double its =
          contrast(pass_colour(static_cast<Pass>(p), 0, 1, colours.kind), colours.lane);
      CHECK(its >= 1.7);
      far += its >= 2.9 ? 1 : 0;
    }
    CHECK(far >= 13);
    CHECK(contrast(pass_colour(Pass::reduce_gradient, 0, 1, colours.kind), colours.lane) >= 3);
  }
}

TEST_CASE("themes: one of the two tones of a selection is seen on every colour") {
  const auto seen_on = [](Colour ground) {
    return std::max(contrast(ground, paper), contrast(ground, ink));
  };
  for (std::size_t p = 0; p < pass_count; ++p) {
    for (const PictureTheme kind : {PictureTheme::light, PictureTheme::dark}) {
      CHECK(seen_on(pass_colour(static_cast<Pass>(p), 0, 1, kind)) >= 3);
    }
  }
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    for (std::size_t t = 0; t < theme_count; ++t) {
      CHECK(seen_on(theme(static_cast<ThemeName>(t)).idle[c]) >= 3);
    }
  }
  CHECK(contrast(paper, ink) >= 7);
}

TEST_CASE(
    "themes: heat of every cause stands out from its lane as text does, and from the others") {
  for (std::size_t t = 0; t < theme_count; ++t) {
    const Theme& colours = theme(static_cast<ThemeName>(t));
    for (std::size_t c = 0; c < idle_cause_count; ++c) {
      CAPTURE(c);
      CHECK(contrast(colours.heat[c], colours.lane) >= 4.5);
      for (std::size_t other = 0; other < c; ++other) {
        CHECK(testing::least_difference(colours.heat[c], colours.heat[other]) >= 12);
      }
    }
  }
}

TEST_CASE("themes: the ticks that tell chunks apart are seen on every pass and shade") {
  for (const Pass pass : {Pass::forward, Pass::backward, Pass::backward_input,
                          Pass::backward_weight, Pass::recompute}) {
    for (std::uint32_t chunk = 1; chunk < 8; ++chunk) {
      const Colour op = pass_colour(pass, chunk, 8);
      CAPTURE(static_cast<int>(pass));
      CHECK(testing::least_difference(op, text_on(op)) >= 12);
    }
  }
}

TEST_CASE("painter: the hatch of each cause is drawn, and no two look alike") {
  constexpr int side = 3 * hatch_pixels + 1;
  constexpr std::uint32_t between = 1;
  constexpr std::uint32_t line = 2;
  ShareColumns none;
  none.resize(side);
  none.forget();
  std::set<std::vector<std::uint32_t>> pictures;
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    const Hatch hatch = hatch_of(static_cast<IdleCause>(c));
    StripLines lines;
    lines.resize(side);
    lines.start(0);
    lines.hatch(1, side, between, line, hatch);
    std::vector<std::uint32_t> picture(side * side);
    lines.draw(none, none, {0, side, false, 0}, {picture.data(), side, side, side});
    for (int y = 0; y < side; ++y) {
      CHECK(picture[static_cast<std::size_t>(y * side)] == 0);
      for (int x = 1; x < side; ++x) {
        const bool on_line = (hatch_row(hatch, y) >> x % hatch_pixels & 1) != 0;
        CHECK(picture[static_cast<std::size_t>(y * side + x)] == (on_line ? line : between));
      }
    }
    pictures.insert(picture);
  }
  CHECK(pictures.size() == idle_cause_count);
}

}  // namespace
}  // namespace penstock
