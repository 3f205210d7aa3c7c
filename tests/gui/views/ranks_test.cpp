#include <doctest/doctest.h>
#include <fmt/format.h>

#include <QAccessible>
#include <QDialog>
#include <QLineEdit>
#include <QMenu>
#include <QWheelEvent>
#include <algorithm>
#include <memory>

#include "gui/views/canvas/look.hpp"
#include "tests/gui/views/opened.hpp"

namespace penstock {
namespace {

using testing::named;
using testing::Opened;

/// A scenario of many equal stages, of which every third takes a little longer.
Scenario many_stages(std::uint32_t ranks, std::uint32_t microbatches) {
  std::string stages;
  for (std::uint32_t s = 0; s < ranks; ++s) {
    stages += fmt::format(R"({}{{"forward_us": {}, "backward_us": 2000, "stash_bytes": 1048576}})",
                          s == 0 ? "" : ", ", 1000 + (s % 3) * 50);
  }
  return parse_scenario(
      fmt::format(R"({{"penstock": 1, "model": {{"stages": [{}]}}, "hardware": {{"name": "ideal", )"
                  R"("devices": {}, "latency_us": 2}}, )"
                  R"("schedule": {{"name": "1f1b", "microbatches": {}}}}})",
                  stages, ranks, microbatches),
      "many.json");
}

struct ManyStages : Opened {
  explicit ManyStages(std::uint32_t ranks, std::uint32_t microbatches = 64,
                      QSize size = {1200, 800})
      : Opened(ThemeName::light, size) {
    window.runs().add(painted(viewed(many_stages(ranks, microbatches)), ColourBy::pass));
    settle();
  }
  bool sees(std::uint32_t rank) {
    const QRectF place = canvas().place_of_lane(rank);
    return !place.isNull() && place.top() >= TimelineCanvas::header - 1 &&
           place.bottom() <= canvas().height() + 1;
  }
};

TEST_CASE("ranks: the fit shows all of them, low ones as heat") {
  ManyStages opened(256);
  CHECK(opened.canvas().rows().front().heat);
  CHECK(opened.sees(0));
  CHECK(opened.sees(255));
  CHECK(opened.canvas().overview_place().isEmpty());
  const QImage image = opened.canvas().grab().toImage();
  const QRectF lane = opened.canvas().place_of_lane(255);
  const int y = static_cast<int>(lane.center().y());
  const Theme& light = theme(ThemeName::light);
  // The last rank waits for the first microbatch, and its last backward ends before the run does.
  const Colour warmup = light.heat[static_cast<std::size_t>(IdleCause::warmup)];
  const Colour drain = light.heat[static_cast<std::size_t>(IdleCause::drain)];
  CHECK(image.pixelColor(TimelineCanvas::gutter + 5, y) == qt_colour(warmup));
  CHECK(image.pixelColor(image.width() - 5, y) == qt_colour(drain));
}

TEST_CASE("ranks: where lanes are heat, what shows ops or memory says why nothing is seen of it") {
  ManyStages opened(256);
  REQUIRE(opened.canvas().rows().front().heat);
  for (const char* keys : {"N", "Y", "Shift+C"}) {
    opened.window.runs().say({});
    opened.press(QKeySequence(keys));
    CHECK(opened.window.message() == too_low_for_ops);
  }
  REQUIRE(longest_gaps(*opened.canvas().first()->lanes, 20'000).size() > 10'000);
  opened.press(QKeySequence("B"));
  CHECK(opened.window.message().startsWith("bubble 1 of the 10,000 longest: "));
}

TEST_CASE("ranks: rows of heat fill the canvas, however many they are") {
  for (const std::uint32_t ranks : {160U, 512U}) {
    ManyStages opened(ranks, 8);
    const double bottom = opened.canvas().place_of_lane(ranks - 1).bottom();
    CHECK(bottom <= opened.canvas().height());
    CHECK(bottom >= opened.canvas().height() - 8);
  }
}

TEST_CASE("ranks: zooming in far enough shows labels, and the rank at the pointer stays there") {
  ManyStages opened(256);
  TimelineCanvas& canvas = opened.canvas();
  const QPoint at(600, static_cast<int>(canvas.place_of_lane(200).center().y()));
  QTest::mouseMove(&canvas, at);
  for (int i = 0; i < 40 && canvas.rows().front().heat; ++i) canvas.zoom(0.8);
  REQUIRE(!canvas.rows().front().heat);
  CHECK(canvas.lane_height() >= canvas.readable_height());
  CHECK(canvas.rank_at(at.y()) == 200);
  CHECK(!canvas.overview_place().isEmpty());
  canvas.fit();
  CHECK(canvas.rows().front().heat);
  CHECK(opened.sees(255));
}

TEST_CASE("ranks: while the wheel zooms it goes on to zoom, however high the lanes become") {
  ManyStages opened(64, 256);
  TimelineCanvas& canvas = opened.canvas();
  for (int i = 0; i < 30; ++i) {
    const double before = canvas.view().axis.picoseconds_per_pixel;
    QWheelEvent turn({600, 400}, canvas.mapToGlobal(QPointF(600, 400)), {}, {0, 120}, {}, {},
                     Qt::NoScrollPhase, false);
    QApplication::sendEvent(&canvas, &turn);
    CHECK(canvas.view().axis.picoseconds_per_pixel < before);
  }
  CHECK(!canvas.overview_place().isEmpty());
}

TEST_CASE("ranks: the bar at the right scrolls to where it is pressed") {
  ManyStages opened(64);
  TimelineCanvas& canvas = opened.canvas();
  canvas.scale_lanes(4);
  const QRect bar = canvas.overview_place().toRect();
  REQUIRE(!bar.isEmpty());
  CHECK(!opened.sees(60));
  QTest::mouseClick(&canvas, Qt::LeftButton, {}, {bar.center().x(), bar.bottom() - 2});
  CHECK(opened.sees(63));
  CHECK(!opened.sees(0));
  QTest::mousePress(&canvas, Qt::LeftButton, {}, {bar.center().x(), bar.bottom() - 2});
  QTest::mouseMove(&canvas, {bar.center().x(), bar.top()});
  QTest::mouseRelease(&canvas, Qt::LeftButton, {}, {bar.center().x(), bar.top()});
  CHECK(opened.sees(0));
}

TEST_CASE("ranks: every bubble that B goes to is in sight, at a height that can be read") {
  ManyStages opened(128);
  for (int i = 0; i < 12; ++i) {
    opened.press(QKeySequence("B"));
    REQUIRE(opened.canvas().area());
    CHECK(opened.sees(opened.canvas().area()->first_rank));
    CHECK(opened.canvas().lane_height() >= opened.canvas().readable_height());
  }
}

TEST_CASE("ranks: F fits the time and the ranks of an area") {
  ManyStages opened(64);
  TimelineCanvas& canvas = opened.canvas();
  canvas.set_area(Area{5'000'000'000, 20'000'000'000, 30, 34});
  opened.press(QKeySequence("F"));
  for (const std::uint32_t rank : {30U, 33U}) CHECK(opened.sees(rank));
  CHECK(!opened.sees(20));
  const double high = canvas.place_of_lane(33).bottom() - canvas.place_of_lane(30).top();
  CHECK(high > 0.7 * (canvas.height() - TimelineCanvas::header));
  const double left = canvas.view().axis.x_of(5'000'000'000);
  const double right = canvas.view().axis.x_of(20'000'000'000);
  CHECK((right - left) / canvas.lanes_width() > 0.85);
}

TEST_CASE("ranks: a drag along the ruler selects its time on all of them") {
  ManyStages opened(16);
  TimelineCanvas& canvas = opened.canvas();
  const int y = (TimelineCanvas::map_height + TimelineCanvas::header) / 2;
  QTest::mousePress(&canvas, Qt::LeftButton, {}, {400, y});
  QTest::mouseMove(&canvas, {500, y});
  QTest::mouseMove(&canvas, {600, y});
  QTest::mouseRelease(&canvas, Qt::LeftButton, {}, {600, y});
  REQUIRE(canvas.area());
  CHECK(canvas.area()->first_rank == 0);
  CHECK(canvas.area()->end_rank == 16);
  CHECK(canvas.area()->among.empty());
}

TEST_CASE("ranks: an area drawn over ranks in another order has those, and none between") {
  Opened opened;
  TimelineCanvas& canvas = opened.canvas();
  REQUIRE(canvas.set_rank_order({.filter = read_rank_filter("0 2-3")}));
  const auto drag = [&](std::uint32_t from, std::uint32_t to) {
    const int top = static_cast<int>(canvas.place_of_lane(from).center().y());
    const int bottom = static_cast<int>(canvas.place_of_lane(to).center().y());
    QTest::mousePress(&canvas, Qt::LeftButton, {}, {400, top});
    QTest::mouseMove(&canvas, {450, bottom});
    QTest::mouseMove(&canvas, {600, bottom});
    QTest::mouseRelease(&canvas, Qt::LeftButton, {}, {600, bottom});
  };
  drag(0, 2);
  REQUIRE(canvas.area());
  CHECK(canvas.area()->has(0));
  CHECK(!canvas.area()->has(1));
  CHECK(canvas.area()->has(2));
  CHECK(canvas.area()->ranks(4) == 2);
  const RunLanes& lanes = *canvas.first()->lanes;
  Area one = *canvas.area();
  one.among.clear();
  const auto busy = [&](std::uint32_t rank) {
    Area alone = one;
    alone.first_rank = rank;
    alone.end_rank = rank + 1;
    return use_of(alone, lanes, opened.run().plan).busy;
  };
  CHECK(use_of(*canvas.area(), lanes, opened.run().plan).busy == busy(0) + busy(2));
}

TEST_CASE("ranks: the order is by idle time, memory or stage, and pinned ones stand above") {
  Opened opened;
  const auto order = [&] { return shown_ranks(opened.canvas().choice()); };
  const auto press = [&](const char* key) { opened.press(QKeySequence(key)); };
  press("O");
  const auto& facts = *opened.canvas().first()->facts;
  const auto idle = order();
  CHECK(std::is_sorted(idle.begin(), idle.end(), [&](std::uint32_t a, std::uint32_t b) {
    return facts[a].idle > facts[b].idle;
  }));
  press("O");
  CHECK(opened.window.message() == "Ranks most memory first");
  CHECK(order() == std::vector<std::uint32_t>{0, 1, 2, 3});
  opened.change({"/model/stages/2/stash_bytes=8GB"});
  CHECK(order() == std::vector<std::uint32_t>{2, 0, 1, 3});
  opened.canvas().toggle_pin(3);
  CHECK(order() == std::vector<std::uint32_t>{3, 2, 0, 1});
  opened.canvas().select(opened.op("2F0"), false);
  press("Down");
  CHECK(rank_of_task(opened.run().plan, opened.canvas().selected().task) == 0);
  press("Shift+O");
  CHECK(order() == std::vector<std::uint32_t>{3, 0, 1, 2});
}

TEST_CASE("ranks: a filter leaves some, says how many, and yields to a jump") {
  ManyStages opened(16);
  opened.press(QKeySequence("Shift+F"));
  auto* dialog = opened.window.findChild<QDialog*>("filter_ranks");
  REQUIRE(dialog != nullptr);
  auto* field = dialog->findChild<QLineEdit*>();
  const auto shown = [&] { return shown_ranks(opened.canvas().choice()).size(); };
  QTest::keyClicks(field, "3-5 9");
  CHECK(shown() == 4);
  field->setText("stage:7");
  CHECK(shown() == 1);
  field->setText("idle>101%");
  CHECK(shown() == 1);  // none would be left
  field->setText("what");
  CHECK(shown() == 1);
  QTest::keyClick(field, Qt::Key_Return);
  opened.canvas().select(opened.op("2F0"), true);
  CHECK(opened.sees(2));
  CHECK(shown() == 16);
}

TEST_CASE("ranks: a filter reads shares, bytes, stages and numbers, and refuses the rest") {
  const RankFilter filter = read_rank_filter("idle>30% mem>40GiB stage:3 0-7 rank:12");
  CHECK(*filter.idle_above == doctest::Approx(0.3));
  CHECK(*filter.memory_above == 40ULL << 30);
  CHECK(*filter.stage == 3);
  CHECK(filter.ranks.size() == 2);
  CHECK((read_rank_filter("") == RankFilter{}));
  for (const char* bad : {"idle>", "mem>many", "3-", "x", "stage:q", "idle>3ms", "idle>30",
                          "idle>nan%", "idle>inf%", "idle>nan"}) {
    CAPTURE(bad);
    CHECK_THROWS_WITH(read_rank_filter(bad), doctest::Contains("is not understood"));
  }
  std::vector<RankSummary> facts(3);
  facts[1].idle = 0.5;
  facts[2].peak_bytes = 100;
  CHECK(ranks_in({.filter = read_rank_filter("idle>30%")}, facts) == std::vector<std::uint32_t>{1});
  CHECK(ranks_in({.filter = read_rank_filter("idle<30% mem>0")}, facts) ==
        std::vector<std::uint32_t>{2});
}

TEST_CASE("ranks: of those that hold the same stages, folding leaves the first") {
  std::vector<RankSummary> facts(4);
  for (std::uint32_t r = 0; r < 4; ++r) facts[r].stages = {r / 2};
  CHECK(ranks_in({.folded = true}, facts) == std::vector<std::uint32_t>{0, 2});
  CHECK(replicas_of(3, facts) == 2);
  CHECK(ranks_in({.filter = read_rank_filter("1-3"), .folded = true}, facts) ==
        std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("ranks: H shows idle time alone, at any height, and ops can still be pointed at") {
  Opened opened;
  const QRectF before = opened.canvas().place_of_lane(2);
  const QImage ops = opened.canvas().grab().toImage();
  opened.press(QKeySequence("H"));
  CHECK(opened.canvas().rows().size() == 4);
  CHECK(opened.canvas().rows().front().heat);
  CHECK(opened.canvas().task_at(opened.middle_of(opened.op("2F1"))) == opened.op("2F1"));
  CHECK(opened.canvas().grab().toImage() != ops);
  opened.press(QKeySequence("H"));
  CHECK(opened.canvas().place_of_lane(2) == before);
}

TEST_CASE("ranks: low lanes are of heat where many ops share a pixel, unless H asks for ops") {
  ManyStages opened(64, 1024);
  TimelineCanvas& canvas = opened.canvas();
  const auto is_heat = [&] { return canvas.rows().front().heat; };
  REQUIRE(canvas.lane_height() >= least_drawn_height);
  CHECK(is_heat());
  opened.press(QKeySequence("H"));
  CHECK(!is_heat());
  CHECK(opened.window.message() == "Ops and idle time");
  opened.press(QKeySequence("H"));
  CHECK(is_heat());
  canvas.change_choice([](LaneChoice& choice) { choice.heat = false; });
  CHECK(is_heat());
  canvas.zoom_at(300, 0.1);
  CHECK(!is_heat());
  canvas.fit();
  canvas.scale_lanes(3);
  CHECK(!is_heat());
}

TEST_CASE("ranks: where lanes are heat, the legend has the shades of each cause and their shares") {
  ManyStages opened(256, 8);
  auto* const legend = &named<QWidget>(opened.window, "Legend");
  const Theme& light = theme(ThemeName::light);
  CHECK(legend->accessibleDescription().contains("heat: 3 10 25 50 100 % idle"));
  CHECK(!legend->accessibleDescription().contains("forward"));
  legend->resize(legend->sizeHint());
  const QImage image = legend->grab().toImage();
  const QStringList words = legend->accessibleDescription().split(", ");
  for (const auto& [word, cause] : {std::pair("heat: warm-up", IdleCause::warmup),
                                    std::pair("heat: drain", IdleCause::drain)}) {
    const int y = 4 + 20 * static_cast<int>(words.indexOf(word)) + 10;
    const Colour heat = light.heat[static_cast<std::size_t>(cause)];
    const std::vector<double> shares{0.03, 0.1, 0.25, 0.5, 1};
    for (int i = 0; i < 5; ++i) {
      const double share = shares[static_cast<std::size_t>(i)];
      CHECK(image.pixelColor(6 + 28 * i + 14, y) == qt_colour(heat_shade(light.lane, heat, share)));
    }
  }
  // Above a rank that is idle at a moment, the lane has the last shade.
  opened.canvas().scale_lanes(40);
  CHECK(!opened.canvas().rows().front().heat);
  CHECK(legend->accessibleDescription().contains("forward"));
  CHECK(!legend->accessibleDescription().contains("heat"));
  opened.press(QKeySequence("H"));
  CHECK(legend->accessibleDescription().contains("heat: drain"));
}

TEST_CASE(
    "ranks: a window that becomes lower shows heat, and its legend says so; it goes away well") {
  auto opened = std::make_unique<ManyStages>(64, 8, QSize(1200, 1000));
  const auto& legend = named<QWidget>(opened->window, "Legend");
  REQUIRE(!opened->canvas().rows().front().heat);
  opened->window.resize(1200, 560);
  opened->settle();
  REQUIRE(opened->canvas().rows().front().heat);
  CHECK(legend.accessibleDescription().contains("heat: drain"));
  opened->window.resize(1200, 1000);  // is still to be told when it goes
}

TEST_CASE("ranks: screen readers have the shown ones in their order, with what they hold") {
  Opened opened;
  REQUIRE(opened.canvas().set_rank_order({.filter = read_rank_filter("3 1")}));
  opened.canvas().toggle_pin(3);
  QAccessibleInterface* const canvas = QAccessible::queryAccessibleInterface(&opened.canvas());
  REQUIRE(canvas->childCount() == 2);
  CHECK(canvas->child(0)->text(QAccessible::Name) == "rank 3: 16 ops, 62.5 % busy, 264 MiB");
  CHECK(canvas->child(1)->text(QAccessible::Name).startsWith("rank 1: "));
}

TEST_CASE("ranks: a double click on a name pins its rank, and another one frees it") {
  Opened opened;
  const auto click = [&] {
    const QPoint at(20, static_cast<int>(opened.canvas().place_of_lane(2).center().y()));
    QTest::mouseDClick(&opened.canvas(), Qt::LeftButton, {}, at);
  };
  click();
  CHECK(opened.canvas().is_pinned(2));
  CHECK(opened.canvas().rows().front().rank == 2);
  click();
  CHECK(!opened.canvas().is_pinned(2));
}

TEST_CASE("ranks: a press on their number offers the actions of ranks") {
  Opened opened;
  QTest::mousePress(&opened.canvas(), Qt::LeftButton, {}, {40, TimelineCanvas::header - 6});
  auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
  REQUIRE(menu != nullptr);
  CHECK(menu->actions().contains(opened.window.action("filter_ranks")));
  CHECK(menu->actions().contains(opened.window.action("pin")));
  menu->close();
}

/// Ranks that do not fit into the window.
struct ManyRanks : ManyStages {
  ManyRanks() : ManyStages(64, 12) {
    canvas().scale_lanes(3);
    REQUIRE(canvas().place_of_lane(63).top() > canvas().height());
  }
  bool sees_op(TaskId task) {
    const QRectF place = canvas().place_of_task(task);
    return sees(rank_of_task(run().plan, task)) && place.center().x() >= TimelineCanvas::gutter &&
           place.center().x() <= canvas().width();
  }
  /// Looks at the first ranks and the begin of the run.
  void look_away() {
    canvas().fit();
    canvas().scale_lanes(3);
    canvas().zoom_at(0, 0.05);
    canvas().scroll(-1e6);
  }
};

TEST_CASE("jumps: each bubble is in sight, on whichever rank it is") {
  ManyRanks many;
  std::uint32_t last = 0;
  for (int press = 0; press < 40; ++press) {
    many.look_away();
    many.press(QKeySequence("B"));
    REQUIRE(many.canvas().area());
    const Area area = *many.canvas().area();
    last = std::max(last, area.first_rank);
    CAPTURE(area.first_rank);
    CHECK(many.sees(area.first_rank));
    const TimeAxis& axis = many.canvas().view().axis;
    CHECK(axis.x_of(area.begin) >= 0);
    CHECK(axis.x_of(area.end) <= many.canvas().lanes_width());
  }
  CHECK(last > 20);  // one that did not fit
}

TEST_CASE("jumps: search, fitting, marks, causes and the critical path bring their op into sight") {
  ManyRanks many;
  many.look_away();
  many.search("44B9");
  const TaskId found = many.op("44B9");
  CHECK(many.sees_op(found));
  for (const char* key : {"F", "M", "F3"}) {
    CAPTURE(key);
    many.look_away();
    REQUIRE(!many.sees_op(found));
    many.press(QKeySequence(key));
    CHECK(many.sees_op(found));
  }
  many.look_away();
  many.press(QKeySequence("["));
  const TaskId cause = many.canvas().selected().task;
  CHECK(cause != found);
  CHECK(many.sees_op(cause));
  QTreeWidget* const path = &many.list("Critical path");
  int seen = 0;
  for (int row = 0; row < path->topLevelItemCount(); row += 17) {
    const auto task = path->topLevelItem(row)->data(0, Qt::UserRole).toUInt();
    if (many.run().plan.is_link(many.run().plan.class_of(task).resource)) continue;
    many.look_away();
    path->itemActivated(path->topLevelItem(row), 0);
    CHECK(many.sees_op(task));
    ++seen;
  }
  CHECK(seen > 2);
}

}  // namespace
}  // namespace penstock
