#include "experiments/show/pictures/lanes/lane_frame.hpp"

#include <doctest/doctest.h>

#include <string>

#include "experiments/show/pictures/lanes/timeline_picture.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "tests/support/pictures.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {

TEST_CASE("lanes shrink with the number of ranks, and then only every k-th has its name") {
  const auto pitch = [](std::uint32_t ranks, double room = 0) {
    return lane_spacing(ranks, room).pitch;
  };
  CHECK(pitch(0) == 36);
  CHECK(pitch(20) == 36);
  CHECK(pitch(64) == 11);  // of 11.25, whole halves
  CHECK(pitch(1024) == 3);
  CHECK(pitch(8000) == 1);
  CHECK(pitch(64, 320) == 5);
  CHECK(lanes_per_label(36, 14) == 1);
  CHECK(lanes_per_label(11.25, 14) == 2);
  CHECK(lanes_per_label(3, 14) == 8);
}

TEST_CASE("where lanes would be lower than one unit, every k-th rank is shown") {
  CHECK(lane_spacing(512, 512).stride == 1);
  CHECK(lane_spacing(512, 511).stride == 2);
  CHECK(lane_spacing(512, 128).stride == 4);
  CHECK(lane_spacing(512, 128).pitch == 1);
  CHECK(lane_spacing(16'384, 0).stride == 3);
}

TEST_CASE("a timeline as wide as a column of a paper is no strip") {
  TimelinePicture picture{"title", "subtitle"};
  picture.options = {.width = 321};
  const std::string svg = timeline_picture(PictureFormat::svg, one_f_one_b(64, 8), picture);
  const std::size_t at = svg.find("height=\"");
  REQUIRE(at != std::string::npos);
  const double height = std::stod(svg.substr(at + 8));
  CHECK(height > 321);
  CHECK(height < 2 * 321);
}

TEST_CASE("lanes of 512 ranks are whole, without hatches and gaps that would be a pattern") {
  const DrawnRun big = one_f_one_b(512, 16);
  const std::string svg = timeline_picture(PictureFormat::svg, big);
  // The legend alone has a hatch; grounds are one above the other.
  CHECK(!says(svg, "hatch-6"));
  CHECK(says(timeline_picture(PictureFormat::svg, one_f_one_b(4, 8)), "hatch-6"));
  TimelinePicture low;
  low.options.height = 240;
  CHECK(says(timeline_picture(PictureFormat::svg, big, low), "; one rank in "));
}

}  // namespace penstock::testing
