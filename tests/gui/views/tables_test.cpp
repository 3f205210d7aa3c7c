#include <doctest/doctest.h>
#include <fmt/format.h>

#include <QComboBox>
#include <QHeaderView>
#include <QLabel>

#include "experiments/input/files/table.hpp"
#include "gui/views/output/run_output.hpp"
#include "gui/views/panels/indicators.hpp"
#include "gui/views/panels/sweep_panel.hpp"
#include "tests/gui/views/opened.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using testing::named;
using testing::Opened;

void click_on(QTreeWidget& table, QTreeWidgetItem* row) {
  table.scrollToItem(row);
  QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, table.visualItemRect(row).center());
}

int column_of(const QTreeWidget& table, const QString& heading) {
  for (int c = 0; c < table.columnCount(); ++c) {
    if (table.headerItem()->text(c).section(", ", 0, 0) == heading) return c;
  }
  return -1;
}

void group_by(QWidget& panel, const QString& list, const QString& heading) {
  auto& by = named<QComboBox>(panel, list + ": group by");
  by.setCurrentText(heading);
  by.activated(by.currentIndex());
}

TEST_CASE("tables: a column has one unit, which its heading names") {
  Opened opened;
  QTreeWidget& path = opened.list("Critical path");
  CHECK(path.headerItem()->text(column_of(path, "begin")) == "begin, ms");
  CHECK(path.headerItem()->text(column_of(path, "length")) == "length, ms");
  CHECK(path.topLevelItem(1)->text(column_of(path, "length")) == "0.3375");
  QTreeWidget& memory = opened.list("Memory");
  CHECK(memory.headerItem()->text(column_of(memory, "peak")) == "peak, GiB");
  CHECK(memory.topLevelItem(0)->text(column_of(memory, "peak")) == "1");
  CHECK(memory.topLevelItem(3)->text(column_of(memory, "peak")) == "0.2578");
  // In another run, another unit.
  opened.change({"/model/stages/0/forward_us=9000000"});
  QTreeWidget& again = opened.list("Critical path");
  CHECK(again.headerItem()->text(column_of(again, "begin")) == "begin, s");
}

TEST_CASE("tables: of a run with slices, microbatches are those of the run, in the legend too") {
  Opened opened;
  opened.change({"/schedule/name=seq-1f1b", "/schedule/slices=4"});
  QTreeWidget& ops = opened.list("Ops");
  QStringList found;
  for (int r = 0; r < ops.topLevelItemCount(); ++r) {
    const QTreeWidgetItem& row = *ops.topLevelItem(r);
    CHECK(row.text(3).toInt() < 8);
    if (row.text(0) == "0B7") found << row.text(3);
  }
  CHECK(found == QStringList{"1"});
  opened.press(QKeySequence("Ctrl+2"));
  const QString legend = named<RunLegend>(opened.window, "Legend").accessibleDescription();
  CHECK(legend.contains("microbatch 7"));
  CHECK(!legend.contains("microbatch 8"));
  CHECK(!legend.contains("microbatch 7, 19"));
}

TEST_CASE("tables: idle time of a trace without a pipeline is that of lanes, by their names") {
  Opened opened;
  const testing::Scratch folder;
  const std::string file = folder.file("rank0.json",
                                       R"({"schemaVersion": 1, "traceEvents": [
          {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 10, "dur": 5, "pid": 0, "tid": 7,
           "args": {"device": 0, "stream": 7}},
          {"ph": "X", "cat": "kernel", "name": "copy", "ts": 17, "dur": 5, "pid": 0, "tid": 8,
           "args": {"device": 0, "stream": 8}}]})");
  opened.open(file);
  QTreeWidget& idle = opened.list("Idle time");
  CHECK(idle.headerItem()->text(0) == "lane");
  REQUIRE(idle.topLevelItemCount() == 2);
  CHECK(idle.topLevelItem(0)->text(0) == "0 · stream 7");
  CHECK(idle.topLevelItem(0)->text(1).isEmpty());
  CHECK(opened.window.panels().figures().accessibleDescription().startsWith("recording 12 µs"));
}

TEST_CASE("tables: rows in groups, with the sums of what adds up, and back as they were") {
  Opened opened;
  QTreeWidget& path = opened.list("Critical path");
  const int rows = path.topLevelItemCount();
  const QString first = path.topLevelItem(0)->text(0);
  group_by(opened.window, "Critical path", "By kind");
  REQUIRE(path.topLevelItemCount() < rows);
  const int length = column_of(path, "length");
  int found = 0;
  for (int g = 0; g < path.topLevelItemCount(); ++g) {
    const QTreeWidgetItem& group = *path.topLevelItem(g);
    double sum = 0;
    for (int i = 0; i < group.childCount(); ++i) {
      sum += group.child(i)->text(length).toDouble();
      CHECK(group.text(0).startsWith("kind " + group.child(i)->text(1)));
    }
    found += group.childCount();
    CHECK(group.text(0).endsWith(QString("(%1)").arg(group.childCount())));
    CHECK(group.text(length).toDouble() == doctest::Approx(sum).epsilon(0.001));
    CHECK(group.text(column_of(path, "begin")).isEmpty());
  }
  CHECK(found == rows);
  path.sortByColumn(length, Qt::DescendingOrder);
  CHECK(path.topLevelItem(0)->text(length).toDouble() >=
        path.topLevelItem(1)->text(length).toDouble());
  path.sortByColumn(-1, Qt::AscendingOrder);
  group_by(opened.window, "Critical path", "Not grouped");
  CHECK(path.topLevelItemCount() == rows);
  CHECK(path.topLevelItem(0)->text(0) == first);
}

TEST_CASE("tables: a click on a row leads to its op, its rank or its link") {
  Opened opened;
  QTreeWidget& path = opened.list("Critical path");
  click_on(path, path.topLevelItem(4));
  CHECK(task_text(opened.run().plan, opened.canvas().selected().task) ==
        path.topLevelItem(4)->text(0).toStdString());
  QTreeWidget& idle = opened.list("Idle time");
  click_on(idle, idle.topLevelItem(2));
  REQUIRE(opened.canvas().area());
  CHECK(opened.canvas().area()->first_rank == 2);
  CHECK(opened.canvas().area()->end_rank == 3);
  QTreeWidget& links = opened.list("Links");
  CHECK(!opened.canvas().choice().links);
  click_on(links, links.topLevelItem(5));
  CHECK(opened.canvas().choice().links);
  const QRectF place = opened.canvas().place_of_link(5);
  CHECK(place.top() >= TimelineCanvas::header);
  CHECK(place.bottom() <= opened.canvas().height());
}

TEST_CASE("tables: beside a reference each number has its difference, with its sign and unit") {
  Opened opened;
  QTreeWidget& idle = opened.list("Idle time");
  CHECK(column_of(idle, "launch") < 0);
  for (int c = 0; c < idle.columnCount(); ++c) CHECK(!idle.headerItem()->text(c).contains("A"));
  opened.window.comparison().freeze_reference();
  opened.settle();
  const ViewedRunPtr before = opened.window.now()->run;
  opened.change({"/model/stages/3/forward_us=1800", "/model/stages/3/stash_bytes=1GB"});
  const ViewedRun& now = opened.run();
  const auto change_of = [&](QTreeWidget& table, int row, const QString& heading) {
    for (int c = 0; c < table.columnCount(); ++c) {
      if (table.headerItem()->text(c).startsWith(heading)) return table.topLevelItem(row)->text(c);
    }
    return QString();
  };
  const auto ms = [](Time time) { return static_cast<double>(time.picoseconds) / 1e9; };
  for (const std::uint32_t rank : {0U, 3U}) {
    const double more = ms(now.report.ranks[rank].idle) - ms(before->report.ranks[rank].idle);
    const QString text = change_of(idle, static_cast<int>(rank), "idle, B − A, ms");
    CHECK(text.toDouble() == doctest::Approx(more).epsilon(0.001));
    CHECK(text.startsWith(more > 0 ? "+" : "-"));
  }
  CHECK(!change_of(idle, 0, "idle %, B − A").isEmpty());
  CHECK(!change_of(idle, 0, "dependency, B − A, ms").isEmpty());
  QTreeWidget& memory = opened.list("Memory");
  CHECK(change_of(memory, 3, "peak, B − A").startsWith("+"));
  CHECK(change_of(memory, 0, "peak, B − A") == "±0");
  QTreeWidget& links = opened.list("Links");
  CHECK(change_of(links, 0, "busy, B − A") == "±0");
  CHECK(change_of(links, 0, "transfers, B − A") == "±0");
  CHECK(change_of(links, 0, "use %, B − A").startsWith("-"));
  opened.window.comparison().drop_reference();
  opened.settle();
  CHECK(change_of(opened.list("Links"), 0, "busy, B − A").isEmpty());
}

TEST_CASE("tables: a recording has no bytes of links, and busy times only beside its like") {
  Opened opened;
  const testing::Scratch folder;
  export_run(opened.run(), folder.path("a.timeline"));
  opened.compare_with({QString::fromStdString(folder.path("a.timeline"))});
  QTreeWidget& links = opened.list("Links");
  REQUIRE(links.topLevelItemCount() == 6);
  const auto cell = [&](const QString& heading) {
    for (int c = 0; c < links.columnCount(); ++c) {
      if (links.headerItem()->text(c).startsWith(heading)) return links.topLevelItem(0)->text(c);
    }
    return QString("no such column");
  };
  CHECK(cell("bytes, MiB") == "64");
  CHECK(cell("bytes, B − A").isEmpty());
  CHECK(cell("busy, B − A").isEmpty());
  CHECK(cell("use %, B − A").isEmpty());
  CHECK(cell("transfers, B − A") == "±0");
}

TEST_CASE("tables: columns of differences leave the order and the groups of a list as they were") {
  Opened opened;
  QTreeWidget& links = opened.list("Links");
  group_by(opened.window, "Links", "By from");
  links.sortByColumn(column_of(links, "busy"), Qt::DescendingOrder);
  const int groups = links.topLevelItemCount();
  opened.window.comparison().freeze_reference();
  opened.settle();
  CHECK(links.topLevelItemCount() == groups);
  CHECK(links.headerItem()->text(links.sortColumn()).startsWith("busy, "));
  CHECK(links.header()->sortIndicatorOrder() == Qt::DescendingOrder);
  const int change = links.sortColumn() + 1;
  CHECK(links.headerItem()->text(change).startsWith("busy, B − A"));
  CHECK(links.topLevelItem(0)->text(change) == "±0");
}

TEST_CASE("tables: what is cut off is said") {
  Opened opened;
  opened.change({"/schedule/microbatches=3000"});
  opened.list("Ops");
  CHECK(named<QLabel>(opened.window, "Ops of the selected rank: rows").text() ==
        "first 5,000 of 6,000");
  opened.list("Links");
  CHECK(named<QLabel>(opened.window, "Links: rows").text() == "6 rows");
}

TEST_CASE("tables: a list is filled when it is seen, with the run that is in front then") {
  Opened opened;
  auto* memory = &named<QTreeWidget>(opened.window, "Memory by rank");
  CHECK(memory->topLevelItemCount() == 0);
  opened.change({"/model/stages/3/stash_bytes=8GB"});
  opened.list("Memory");
  REQUIRE(memory->topLevelItemCount() == 4);
  CHECK(
      memory->topLevelItem(3)->text(1).toDouble() ==
      doctest::Approx(static_cast<double>(opened.run().report.ranks[3].memory.bytes) / (1ULL << 30))
          .epsilon(0.001));
}

struct OpenedSweep : Opened {
  OpenedSweep() {
    std::string lines;
    for (int item = 0; item < 6; ++item) {
      lines += fmt::format(
          R"({{"item":{},"of":6,"sweep":"1","hash":"{}","version":"0.1.0","configuration":)"
          R"({{"/schedule/microbatches":{},"/schedule/name":"{}"}},"result":{{"makespan_us":{}}}}})"
          "\n",
          item, item + 2, 4 + item, item % 2 == 0 ? "1f1b" : "gpipe", 30000 - 1000 * item);
    }
    open_later({QString::fromStdString(folder.file("s.jsonl", lines))});
    plot = &named<SweepPlot>(window, "Sweep as points");
  }
  testing::Scratch folder;
  SweepPlot* plot;
};

TEST_CASE("sweep: each row is a point, further right and lower as its numbers are") {
  OpenedSweep opened;
  CHECK(opened.plot->isVisible());
  CHECK(opened.plot->accessibleDescription().endsWith("6 of 6 rows have a point"));
  for (std::size_t row = 1; row < 6; ++row) {
    CHECK(opened.plot->place_of(row)->x() > opened.plot->place_of(row - 1)->x());
    CHECK(opened.plot->place_of(row)->y() > opened.plot->place_of(row - 1)->y());
  }
  QTreeWidget& list = opened.list("Sweep");
  const QPoint third = opened.plot->place_of(3)->toPoint();
  QTest::mouseClick(opened.plot, Qt::LeftButton, {}, third);
  CHECK(list.currentItem()->text(0) == "3");
  QTest::mouseDClick(opened.plot, Qt::LeftButton, {}, third);
  opened.settle();
  CHECK(opened.window.count() == 2);
  CHECK(opened.run().layout->microbatches == 7);
}

TEST_CASE("sweep: numbers go across from the start, and words have a colour each") {
  OpenedSweep opened;
  CHECK(named<QComboBox>(opened.window, "Across").currentText() == "/schedule/microbatches");
  CHECK(named<QComboBox>(opened.window, "Colours").currentText() == "/schedule/name");
  const QImage image = opened.plot->grab().toImage();
  const auto colour = [&](std::size_t row) {
    return image.pixelColor(opened.plot->place_of(row)->toPoint());
  };
  CHECK(colour(0) == colour(2));
  CHECK(colour(0) != colour(1));
}

TEST_CASE("sweep: a column of words has a place for each of them") {
  OpenedSweep opened;
  auto& across = named<QComboBox>(opened.window, "Across");
  const int names = across.findText("/schedule/name");
  REQUIRE(names >= 0);
  across.setCurrentIndex(names);
  across.activated(names);
  CHECK(opened.plot->place_of(0)->x() == opened.plot->place_of(2)->x());
  CHECK(opened.plot->place_of(0)->x() < opened.plot->place_of(1)->x());
  group_by(opened.window, "Rows of a sweep", "By /schedule/name");
  QTreeWidget& list = opened.list("Sweep");
  CHECK(list.topLevelItemCount() == 2);
  list.expandAll();
  QTest::mouseClick(opened.plot, Qt::LeftButton, {}, opened.plot->place_of(5)->toPoint());
  CHECK(list.currentItem()->text(0) == "5");
}

TEST_CASE("sweep: a row that is read again is still that row") {
  OpenedSweep opened;
  opened.window.files().open_row(3);
  opened.settle();
  const ViewedRunPtr before = opened.window.now()->run;
  opened.press(QKeySequence("F5"));
  CHECK(opened.window.now()->run != before);
  CHECK(opened.run().layout->microbatches == 7);
  CHECK(opened.run().title == before->title);
}

TEST_CASE("selection: the list of an area has differences only beside another run") {
  Opened opened;
  const auto* table = &named<QTreeWidget>(opened.window, "Ops and idle time of the area");
  opened.canvas().set_area(Area{0, opened.run().span().picoseconds, 0, 4});
  opened.settle();
  REQUIRE(table->topLevelItemCount() > 0);
  CHECK(table->isColumnHidden(6));
  opened.window.comparison().freeze_reference();
  opened.settle();
  CHECK(!table->isColumnHidden(6));
  CHECK(table->headerItem()->text(6) == "time, B − A");
}

}  // namespace
}  // namespace penstock
