#include "experiments/show/pictures/lanes/timeline_picture.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "experiments/input/files/output_file.hpp"
#include "experiments/show/pictures/lanes/lane_cells.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "experiments/show/pictures/plots/plots.hpp"
#include "sim/base/error.hpp"
#include "sim/order/placement.hpp"
#include "tests/support/pictures.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {

TEST_CASE("a number is as large as its box allows, or left out when it could not be read") {
  CHECK(number_size(100, 30, 0.5) == 11.5);
  CHECK(number_size(6, 30, 0.5) == 8);
  CHECK(number_size(5, 30, 0.5) == 6);
  CHECK(number_size(4.9, 30, 0.5) == 0);
  CHECK(number_size(100, 6, 0.5) == 0);
}

TEST_CASE("the suffix of a file decides its format") {
  CHECK(picture_format("a.svg") == PictureFormat::svg);
  CHECK(picture_format("folder.pdf/b.PNG") == PictureFormat::png);
  CHECK(picture_format("c.x.pdf") == PictureFormat::pdf);
}

TEST_CASE("an unknown suffix is refused, and the known ones are named") {
  for (const char* path : {"a.gif", "svg", "", "a.svg/b"}) {
    CAPTURE(path);
    CHECK_THROWS_WITH_AS(picture_format(path), doctest::Contains(".svg, .png or .pdf"), UsageError);
  }
}

TEST_CASE("each format is a file of its kind") {
  const DrawnRun small = one_f_one_b(4, 8);
  const std::string svg = timeline_picture(PictureFormat::svg, small);
  CHECK(svg.starts_with("<?xml"));
  CHECK(says(svg, "width=\"1200px\""));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(has_text(svg, "rank 3"));
  CHECK(!says(svg, "<use"));  // letters are no outlines
  const std::string png = timeline_picture(PictureFormat::png, small);
  CHECK(png.starts_with("\x89PNG\r\n\x1a\n"));
  CHECK(png.substr(16, 4) == std::string("\0\0\x09\x60", 4));  // 2400 pixels wide
  const std::string pdf = timeline_picture(PictureFormat::pdf, small);
  CHECK(pdf.starts_with("%PDF-"));
  CHECK(pdf.ends_with(fmt::format("%%EOF\n%{}\n", own_mark)));
  CHECK(!says(pdf, "CreationDate"));
}

TEST_CASE("equal timelines give equal bytes, different ones do not") {
  for (const PictureFormat format : formats) {
    const std::string first = timeline_picture(format, one_f_one_b(4, 8));
    CHECK(timeline_picture(format, one_f_one_b(4, 8, 1000, 2001)) != first);
    CHECK(timeline_picture(format, one_f_one_b(4, 9)) != first);
    CHECK(timeline_picture(format, one_f_one_b(4, 8)) == first);
  }
}

TEST_CASE("a timeline picture names every rank, and numbers its microbatches where they fit") {
  const std::string svg =
      timeline_picture(PictureFormat::svg, one_f_one_b(4, 8), {"title", "subtitle"});
  const std::vector<std::string> all = texts_in(svg);
  const auto count = [&](const char* text) { return std::count(all.begin(), all.end(), text); };
  for (const char* text : {"title", "subtitle", "forward", "backward", "idle", "rank 0", "rank 1",
                           "rank 2", "rank 3", "time (ms)"}) {
    CAPTURE(text);
    CHECK(count(text) == 1);
  }
  CHECK(count("7") == 8);  // F and B of the last microbatch on 4 ranks

  const std::string narrow =
      timeline_picture(PictureFormat::svg, one_f_one_b(4, 128), {"title", "subtitle"});
  CHECK_FALSE(has_text(narrow, "127"));
}

TEST_CASE("width, height, font size and title are what was asked for") {
  TimelinePicture picture{"title", ""};
  picture.options = {.width = 321, .height = 200, .font_size = 8, .title = "<1F1B> & co"};
  const std::string svg = timeline_picture(PictureFormat::svg, one_f_one_b(4, 8), picture);
  CHECK(says(svg, "width=\"321px\" height=\"200px\""));
  CHECK(says(svg, "font-size=\"8\""));
  CHECK(has_text(svg, "&lt;1F1B&gt; &amp; co"));
  CHECK_FALSE(has_text(svg, "title"));
  const std::string pdf = timeline_picture(PictureFormat::pdf, one_f_one_b(4, 8), picture);
  CHECK(says(pdf, "240.75 150"));  // its media box
}

TEST_CASE("a picture as wide as a column loses no entry of its legend") {
  TimelinePicture picture{"title", "subtitle"};
  picture.options = {.width = 241, .font_size = 8};
  const DrawnRun small = one_f_one_b(4, 8);
  picture.explanation = explanation_of(small);
  const std::string svg = timeline_picture(PictureFormat::svg, small, picture);
  for (const char* text :
       {"forward", "backward", "idle:", "warm-up", "dependency", "drain", "critical path"}) {
    CAPTURE(text);
    CHECK(has_text(svg, text));
  }
}

TEST_CASE("a timeline picture of many ranks and microbatches stays small") {
  const DrawnRun big = one_f_one_b(64, 1024);
  REQUIRE(big.plan.tasks() == 260'096);
  for (const PictureFormat format : formats) {
    CHECK(timeline_picture(format, big).size() < 2'000'000);
  }
}

TEST_CASE("nothing to draw gives an empty axis") {
  for (const PictureFormat format : formats) {
    CHECK(draw_timeline(format, Plan{}, Timeline{}, {}).size() > 500);
    CHECK(draw_timeline(format, one_f_one_b(4, 8).plan, Timeline{}, {"title", ""}).size() > 500);
    CHECK(timeline_picture(format, one_f_one_b(2, 2, 0, 0)).size() > 500);
    CHECK(draw_bubble_plot(format, {}).size() > 500);
  }
}

TEST_CASE("the axis ends with the step, whatever has no length at its end") {
  // F 0-1 ms on both ranks; all B are frozen, and the last gradient takes 3 ms to arrive.
  DrawnRun run = one_f_one_b(2, 1, 1000, 0);
  for (TaskId task = 0; task < run.plan.tasks(); ++task) {
    const WorkClass& work = run.plan.class_of(task);
    if (work.pass == Pass::backward && index(work.stage) == 0) {
      run.timeline.begin[task] = run.timeline.end[task] = from_us(5000);
    }
  }
  const std::vector<std::string> all = texts_in(timeline_picture(PictureFormat::svg, run));
  CHECK(std::find(all.begin(), all.end(), "5.0") != all.end());
}

TEST_CASE("what the shades of chunks mean turns over on dark ground, as they do") {
  Schedule schedule(1);
  schedule.on(Rank{0}) = {{Pass::forward, Stage{0}, Microbatch{0}},
                          {Pass::forward, Stage{1}, Microbatch{0}}};
  const DrawnRun run = drawn(schedule, Placement::loop(1, 2), 1, 1);
  TimelinePicture picture;
  CHECK(
      has_text(timeline_picture(PictureFormat::svg, run, picture), "dark to pale: chunks 0 to 1"));
  picture.options.theme = PictureTheme::dark;
  CHECK(
      has_text(timeline_picture(PictureFormat::svg, run, picture), "pale to dark: chunks 0 to 1"));
}

TEST_CASE("an update is of no single microbatch, and has no number") {
  Schedule schedule(1);
  schedule.on(Rank{0}) = {{Pass::forward, Stage{0}, Microbatch{77}},
                          {Pass::backward, Stage{0}, Microbatch{77}},
                          {Pass::update, Stage{0}, Microbatch{77}}};
  const std::vector<std::string> all =
      texts_in(timeline_picture(PictureFormat::svg, drawn(schedule, Placement::loop(1, 1), 1, 1)));
  CHECK(std::count(all.begin(), all.end(), "77") == 2);
}

TEST_CASE("a picture without room is refused") {
  CHECK_THROWS_AS(timeline_picture(PictureFormat::svg, one_f_one_b(1, 1), {"", "", {.width = 100}}),
                  UsageError);
  CHECK_THROWS_AS(timeline_picture(PictureFormat::svg, one_f_one_b(1, 1), {"", "", {.height = 40}}),
                  UsageError);
  CHECK_THROWS_AS(
      timeline_picture(PictureFormat::svg, one_f_one_b(1, 1), {"", "", {.font_size = 100}}),
      UsageError);
  BubblePlot plot;
  plot.options.height = 20;
  CHECK_THROWS_AS(draw_bubble_plot(PictureFormat::svg, plot), UsageError);
}

TEST_CASE("a title that is not UTF-8 is drawn with signs in place of its wrong bytes") {
  CHECK(has_text(timeline_picture(PictureFormat::svg, one_f_one_b(1, 1), {"a \xff b", ""}),
                 "a \ufffd b"));
}

TEST_CASE("what leaves a rank to be kept elsewhere is seen, even over free links") {
  Schedule schedule(1);
  schedule.on(Rank{0}) = {{Pass::forward, Stage{0}, Microbatch{0}},
                          {Pass::evict, Stage{0}, Microbatch{0}},
                          {Pass::load, Stage{0}, Microbatch{0}},
                          {Pass::backward, Stage{0}, Microbatch{0}}};
  const DrawnRun one = drawn(schedule, Placement::loop(1, 1), 1, 2);
  const std::vector<Lane> moves = stash_moves(one.plan, one.timeline);
  REQUIRE(moves.size() == 1);
  REQUIRE(moves[0].size() == 2);
  CHECK(std::get<ActionKind>(moves[0][0].kind).pass == Pass::send_evicted);
  CHECK(std::get<ActionKind>(moves[0][1].kind).pass == Pass::send_loaded);
  const std::string svg = timeline_picture(PictureFormat::svg, one);
  CHECK(has_text(svg, "activation leaves"));
  CHECK(has_text(svg, "activation returns"));
}

}  // namespace penstock::testing
