#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/pictures/axis.hpp"
#include "experiments/pictures/bubble_plot.hpp"
#include "experiments/pictures/calibration_plot.hpp"
#include "experiments/pictures/canvas.hpp"
#include "experiments/pictures/explanation_cells.hpp"
#include "experiments/pictures/lane_frame.hpp"
#include "experiments/pictures/legend.hpp"
#include "experiments/pictures/memory_lanes.hpp"
#include "experiments/pictures/memory_picture.hpp"
#include "experiments/pictures/merge_short.hpp"
#include "experiments/pictures/mixed_cells.hpp"
#include "experiments/pictures/page.hpp"
#include "experiments/pictures/palette.hpp"
#include "experiments/pictures/path_strokes.hpp"
#include "experiments/pictures/picture.hpp"
#include "experiments/pictures/plot_data.hpp"
#include "experiments/pictures/timeline_cells.hpp"
#include "experiments/pictures/timeline_picture.hpp"
#include "sim/base/error.hpp"
#include "sim/costs/costs.hpp"
#include "sim/engines/relax.hpp"
#include "sim/order/placement.hpp"
#include "sim/plan/lower.hpp"
#include "sim/report/report.hpp"

namespace penstock {
namespace {

struct Run {
  Plan plan;
  Timeline timeline;
  Costs costs;
};

/// Lowers an order and runs it over free links.
Run run(const Schedule& schedule, const Placement& placement, double forward_us, double backward_us,
        Overlap overlap = Overlap::serial) {
  Run result{std::get<Plan>(lower(schedule, placement, overlap)), {}, {}};
  Costs& costs = result.costs;
  for (const WorkClass& work : result.plan.classes) {
    double us = work.pass == Pass::forward ? forward_us : backward_us;
    if (work.partner != UINT32_MAX) us = std::max(forward_us, backward_us);
    if (is_transfer(work.pass) || work.follows_partner) us = 0;
    costs.duration.push_back(from_us(us));
  }
  costs.latency.resize(costs.duration.size());
  result.timeline = relax({result.plan, costs});
  return result;
}

Run one_f_one_b(std::uint32_t ranks, std::uint32_t microbatches, double forward_us = 1000,
                double backward_us = 2000) {
  Schedule schedule(ranks);
  for (Rank rank : Numbers<Rank>(ranks)) {
    auto& order = schedule.on(rank);
    const Stage stage{index(rank)};
    const std::uint32_t warmup = std::min(ranks - 1 - index(rank), microbatches);
    for (std::uint32_t m = 0; m < microbatches + warmup; ++m) {
      if (m < microbatches) order.push_back({Pass::forward, stage, Microbatch{m}});
      if (m >= warmup) order.push_back({Pass::backward, stage, Microbatch{m - warmup}});
    }
  }
  return run(schedule, Placement::loop(ranks, 1), forward_us, backward_us);
}

/// One rank, one overlap cell of F1 and B0 between F0 and B1.
Run one_fused_cell(double forward_us, double backward_us) {
  Schedule schedule(1);
  schedule.on(Rank{0}) = {{Pass::forward, Stage{0}, Microbatch{0}},
                          {Pass::forward, Stage{0}, Microbatch{1}, true},
                          {Pass::backward, Stage{0}, Microbatch{0}},
                          {Pass::backward, Stage{0}, Microbatch{1}}};
  return run(schedule, Placement::loop(1, 1), forward_us, backward_us, Overlap::fused);
}

std::string timeline_picture(PictureFormat format, const Run& run,
                             const TimelinePicture& picture = {}) {
  return draw_timeline(format, run.plan, run.timeline, picture);
}

std::vector<TaskId> path_of(const Run& run) {
  return tasks_of(critical_path(run.plan, run.costs, run.timeline));
}

TimelineExplanation explanation_of(const Run& run) {
  return {idle_gaps(run.plan, run.timeline), path_of(run)};
}

constexpr ActionKind f{Pass::forward, 0};
constexpr ActionKind b{Pass::backward, 0};

Cell cell(std::int64_t begin, std::int64_t end, CellKind kind, std::uint32_t microbatch) {
  return {{begin}, {end}, kind, 0, 1, Microbatch{microbatch}};
}

std::vector<std::string> texts(const std::vector<Tick>& ticks) {
  std::vector<std::string> all;
  all.reserve(ticks.size());
  for (const Tick& tick : ticks) all.push_back(tick.text);
  return all;
}

using Texts = std::vector<std::string>;

/// The texts of an SVG file, in the order they were drawn.
Texts texts_in(const std::string& svg) {
  Texts all;
  for (std::size_t at = svg.find("<text"); at != std::string::npos; at = svg.find("<text", at)) {
    const std::size_t begin = svg.find('>', at) + 1;
    at = svg.find('<', begin);
    all.push_back(svg.substr(begin, at - begin));
  }
  return all;
}

bool has_text(const std::string& svg, const std::string& text) {
  const Texts all = texts_in(svg);
  return std::find(all.begin(), all.end(), text) != all.end();
}

constexpr PictureFormat formats[] = {PictureFormat::svg, PictureFormat::png, PictureFormat::pdf};

}  // namespace

TEST_CASE("ticks stand at multiples of 1, 2 or 5 times a power of ten") {
  CHECK(texts(round_ticks(33, 10)) == Texts{"0", "5", "10", "15", "20", "25", "30"});
  CHECK(texts(round_ticks(33, 33)).size() == 34);
  CHECK(texts(round_ticks(0.6, 3)) == Texts{"0.0", "0.2", "0.4", "0.6"});
  CHECK(texts(round_ticks(1, 1)) == Texts{"0", "1"});
  CHECK(texts(round_ticks(100, 5)) == Texts{"0", "20", "40", "60", "80", "100"});
  CHECK(texts(round_ticks(2500, 3)) == Texts{"0", "1000", "2000"});
  CHECK(texts(round_ticks(0, 5)) == Texts{"0"});
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
  CHECK(texts(power_of_two_ticks(1, 16, 20)) == Texts{"1", "2", "4", "8", "16"});
  CHECK(texts(power_of_two_ticks(3, 100, 20)) == Texts{"4", "8", "16", "32", "64"});
  CHECK(texts(power_of_two_ticks(1, 1024, 5)) == Texts{"1", "8", "64", "512"});
  CHECK(texts(power_of_two_ticks(3, 3, 20)) == Texts{"3"});
}

TEST_CASE("times are given in the largest unit that they reach") {
  CHECK(unit_for(Time{999'999'999}).name == "µs");
  CHECK(unit_for(Time{1'000'000'000}).name == "ms");
  CHECK(unit_for(Time{1'000'000'000'000}).name == "s");
  CHECK(unit_for(Time{999'999}).name == "ns");
  CHECK(unit_for(Time{1}).name == "ps");
  CHECK(unit_for(Time{0}).name == "µs");
}

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

TEST_CASE("ticks of a logarithm are even, and at most as many as asked for") {
  CHECK(texts(log_ticks(0, 2, 8)) == Texts{"1", "2", "5", "10", "20", "50", "100"});
  CHECK(texts(log_ticks(0, 2, 3)) == Texts{"1", "10", "100"});
  CHECK(texts(log_ticks(-2, 6, 5)) == Texts{"0.01", "1", "100", "10000", "1000000"});
  // Between 1.2 and 1.9 there is neither a power of ten nor 2 or 5.
  CHECK(texts(log_ticks(std::log10(1.2), std::log10(1.9), 8)) ==
        Texts{"1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9"});
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

TEST_CASE("a legend wraps, and each of its entries has a place of its own") {
  const std::vector<Point> places = legend_places({50, 60, 70, 200, 10}, 150);
  REQUIRE(places.size() == 5);
  CHECK(places[1].x == 70);  // 50 and a gap of 20
  CHECK(places[1].y == 0);
  CHECK(places[2].x == 0);  // 70 + 60 + 20 + 70 > 150
  CHECK(places[2].y == legend_row);
  CHECK(places[3].y == 2 * legend_row);  // wider than a row
  CHECK(places[4].y == 3 * legend_row);
}

TEST_CASE("recomputation looks like no forward or backward, in any chunk") {
  const auto apart = [](Colour a, Colour b) {
    return std::max(
        {std::abs(a.red - b.red), std::abs(a.green - b.green), std::abs(a.blue - b.blue)});
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

TEST_CASE("a number is as large as its box allows, or left out when it could not be read") {
  CHECK(number_size(100, 30, 0.5) == 11.5);
  CHECK(number_size(6, 30, 0.5) == 8);
  CHECK(number_size(5, 30, 0.5) == 6);
  CHECK(number_size(4.9, 30, 0.5) == 0);
  CHECK(number_size(100, 6, 0.5) == 0);
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

TEST_CASE("the actions of each rank become cells in their order; transfers do not") {
  const Run two = one_f_one_b(2, 2, 1e-6, 2e-6);
  const std::vector<Lane> found = lanes(two.plan, two.timeline);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == Lane{cell(0, 1, f, 0), cell(1, 2, f, 1), cell(4, 6, b, 0), cell(7, 9, b, 1)});
  CHECK(found[1] == Lane{cell(1, 2, f, 0), cell(2, 4, b, 0), cell(4, 5, f, 1), cell(5, 7, b, 1)});
  CHECK(last_end(found) == Time{9});
}

TEST_CASE("transfers of the tail are strips of the rank that sends them, ties above the others") {
  // One rank: F 0-1, B 1-3 in picoseconds; the sum takes as long as B.
  Schedule schedule(1);
  schedule.on(Rank{0}) = {{Pass::forward, Stage{0}, Microbatch{0}},
                          {Pass::backward, Stage{0}, Microbatch{0}}};
  Extras extras;
  extras.tail.reduces = {true};
  const Plan plan = std::get<Plan>(lower(schedule, Placement::loop(1, 1), Overlap::serial, extras));
  Costs costs;
  for (const WorkClass& work : plan.classes) {
    costs.duration.push_back({work.pass == Pass::forward ? 1 : 2});
    costs.latency.push_back({});
  }
  const Timeline timeline = relax({plan, costs});
  CHECK(lanes(plan, timeline)[0].size() == 2);
  const std::vector<Lane> strips = tail_strips(plan, timeline);
  REQUIRE(strips.size() == 1);
  REQUIRE(strips[0].size() == 1);
  CHECK(strips[0][0].begin == Time{3});
  CHECK(strips[0][0].end == Time{5});
  CHECK(strips[0][0].bottom == 1);
  CHECK(std::get<ActionKind>(strips[0][0].kind).pass == Pass::reduce_gradient);
}

TEST_CASE("actions without length are not drawn") {
  const Run two = one_f_one_b(2, 2, 0, 2e-6);
  CHECK(lanes(two.plan, two.timeline)[1] == Lane{cell(0, 2, b, 0), cell(2, 4, b, 1)});
}

TEST_CASE("the chunks of a rank are counted from its first stage") {
  Schedule schedule(2);
  for (std::uint32_t stage : {0u, 1u, 2u, 3u}) {
    schedule.on(Rank{stage % 2}).push_back({Pass::forward, Stage{stage}, Microbatch{0}});
  }
  const Run interleaved = run(schedule, Placement::loop(2, 2), 1, 1);
  CHECK(most_chunks(interleaved.plan) == 2);
  for (const Lane& lane : lanes(interleaved.plan, interleaved.timeline)) {
    REQUIRE(lane.size() == 2);
    CHECK(lane[0].kind == CellKind{ActionKind{Pass::forward, 0}});
    CHECK(lane[1].kind == CellKind{ActionKind{Pass::forward, 1}});
  }
}

TEST_CASE("the parts of an overlap cell share the height of the lane") {
  const Run fused = one_fused_cell(1, 2);
  const Lane lane = lanes(fused.plan, fused.timeline)[0];
  REQUIRE(lane.size() == 4);
  CHECK(lane[0].bottom - lane[0].top == 1);
  CHECK(lane[1].kind == CellKind{f});
  CHECK(lane[1].top == 0);
  CHECK(lane[1].bottom == 0.5);
  CHECK(lane[2].kind == CellKind{b});
  CHECK(lane[2].top == 0.5);
  CHECK(lane[2].bottom == 1);
  CHECK(lane[1].begin == lane[2].begin);
}

TEST_CASE("a part of an overlap cell has the whole height when the other has no length") {
  Run fused = one_fused_cell(1, 2);
  fused.timeline.end[2] = fused.timeline.begin[2];
  const Lane lane = lanes(fused.plan, fused.timeline)[0];
  REQUIRE(lane.size() == 3);
  CHECK(lane[1].bottom == 1);
}

TEST_CASE("a timeline of another plan is refused") {
  const Plan plan = one_f_one_b(2, 2).plan;
  CHECK_THROWS_AS(lanes(plan, one_f_one_b(2, 3).timeline), InputError);
}

TEST_CASE("short cells merge into bands in which each kind is as high as its share of the time") {
  Lane lane;
  for (std::int64_t at = 0; at < 400; at += 4) {
    lane.push_back(cell(at, at + 1, f, 0));
    lane.push_back(cell(at + 1, at + 4, b, 0));
  }
  const Lane band{{Time{0}, Time{400}, f, 0.75, 1, {}}, {Time{0}, Time{400}, b, 0, 0.75, {}}};
  CHECK(merge_short(lane, Time{5}) == band);
}

TEST_CASE("idle time inside a band stays free at its top") {
  Lane lane;
  for (std::int64_t at = 0; at <= 384; at += 4) lane.push_back(cell(at, at + 3, f, 7));
  const Lane merged = merge_short(lane, Time{5});
  REQUIRE(merged.size() == 2);
  CHECK(merged[0] == Cell{Time{0}, Time{384}, f, 0.25, 1, {}});
  CHECK(merged[1] == cell(384, 387, f, 7));
}

TEST_CASE("long cells, lone short ones and gaps that can be seen stay as they are") {
  const Lane lane{cell(0, 10, f, 0),  cell(10, 12, b, 0), cell(12, 30, f, 1),
                  cell(30, 31, b, 1), cell(36, 37, b, 2), cell(50, 60, b, 3)};
  CHECK(merge_short(lane, Time{5}) == lane);
}

TEST_CASE("cells that lie on each other mix their colours by their heights") {
  const Lane lane{cell(0, 5, f, 0),
                  {Time{5}, Time{9}, f, 0.5, 1, {}},
                  {Time{5}, Time{9}, b, 0, 0.5, {}},
                  {Time{9}, Time{12}, IdleCause::drain, 0, 1, {}}};
  const std::vector<MixedCell> mixed = mixed_cells(lane, 1);
  REQUIRE(mixed.size() == 3);
  CHECK(mixed[0].colour == pass_colour(Pass::forward));
  CHECK(mixed[0].cell == lane[0]);
  const Colour half = mix(pass_colour(Pass::forward), pass_colour(Pass::backward), 0.5);
  CHECK(std::abs(mixed[1].colour.red - half.red) <= 3);
  CHECK(std::abs(mixed[1].colour.blue - half.blue) <= 3);
  CHECK(mixed[1].cell.top == 0);
  CHECK(mixed[1].cell.bottom == 1);
  CHECK(mixed[2].colour == idle_colour(IdleCause::drain));
}

TEST_CASE("merging keeps the area of each kind") {
  const auto area = [](const Lane& lane, CellKind kind) {
    double sum = 0;
    for (const Cell& c : lane) {
      if (c.kind == kind) {
        sum += static_cast<double>((c.end - c.begin).picoseconds) * (c.bottom - c.top);
      }
    }
    return sum;
  };
  Lane lane;
  std::uint32_t random = 1;
  for (std::int64_t at = 0; lane.size() < 5000;) {
    random = random * 1664525 + 1013904223;
    const std::int64_t length = 1 + (random >> 16) % 12;
    lane.push_back(cell(at, at + length, (random >> 28) % 2 == 0 ? f : b, 0));
    at += length + ((random >> 8) % 4 == 0 ? (random >> 12) % 20 : 0);
  }
  const Lane merged = merge_short(lane, Time{10});
  CHECK(merged.size() < lane.size());
  CHECK(area(merged, f) == doctest::Approx(area(lane, f)));
  CHECK(area(merged, b) == doctest::Approx(area(lane, b)));
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
  const Run small = one_f_one_b(4, 8);
  const std::string svg = timeline_picture(PictureFormat::svg, small);
  CHECK(svg.starts_with("<?xml"));
  CHECK(svg.find("width=\"1200px\"") != std::string::npos);
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(has_text(svg, "rank 3"));
  CHECK(svg.find("<use") == std::string::npos);  // letters are no outlines
  const std::string png = timeline_picture(PictureFormat::png, small);
  CHECK(png.starts_with("\x89PNG\r\n\x1a\n"));
  CHECK(png.substr(16, 4) == std::string("\0\0\x09\x60", 4));  // 2400 pixels wide
  const std::string pdf = timeline_picture(PictureFormat::pdf, small);
  CHECK(pdf.starts_with("%PDF-"));
  CHECK(pdf.ends_with("%%EOF\n"));
  CHECK(pdf.find("CreationDate") == std::string::npos);
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
  const Texts all = texts_in(svg);
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
  CHECK(svg.find("width=\"321px\" height=\"200px\"") != std::string::npos);
  CHECK(svg.find("font-size=\"8\"") != std::string::npos);
  CHECK(has_text(svg, "&lt;1F1B&gt; &amp; co"));
  CHECK_FALSE(has_text(svg, "title"));
  const std::string pdf = timeline_picture(PictureFormat::pdf, one_f_one_b(4, 8), picture);
  CHECK(pdf.find("321 200") != std::string::npos);  // its media box
}

TEST_CASE("a picture as wide as a column loses no entry of its legend") {
  TimelinePicture picture{"title", "subtitle"};
  picture.options = {.width = 241, .font_size = 8};
  const Run small = one_f_one_b(4, 8);
  picture.explanation = explanation_of(small);
  const std::string svg = timeline_picture(PictureFormat::svg, small, picture);
  for (const char* text :
       {"forward", "backward", "idle:", "warm-up", "dependency", "drain", "critical path"}) {
    CAPTURE(text);
    CHECK(has_text(svg, text));
  }
}

TEST_CASE("lanes of 512 ranks are whole, without hatches and gaps that would be a pattern") {
  const Run big = one_f_one_b(512, 16);
  const std::string svg = timeline_picture(PictureFormat::svg, big);
  // The legend alone has a hatch; grounds are one above the other.
  CHECK(svg.find("hatch-6") == std::string::npos);
  CHECK(timeline_picture(PictureFormat::svg, one_f_one_b(4, 8)).find("hatch-6") !=
        std::string::npos);
  TimelinePicture low;
  low.options.height = 240;
  CHECK(timeline_picture(PictureFormat::svg, big, low).find("; one rank in ") != std::string::npos);
}

TEST_CASE("a timeline picture of many ranks and microbatches stays small") {
  const Run big = one_f_one_b(64, 1024);
  REQUIRE(big.plan.tasks() == 260'096);
  for (const PictureFormat format : formats) {
    CHECK(timeline_picture(format, big).size() < 2'000'000);
  }
}

TEST_CASE("a gap becomes a cell for each of its causes, in the order they happen") {
  std::vector<Lane> lanes(2);
  lanes[1] = {cell(0, 10, f, 0), cell(41, 50, b, 0)};
  IdleGap gap{.rank = Rank{1}, .begin = Time{10}, .end = Time{41}};
  gap.causes = {.dependency = Time{1},
                .contention = Time{2},
                .transfer = Time{4},
                .memory = Time{8},
                .launch = Time{16}};
  const IdleGap drain{
      .rank = Rank{1}, .begin = Time{50}, .end = Time{60}, .causes = {.drain = Time{10}}};
  add_idle(lanes, {drain, gap});  // longest first would do, too
  const auto idle = [](std::int64_t begin, std::int64_t end, IdleCause cause) {
    return Cell{{begin}, {end}, cause, 0, 1, {}};
  };
  CHECK(lanes[0].empty());
  CHECK(lanes[1] == Lane{cell(0, 10, f, 0), idle(10, 11, IdleCause::dependency),
                         idle(11, 13, IdleCause::contention), idle(13, 17, IdleCause::transfer),
                         idle(17, 25, IdleCause::memory), idle(25, 41, IdleCause::launch),
                         cell(41, 50, b, 0), idle(50, 60, IdleCause::drain)});
}

TEST_CASE("the gaps of a run fill what its actions leave free") {
  const Run small = one_f_one_b(4, 8);
  std::vector<Lane> filled = lanes(small.plan, small.timeline);
  add_idle(filled, idle_gaps(small.plan, small.timeline));
  const Time end = makespan(small.plan, small.timeline);
  for (const Lane& lane : filled) {
    Time at{};
    for (const Cell& one : lane) {
      CHECK(one.begin == at);
      at = one.end;
    }
    CHECK(at == end);
  }
}

TEST_CASE("idle time with a cause lies on top of a band, as high as its share") {
  Lane lane;
  for (std::int64_t at = 0; at < 400; at += 4) {
    lane.push_back(cell(at, at + 3, f, 0));
    lane.push_back({Time{at + 3}, Time{at + 4}, IdleCause::transfer, 0, 1, {}});
  }
  CHECK(merge_short(lane, Time{5}) == Lane{{Time{0}, Time{400}, f, 0.25, 1, {}},
                                           {Time{0}, Time{400}, IdleCause::transfer, 0, 0.25, {}}});
}

TEST_CASE("the causes of idle time are muted, the passes are not, and no two causes look alike") {
  const auto vividness = [](Colour c) {
    return std::max({c.red, c.green, c.blue}) - std::min({c.red, c.green, c.blue});
  };
  const auto apart = [](Colour a, Colour b) {
    return std::max(
        {std::abs(a.red - b.red), std::abs(a.green - b.green), std::abs(a.blue - b.blue)});
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

TEST_CASE("the boxes of the critical path are its actions, without the transfers between them") {
  const Run two = one_f_one_b(2, 2, 1e-6, 2e-6);
  const std::vector<TaskId> path = path_of(two);
  const auto boxes = [&](std::int64_t shortest) {
    return path_boxes(two.plan, two.timeline, path, Time{shortest});
  };
  using Boxes = std::vector<PathBox>;
  CHECK(boxes(1) == Boxes{{0, Time{0}, Time{1}},
                          {1, Time{1}, Time{2}},
                          {1, Time{2}, Time{4}},
                          {1, Time{4}, Time{5}},
                          {1, Time{5}, Time{7}},
                          {0, Time{7}, Time{9}}});
  CHECK(boxes(2) == Boxes{{0, Time{0}, Time{1}}, {1, Time{1}, Time{7}}, {0, Time{7}, Time{9}}});
}

TEST_CASE("a fused cell is one box of the critical path, as long as both parts") {
  Run fused = one_fused_cell(1e-6, 2e-6);
  fused.timeline.end[1] = Time{2};  // its forward ends before its backward
  const std::vector<PathBox> boxes =
      path_boxes(fused.plan, fused.timeline, path_of(fused), Time{1});
  CHECK(boxes ==
        std::vector<PathBox>{{0, Time{0}, Time{1}}, {0, Time{1}, Time{3}}, {0, Time{3}, Time{5}}});
}

TEST_CASE("the path leaves a box at its end and enters the next at its start, edge to edge") {
  const PathStrokes strokes = path_strokes({{0, 0, 10, 6}, {12, 20, 10, 6}, {30, 0, 10, 6}});
  CHECK(strokes.outlines.size() == 3);
  REQUIRE(strokes.lines.size() == 2);
  const auto is = [](const std::vector<Point>& line, Point from, Point to) {
    return line.size() == 2 && line[0].x == from.x && line[0].y == from.y && line[1].x == to.x &&
           line[1].y == to.y;
  };
  CHECK(is(strokes.lines[0], {10, 6}, {12, 20}));
  CHECK(is(strokes.lines[1], {22, 20}, {30, 6}));
}

TEST_CASE("boxes too low for an outline are passed through along their middle") {
  const PathStrokes strokes = path_strokes({{0, 0, 10, 3}, {10, 3, 10, 3}});
  CHECK(strokes.outlines.empty());
  REQUIRE(strokes.lines.size() == 1);
  CHECK(strokes.lines[0].front().x == 0);
  CHECK(strokes.lines[0].back().x == 20);
  CHECK(strokes.lines[0].back().y == 4.5);
}

TEST_CASE("a path of narrow boxes is a line that keeps its turns, with few points") {
  std::vector<Rectangle> boxes;
  for (int i = 0; i < 100'000; ++i) {
    const int rank = i % 126 < 63 ? i % 126 : 126 - i % 126;  // up and down 64 lanes
    boxes.push_back({i * 0.01, rank * 10.0, 0.01, 8});
  }
  const PathStrokes strokes = path_strokes(boxes);
  CHECK(strokes.outlines.empty());
  REQUIRE(strokes.lines.size() == 1);
  const std::vector<Point>& line = strokes.lines[0];
  CHECK(line.size() <= 4 * (1000 / 3 + 1));
  CHECK(std::is_sorted(line.begin(), line.end(), [](Point a, Point b) { return a.x < b.x; }));
  for (const double turn : {4.0, 634.0}) {
    CHECK(std::count_if(line.begin(), line.end(), [&](Point p) { return p.y == turn; }) > 300);
  }
  CHECK(line.front().x == doctest::Approx(0.005));
  CHECK(line.back().x == doctest::Approx(999.995));
}

TEST_CASE("an explained picture names the causes that occur, and the critical path") {
  const Run small = one_f_one_b(4, 8);
  TimelinePicture picture{"title", "subtitle"};
  const std::string plain = timeline_picture(PictureFormat::svg, small, picture);
  CHECK(has_text(plain, "idle"));
  CHECK_FALSE(has_text(plain, "critical path"));
  picture.explanation = explanation_of(small);
  const std::string explained = timeline_picture(PictureFormat::svg, small, picture);
  CHECK_FALSE(has_text(explained, "idle"));
  for (const char* text : {"idle:", "warm-up", "dependency", "drain", "critical path"}) {
    CAPTURE(text);
    CHECK(has_text(explained, text));
  }
  picture.explanation.gaps.clear();
  CHECK(has_text(timeline_picture(PictureFormat::svg, small, picture), "idle"));
}

TEST_CASE("an explained picture of many ranks and microbatches stays small") {
  const Run big = one_f_one_b(64, 1024);
  TimelinePicture picture;
  picture.explanation = explanation_of(big);
  for (const PictureFormat format : formats) {
    CHECK(timeline_picture(format, big, picture).size() < 2'000'000);
  }
}

TEST_CASE("the explanation of another plan is refused") {
  const Run small = one_f_one_b(2, 2);
  const TimelineExplanation other = explanation_of(one_f_one_b(4, 8));
  for (const TimelineExplanation& part :
       {TimelineExplanation{other.gaps, {}}, TimelineExplanation{{}, other.critical_path}}) {
    TimelinePicture picture;
    picture.explanation = part;
    CHECK_THROWS_AS(timeline_picture(PictureFormat::svg, small, picture), InputError);
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

TEST_CASE("what Cairo cannot draw is reported in its words") {
  CHECK_THROWS_WITH_AS(
      timeline_picture(PictureFormat::svg, one_f_one_b(1, 1), {"\xff is no UTF-8", ""}),
      doctest::Contains("UTF-8"), std::runtime_error);
}

TEST_CASE("a bubble plot shows its labels, ticks and the names of its series") {
  BubblePlot plot{"title", "", "microbatches", "bubble", {}};
  plot.series = {{"1f1b", {{4, 0.4}, {8, 0.2}}, {{4, 0.4}, {8, 0.2}}}, {"gpipe", {{2, 0.6}}, {}}};
  const std::string svg = draw_bubble_plot(PictureFormat::svg, plot);
  for (const char* text : {"title", "microbatches", "bubble", "1f1b", "gpipe", "closed form", "2",
                           "4", "8", "0%", "60%"}) {
    CAPTURE(text);
    CHECK(has_text(svg, text));
  }
  CHECK(draw_bubble_plot(PictureFormat::svg, plot) == svg);
  plot.series[1].simulated[0].second = 0.5;
  CHECK(draw_bubble_plot(PictureFormat::svg, plot) != svg);
}

TEST_CASE("series with equal points share a line and its entry") {
  BubblePlot plot{"", "", "", "", {}};
  plot.series = {{"a", {{4, 0.4}}, {}}, {"b", {{4, 0.2}}, {}}, {"c", {{4, 0.4}}, {}}};
  const std::string svg = draw_bubble_plot(PictureFormat::svg, plot);
  CHECK(has_text(svg, "a, c"));
  CHECK_FALSE(has_text(svg, "c"));
}

TEST_CASE("a bubble plot of many series names each of them, however small the page") {
  BubblePlot plot{"", "", "", "", {}};
  for (int i = 0; i < 30; ++i) {
    plot.series.push_back({"series " + std::to_string(i), {{1, i / 30.0}}, {}});
  }
  for (const double width : {200.0, 321.0, 900.0}) {
    plot.options.width = width;
    const std::string svg = draw_bubble_plot(PictureFormat::svg, plot);
    for (int i = 0; i < 30; ++i) CHECK(has_text(svg, "series " + std::to_string(i)));
  }
}

TEST_CASE("a bubble plot refuses points that have no place in it") {
  constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
  for (const auto& point : {std::pair{0.0, 0.5}, std::pair{4.0, no_number}, {no_number, 0.5}}) {
    BubblePlot plot;
    plot.series = {{"1f1b", {point}, {}}};
    CHECK_THROWS_AS(draw_bubble_plot(PictureFormat::svg, plot), InputError);
  }
}

TEST_CASE("what leaves a rank to be kept elsewhere is seen, even over free links") {
  Schedule schedule(1);
  schedule.on(Rank{0}) = {{Pass::forward, Stage{0}, Microbatch{0}},
                          {Pass::evict, Stage{0}, Microbatch{0}},
                          {Pass::load, Stage{0}, Microbatch{0}},
                          {Pass::backward, Stage{0}, Microbatch{0}}};
  const Run one = run(schedule, Placement::loop(1, 1), 1, 2);
  const std::vector<Lane> moves = stash_moves(one.plan, one.timeline);
  REQUIRE(moves.size() == 1);
  REQUIRE(moves[0].size() == 2);
  CHECK(std::get<ActionKind>(moves[0][0].kind).pass == Pass::send_evicted);
  CHECK(std::get<ActionKind>(moves[0][1].kind).pass == Pass::send_loaded);
  const std::string svg = timeline_picture(PictureFormat::svg, one);
  CHECK(has_text(svg, "activation leaves"));
  CHECK(has_text(svg, "activation returns"));
}

TEST_CASE("memory is drawn with its peaks, and what is short keeps its maximum") {
  Run two = one_f_one_b(2, 2, 1e-6, 2e-6);  // 9 ps
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
  Run two = one_f_one_b(2, 2);
  CHECK_THROWS_WITH_AS(draw_memory(PictureFormat::svg, two.plan, two.timeline, {}),
                       doctest::Contains("no memory samples"), InputError);
  two.timeline.memory = {{Rank{0}, Time{0}, 0}};
  CHECK_THROWS_WITH_AS(draw_memory(PictureFormat::svg, two.plan, two.timeline, {}),
                       doctest::Contains("no rank holds memory"), InputError);
  two.timeline.memory = {{Rank{7}, Time{0}, 1}};
  CHECK_THROWS_AS(draw_memory(PictureFormat::svg, two.plan, two.timeline, {}), InputError);
}

TEST_CASE("the data of plots are CSV: a header, and a line a point") {
  BubblePlot bubble{.title = "", .subtitle = "", .x_label = "", .y_label = "", .series = {}};
  bubble.series = {{"a, 2 chunks", {{4, 0.25}}, {{4, 0.25}, {8, 0.125}}, {{8, "too \"odd\""}}}};
  CHECK(bubble_csv(bubble) ==
        "series,microbatches,bubble,simulated,closed_form,missing\n"
        "\"a, 2 chunks\",4,of_makespan,0.25,0.25,\n"
        "\"a, 2 chunks\",8,of_makespan,,0.125,\"too \"\"odd\"\"\"\n");

  Run two = one_f_one_b(2, 1, 1, 2);
  CHECK(timeline_csv(two.plan, two.timeline) ==
        "rank,link,pass,stage,microbatch,begin_us,end_us\n"
        "0,,F,0,0,0,1\n"
        ",0>1,SEND_F,0,0,1,1\n"
        "1,,F,1,0,1,2\n"
        "1,,B,1,0,2,4\n"
        ",1>0,SEND_B,1,0,4,4\n"
        "0,,B,0,0,4,6\n");
  two.timeline.memory = {{Rank{1}, from_us(1.5), 12}};
  CHECK(memory_csv(two.timeline) == "rank,time_us,bytes\n1,1.5,12\n");

  CalibrationPlot calibration;
  calibration.panels = {{"kernels", "ms", {{"gemm", {{1, 1.5, 1.25, 2}}}}}};
  CHECK(calibration_csv(calibration) ==
        "panel,series,unit,measured,predicted,low,high\nkernels,gemm,ms,1,1.5,1.25,2\n");
}

}  // namespace penstock
