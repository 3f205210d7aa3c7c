#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "gui/models/tracks/track.hpp"

namespace penstock {
namespace {

/// Boxes with random lengths and gaps, up to some nanoseconds or some milliseconds; the tag is the
/// category.
Track random_track() {
  Track track;
  std::int64_t at = 0;
  const std::int64_t unit = *rc::gen::element<std::int64_t>(1, 1'000'003);
  const auto count = *rc::gen::inRange(1, 400);
  for (int i = 0; i < count; ++i) {
    at += unit * *rc::gen::inRange<std::int64_t>(0, 3000);
    const std::int64_t length = unit * *rc::gen::inRange<std::int64_t>(1, 5000);
    track.add(at, at + length, static_cast<std::uint32_t>(*rc::gen::inRange(0, 4)));
    at += length;
  }
  return track;
}

std::int64_t sum_of(const Pyramid::Level& level) {
  std::int64_t sum = 0;
  for (std::size_t cell = 0; cell < level.cells(); ++cell) sum += level.busy(cell);
  return sum;
}

std::uint8_t tag_itself(std::uint32_t tag) { return static_cast<std::uint8_t>(tag); }

TEST_CASE("pyramid: at every level the shares of all bins add up to the busy time") {
  CHECK(rc::check([] {
    const Track track = random_track();
    const Pyramid pyramid(track, tag_itself);
    std::int64_t busy = 0;
    for (std::size_t i = 0; i < track.size(); ++i) busy += track.end_at(i) - track.begin_at(i);
    for (const Pyramid::Level& level : pyramid.levels()) {
      RC_ASSERT(sum_of(level) == busy);
      RC_ASSERT(static_cast<std::int64_t>(level.bins) * level.bin >=
                track.end_at(track.size() - 1));
    }
  }));
}

TEST_CASE("pyramid: each bin holds what a walk over all boxes finds in it, by category") {
  CHECK(rc::check([] {
    const Track track = random_track();
    const Pyramid pyramid(track, tag_itself);
    const auto& level =
        pyramid.levels()[*rc::gen::inRange<std::size_t>(0, pyramid.levels().size())];
    const auto bin = *rc::gen::inRange<std::size_t>(0, level.bins);
    const std::int64_t from = static_cast<std::int64_t>(bin) * level.bin;
    for (std::size_t row = 0; row < pyramid.categories().size(); ++row) {
      std::int64_t busy = 0;
      for (std::size_t i = 0; i < track.size(); ++i) {
        if (track.tag[i] != pyramid.categories()[row]) continue;
        busy += std::max<std::int64_t>(
            0, std::min(track.end_at(i), from + level.bin) - std::max(track.begin_at(i), from));
      }
      RC_ASSERT(level.busy(bin * pyramid.categories().size() + row) == busy);
    }
  }));
}

TEST_CASE("pyramid: a bubble of 1 ns is never counted as busy") {
  Track track;
  for (int i = 0; i < 1000; ++i) track.add(i * 1'000'000, (i + 1) * 1'000'000 - 1000, 0);
  const Pyramid pyramid(track, tag_itself);
  for (const Pyramid::Level& level : pyramid.levels()) {
    CHECK(sum_of(level) == std::int64_t{1000} * 999'000);
  }
}

TEST_CASE("pyramid: the level for a pixel has the widest bins that are no wider") {
  Track track;
  for (int i = 0; i < 1000; ++i) track.add(i * 100, i * 100 + 50, 0);
  const Pyramid pyramid(track, tag_itself);
  const auto& levels = pyramid.levels();
  REQUIRE(levels.size() > 2);
  CHECK(pyramid.level_for(static_cast<double>(levels[0].bin) - 1) == nullptr);
  CHECK(pyramid.level_for(static_cast<double>(levels[0].bin)) == &levels[0]);
  CHECK(pyramid.level_for(static_cast<double>(levels[1].bin) * 1.5) == &levels[1]);
}

TEST_CASE("pyramid: an empty track has no levels") {
  CHECK(Pyramid(Track{}, tag_itself).level_for(1e9) == nullptr);
}

TEST_CASE("track: lengths beyond 32 bits are kept beside short ones") {
  Track track;
  std::int64_t at = 0;
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 100; ++i) {
    lengths.push_back(i % 7 == 3 ? 5'000'000'000LL + i : i % 7 == 5 ? UINT32_MAX : 1000 + i);
    track.add(at, at + lengths.back(), 0);
    at += lengths.back() + 10;
  }
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    CHECK(track.end_at(i) - track.begin_at(i) == lengths[i]);
  }
}

TEST_CASE("stacked boxes: those that overlap stand in tracks of their own, as few as can be") {
  StackedBoxes boxes(nullptr);
  boxes.add(0, 10, 0);
  boxes.add(5, 12, 1);
  boxes.add(10, 11, 2);
  boxes.add(11, 20, 3);
  const auto tracks = boxes.take();
  REQUIRE(tracks.size() == 2);
  CHECK(tracks[0].tag == std::vector<std::uint32_t>{0, 2, 3});
  CHECK(tracks[1].tag == std::vector<std::uint32_t>{1});
}

TEST_CASE("track: the box at a moment is the one that a linear search finds") {
  CHECK(rc::check([] {
    const Track track = random_track();
    const auto time = *rc::gen::inRange<std::int64_t>(-10, track.end_at(track.size() - 1) + 10);
    std::size_t found = track.size();
    for (std::size_t i = 0; i < track.size(); ++i) {
      if (track.begin_at(i) <= time && time < track.end_at(i)) found = i;
    }
    RC_ASSERT(track.at(time) == found);
  }));
}

}  // namespace
}  // namespace penstock
