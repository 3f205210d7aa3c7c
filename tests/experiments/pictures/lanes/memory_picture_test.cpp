#include "experiments/pictures/lanes/memory_picture.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "experiments/pictures/lanes/memory_lanes.hpp"
#include "experiments/pictures/picture.hpp"
#include "sim/base/error.hpp"
#include "tests/support/pictures.hpp"

namespace penstock::testing {

TEST_CASE("memory is drawn with its peaks, and what is short keeps its maximum") {
  DrawnRun two = one_f_one_b(2, 2, 1e-6, 2e-6);  // 9 ps
  two.timeline.memory = {{Rank{0}, Time{0}, 10},
                         {Rank{0}, Time{4}, 1024},
                         {Rank{0}, Time{5}, 5},
                         {Rank{1}, Time{0}, 2048}};
  const auto lanes_by = [&](std::int64_t shortest) {
    return memory_lanes(two.plan, two.timeline, Time{9}, Time{shortest});
  };
  const auto held = [](std::int64_t begin, std::int64_t end, std::uint64_t bytes) {
    return HeldMemory{Time{begin}, Time{end}, bytes};
  };
  CHECK(lanes_by(1)[0].held == std::vector{held(0, 4, 10), held(4, 5, 1024), held(5, 9, 5)});
  CHECK(lanes_by(5)[0].held == std::vector{held(0, 5, 1024), held(5, 9, 5)});
  CHECK(lanes_by(5)[0].peak == held(4, 5, 1024));
  const std::string svg = draw_memory(PictureFormat::svg, two.plan, two.timeline, {"title", {}});
  CHECK(has_text(svg, "1 KiB"));
  CHECK(has_text(svg, "2 KiB"));
  CHECK(has_text(svg, "rank 1"));
}

TEST_CASE("memory without samples, or of nothing, is refused") {
  DrawnRun two = one_f_one_b(2, 2);
  CHECK_THROWS_WITH_AS(draw_memory(PictureFormat::svg, two.plan, two.timeline, {}),
                       doctest::Contains("no memory samples"), InputError);
  two.timeline.memory = {{Rank{0}, Time{0}, 0}};
  CHECK_THROWS_WITH_AS(draw_memory(PictureFormat::svg, two.plan, two.timeline, {}),
                       doctest::Contains("no rank holds memory"), InputError);
  two.timeline.memory = {{Rank{7}, Time{0}, 1}};
  CHECK_THROWS_AS(draw_memory(PictureFormat::svg, two.plan, two.timeline, {}), InputError);
}

}  // namespace penstock::testing
