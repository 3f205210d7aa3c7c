#include <doctest/doctest.h>

#include "gui/models/drawing/lane_painter.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "sim/report/overview.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

constexpr int part_width = 900;
constexpr int part_height = 300;

/// A run, and its file, of which parts are read.
struct RunInParts {
  RunInParts()
      : whole(viewed(parse_scenario(
            R"({"penstock": 1, "model": {"stages": [
                {"forward_us": 1000, "backward_us": 2000}, {"forward_us": 1100, "backward_us": 2000},
                {"forward_us": 1000, "backward_us": 2100}, {"forward_us": 900, "backward_us": 2000}]},
                "hardware": {"name": "ideal", "devices": 4, "latency_us": 200},
                "schedule": {"name": "1f1b", "microbatches": 20000}})",
            "parts"))),
        file(std::make_shared<const LargeTimeline>(folder.file(
            "a.timeline", write_timeline(whole->plan, whole->timeline, "parts",
                                         overview_of(whole->plan, whole->timeline))))) {}

  std::vector<std::uint32_t> pixels(const ViewedRunPtr& run, std::int64_t begin,
                                    std::int64_t end) const {
    const PaintedRunPtr painted_run = painted(run, ColourBy::pass);
    const std::vector<LaneRow> rows = lane_rows({.ranks = 4}, 40);
    std::vector<std::uint32_t> image(part_width * part_height);
    LaneScene scene{.runs = {painted_run.get()},
                    .rows = rows,
                    .axis = axis_for(begin, end, part_width),
                    .theme = &theme(ThemeName::light)};
    LanePainter painter;
    painter.draw(scene, {image.data(), part_width, part_height, part_width});
    return image;
  }

  testing::Scratch folder;
  ViewedRunPtr whole;
  std::shared_ptr<const LargeTimeline> file;
};

}  // namespace

TEST_CASE("parts: a part that has been read is drawn like the whole run, to the pixel") {
  const RunInParts run;
  const std::int64_t middle = run.whole->span().picoseconds / 2;
  for (const std::int64_t length : {40'000'000'000, 400'000'000'000}) {
    const ViewedRunPtr part =
        viewed_part(run.file, "a", Time{middle - length}, Time{middle + 2 * length});
    CHECK(part->first_task > 0);
    CHECK(part->plan.tasks() < run.whole->plan.tasks());
    CHECK(part->span() == run.whole->span());
    CHECK(covers(*part, middle, middle + length));
    CHECK(!covers(*part, 0, middle));
    CHECK(run.pixels(part, middle, middle + length) ==
          run.pixels(run.whole, middle, middle + length));
  }
}

TEST_CASE("parts: elsewhere the overview stands in, so that no busy time is missing") {
  const RunInParts run;
  const std::int64_t middle = run.whole->span().picoseconds / 2;
  const ViewedRunPtr part = viewed_part(run.file, "a", {}, Time{1'000'000'000});
  const std::int64_t length = 40'000'000'000;
  REQUIRE(!covers(*part, middle, middle + length));
  const auto image = run.pixels(part, middle, middle + length);
  const std::uint32_t lane = packed(theme(ThemeName::light).lane);
  const auto forward = packed(pass_colour(Pass::forward));
  const auto backward = packed(pass_colour(Pass::backward));
  std::array<int, 3> counts{};
  for (int x = 0; x < part_width; ++x) {
    const std::uint32_t low = image[static_cast<std::size_t>(39 * part_width + x)];
    ++counts[low == forward ? 0 : low == backward ? 1 : 2];
    CHECK(low != lane);
  }
  CHECK(counts[0] + counts[1] == part_width);
}

TEST_CASE("parts: the report of the whole run is there with the first part") {
  const RunInParts run;
  const ViewedRunPtr part = viewed_part(run.file, "a", {}, {});
  CHECK(part->report.bubble.of_makespan == doctest::Approx(run.whole->report.bubble.of_makespan));
  CHECK(part->text.find("read in parts") != std::string::npos);
  const auto idle = idle_over_time(*painted(part, ColourBy::pass), 100);
  const auto wanted = idle_over_time(*painted(run.whole, ColourBy::pass), 100);
  for (std::size_t column = 0; column < idle.size(); ++column) {
    for (std::size_t c = 0; c < idle_cause_count; ++c) {
      CHECK(idle[column][c] == doctest::Approx(wanted[column][c]).epsilon(0.05));
    }
  }
}

}  // namespace penstock
