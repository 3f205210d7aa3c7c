#include <doctest/doctest.h>

#include <QTreeWidget>
#include <ctime>

#include "gui/views/panels/indicators.hpp"
#include "sim/base/error.hpp"
#include "tests/gui/views/opened.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using testing::file_with;
using testing::named;
using testing::Opened;

constexpr const char* map_name = "Differences of durations by stage and microbatch";

TEST_CASE("compare: lists say what kinds take more and which ops moved, and lead to them in B") {
  Opened opened;
  const testing::Scratch folder;
  const QString slow = file_with(folder, "b.json", "/model/stages/2/forward_us=1500");
  opened.compare_with({slow});
  const auto& kinds =
      named<QTreeWidget>(opened.window, "Differences by kind, cause, rank and link");
  REQUIRE(kinds.topLevelItemCount() == 5);
  CHECK(kinds.topLevelItem(0)->text(0) == "B − A: kinds of op, on all ranks");
  const QTreeWidgetItem& forward = *kinds.topLevelItem(0)->child(0);
  CHECK(forward.text(0) == "forward");
  CHECK(forward.text(3) == "+4 ms");
  CHECK(forward.text(4) == "+12.5 %");
  auto& moved = named<QTreeWidget>(opened.window, "Ops that moved most, by cause");
  REQUIRE(moved.topLevelItemCount() > 1);
  CHECK(moved.topLevelItem(0)->text(0).startsWith(
      "B − A: longer or shorter itself, 8 ops, together +4 ms"));
  QTreeWidgetItem* const op = moved.topLevelItem(0)->child(0);
  CHECK(op->text(3) == "+500 µs");
  auto& map = named<QWidget>(opened.window, map_name);
  QTest::mouseClick(&map, Qt::LeftButton, {}, {map.width() - 8, map.height() / 2});
  CHECK(opened.window.steps().search_field().text() == "stage:2 mb:7");
  CHECK(opened.canvas().bright().size() > 1);
  opened.press(QKeySequence("Esc"));
  moved.itemActivated(op, 0);
  CHECK(opened.canvas().selected().run == 1);
  CHECK(opened.window.status().startsWith(op->text(0) + " of B, "));
  opened.press(QKeySequence("Ctrl+Shift+D"));
  CHECK(kinds.topLevelItemCount() == 0);
  CHECK(moved.topLevelItemCount() == 0);
}

TEST_CASE("compare: the pointer tells of both runs, in whichever it is, and shows the op in both") {
  Opened opened;
  const testing::Scratch folder;
  const QString slow = file_with(folder, "b.json", "/model/stages/2/forward_us=1500");
  opened.compare_with({slow});
  const ShownOp in_a = opened.op("2F3");
  const ShownOp in_b = opened.canvas().in_other_runs(in_a).front();
  CHECK(in_b.run == 1);
  const QPoint inside_b = opened.canvas().place_of_task(in_b).toRect().topLeft() + QPoint(2, 0);
  for (const ShownOp& op : {in_a, in_b}) {
    const QImage before = opened.canvas().grab().toImage();
    opened.point(opened.canvas().place_of_task(op).center());
    CHECK(opened.canvas().tip().text().contains("length +500 µs (+50 %): 1 ms in A, 1.5 ms in B"));
    CHECK(opened.canvas().grab().toImage().copy(QRect(inside_b, QSize(6, 1))) !=
          before.copy(QRect(inside_b, QSize(6, 1))));
    opened.leave();
  }
}

TEST_CASE("compare: K shows A and B in turn until it is pressed again") {
  Opened opened;
  opened.press(QKeySequence("K"));
  CHECK(opened.window.message().startsWith("There is no B"));
  opened.window.comparison().freeze_reference();
  opened.press(QKeySequence("K"));
  CHECK(opened.canvas().choice().style == PairStyle::only_other);
  CHECK(QTest::qWaitFor([&] { return opened.canvas().choice().style == PairStyle::only_first; },
                        60000));
  opened.press(QKeySequence("K"));
  CHECK(opened.canvas().choice().style == PairStyle::above);
}

TEST_CASE("compare: I goes through the steps of a trace, and B follows when aligned by iteration") {
  Opened opened;
  opened.press(QKeySequence("I"));
  CHECK(opened.window.message() == "This run is one iteration");
  const QString folder = QString(PENSTOCK_ROOT) + "/tests/torch/traces/2.14.1-1f1b/";
  opened.open({folder + "rank0.json.gz", folder + "rank1.json.gz"});
  const std::vector<std::uint32_t> numbers = opened.run().iterations->numbers;
  opened.press(QKeySequence("I"));
  CHECK(opened.window.message() == "This is the last iteration");
  opened.window.comparison().freeze_reference();
  opened.press(QKeySequence("Shift+I"));
  CHECK(opened.run().timeline.iteration == numbers[numbers.size() - 2]);
  CHECK(opened.window.now()->pairs.front().second->timeline.iteration == numbers.back());
  for (int press = 0; press < 3; ++press) opened.press(QKeySequence("L"));
  CHECK(opened.window.message() ==
        QString("Aligned by iteration %1").arg(numbers[numbers.size() - 2]));
  CHECK(opened.window.now()->pairs.front().second->timeline.iteration ==
        numbers[numbers.size() - 2]);
  opened.press(QKeySequence("I"));
  CHECK(opened.window.now()->pairs.front().second->timeline.iteration == numbers.back());
}

TEST_CASE("compare: Shift+L moves B so that the selected op begins in both at the same time") {
  Opened opened;
  opened.window.comparison().freeze_reference();
  opened.change({"/model/stages/0/forward_us=3000"});
  const TaskId op = opened.op("3F0");
  opened.canvas().select(op, false);
  opened.press(QKeySequence("Shift+L"));
  REQUIRE(!opened.window.now()->pairs.empty());
  const ViewedRun& second = *opened.window.now()->pairs.front().second;
  const auto same = find_ops(read_query("3F0"), second);
  CHECK(second.timeline.begin[same.front()] == opened.run().timeline.begin[op]);
  CHECK(opened.window.message() == "Aligned by 3F0");
  opened.press(QKeySequence("X"));
  opened.canvas().select(opened.op("3F0"), false);
  opened.press(QKeySequence("Shift+L"));
  CHECK(opened.window.message().contains("before time 0"));
}

TEST_CASE("compare: several files stand on one axis, and 2 shows one after the other alone") {
  Opened opened;
  const testing::Scratch folder;
  const QString b = file_with(folder, "b.json", "/model/stages/2/forward_us=1500");
  const QString c = file_with(folder, "c.json", "/model/stages/1/backward_us=900");
  opened.compare_with({b, c});
  REQUIRE(opened.window.now()->pairs.size() == 2);
  REQUIRE(opened.canvas().others().size() == 2);
  CHECK(opened.canvas().choice().style == PairStyle::above);
  CHECK(opened.window.status().contains("B − A: time "));
  CHECK(opened.window.status().contains("; C − A: time "));
  opened.press(QKeySequence("2"));
  CHECK(opened.window.message() == "Shown: only B");
  opened.press(QKeySequence("2"));
  CHECK(opened.window.message() == "Shown: only C");
  CHECK(opened.canvas().choice().other == 2);
  opened.press(QKeySequence("3"));
  opened.compare_with({c});
  CHECK(opened.canvas().others().size() == 3);
  opened.compare_with({b, b, b, b, b});
  CHECK(opened.window.message() == "9 runs are more than fit on one axis: at most 8");
  CHECK(opened.canvas().others().size() == 3);
  opened.press(QKeySequence("Ctrl+Shift+D"));
  CHECK(opened.canvas().others().empty());
}

TEST_CASE("compare: the runs of all tabs are stacked below the one in front") {
  Opened opened;
  opened.press(QKeySequence("Ctrl+Shift+T"));
  CHECK(opened.window.message().startsWith("Open another run first"));
  const testing::Scratch folder;
  const QString slow = file_with(folder, "b.json", "/model/stages/2/forward_us=9000");
  opened.window.files().open_files_now({slow});
  opened.press(QKeySequence("Ctrl+Shift+T"));
  REQUIRE(opened.canvas().others().size() == 1);
  CHECK(opened.run().source == slow.toStdString());
  CHECK(opened.window.now()->others.front()->source == testing::first_scenario.toStdString());
}

TEST_CASE("compare: the first of some files is held against the others, which all fit") {
  Opened opened;
  const testing::Scratch folder;
  const QString slow = file_with(folder, "b.json", "/model/stages/2/forward_us=9000");
  opened.window.files().open_compared({testing::first_scenario, slow});
  opened.settle();
  REQUIRE(opened.canvas().others().size() == 1);
  const Time end = opened.window.now()->others.front()->span();
  REQUIRE(end > opened.run().span());
  CHECK(opened.canvas().view().axis.x_of(end.picoseconds) <= opened.canvas().lanes_width() + 1);
  CHECK_THROWS_WITH_AS(opened.window.files().open_compared({slow}),
                       doctest::Contains("two or more runs are needed, got 1"), UsageError);
}

double cpu_s(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

TEST_CASE("compare: while a large run changes, it is compared in the second thread") {
  Opened opened;
  opened.change({"/schedule/microbatches=6000"});
  opened.window.comparison().freeze_reference();
  opened.change({"/hardware/latency_us=500"});
  const double own = cpu_s(CLOCK_THREAD_CPUTIME_ID);
  const double all = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
  opened.change({"/hardware/latency_us=900"});
  const double share =
      (cpu_s(CLOCK_THREAD_CPUTIME_ID) - own) / (cpu_s(CLOCK_PROCESS_CPUTIME_ID) - all);
  CHECK(share < 0.7);  // 0.42; 0.93 when the interface's thread compared
}

TEST_CASE("compare: an area may go over ranks that only B has") {
  Opened opened;
  const testing::Scratch folder;
  const QString two = QString::fromStdString(folder.file("two.json", R"({"penstock": 1,
      "model": {"stages": [{"forward_us": 1000, "backward_us": 2000},
                           {"forward_us": 1000, "backward_us": 2000}]},
      "hardware": {"name": "ideal", "devices": 2},
      "schedule": {"name": "1f1b", "microbatches": 4}})"));
  opened.window.files().open_compared({two, testing::first_scenario});
  opened.settle();
  REQUIRE(opened.run().plan.ranks == 2);
  TimelineCanvas& canvas = opened.canvas();
  const QPoint from(TimelineCanvas::gutter + 20, TimelineCanvas::header + 5);
  const QPoint to(TimelineCanvas::gutter + 400, canvas.height() - 5);
  opened.drag(from, to);
  REQUIRE(canvas.area());
  CHECK(canvas.area()->end_rank == 4);
  const AreaUse all = use_of(*canvas.area(), *canvas.first()->lanes, opened.run().plan);
  Area known = *canvas.area();
  known.end_rank = 2;
  CHECK(use_of(known, *canvas.first()->lanes, opened.run().plan).busy == all.busy);
  CHECK(all.ops > 0);
}

TEST_CASE("compare: a file against another one; the first difference is found; drop ends it") {
  Opened opened;
  const testing::Scratch folder;
  opened.compare_with({file_with(folder, "slow.json", "/model/stages/2/forward_us=1500")});
  REQUIRE(!opened.window.now()->pairs.empty());
  opened.press(QKeySequence("J"));
  CHECK(opened.canvas().selected() == opened.op("2F0"));
  CHECK(opened.window.status().startsWith("2F0"));
  opened.press(QKeySequence("L"));
  opened.press(QKeySequence("L"));
  const ViewedRun& second = *opened.window.now()->pairs.front().second;
  CHECK(makespan(second.plan, second.timeline) == opened.run().span());
  opened.press(QKeySequence("Ctrl+Shift+D"));
  CHECK(opened.window.now()->pairs.empty());
  auto& map = named<ResidualMap>(opened.window, map_name);
  CHECK(map.accessibleDescription() == "No second run");
  map.show_residuals({}, "No op in both");
  CHECK(map.accessibleDescription() == "No op in both");
  map.show_residuals({{0, 0}, {0, 0}}, "No op in both");
  CHECK(map.accessibleDescription() == "Durations as in A");
}

}  // namespace
}  // namespace penstock
