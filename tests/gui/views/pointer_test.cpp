#include <doctest/doctest.h>

#include <QClipboard>
#include <QContextMenuEvent>
#include <QFileDialog>
#include <QMenu>
#include <QScreen>
#include <QTextBrowser>
#include <QTimer>
#include <QTreeWidget>

#include "experiments/input/files/files.hpp"
#include "gui/models/view/time_axis.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/output/run_output.hpp"
#include "tests/gui/views/opened.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using testing::named;
using testing::Opened;

/// In the middle of the gap before 0B0 that waits for stage 1.
QPointF in_gap(Opened& opened) {
  const QRectF strip = opened.canvas().place_of_task(opened.op("0B0"));
  return {(opened.canvas().place_of_task(opened.op("0F3")).right() + strip.left()) / 2,
          strip.center().y()};
}

QTextBrowser& selection_panel(Opened& opened) {
  QTextBrowser* const text = opened.window.findChild<QTextBrowser*>();
  REQUIRE(text != nullptr);
  return *text;
}

TEST_CASE("pointer: what lies under it is told beside it at once, until it drags or leaves") {
  Opened opened;
  CHECK(opened.canvas().tip().text().isEmpty());
  const TaskId op = opened.op("2B1");
  opened.point(opened.middle_of(op));
  const QString said = opened.canvas().tip().text();
  CHECK(said.startsWith("2B1: backward of stage 2, microbatch 1"));
  CHECK(said.contains(qt_text(exact_time(opened.run().timeline.begin[op].picoseconds))));
  CHECK(said.contains("slack"));
  CHECK(said.contains("ran after 2F2"));
  CHECK(opened.canvas().screen()->geometry().contains(opened.canvas().tip().geometry()));
  CHECK(!opened.canvas().tip().geometry().contains(
      opened.canvas().mapToGlobal(opened.middle_of(op))));
  opened.point(in_gap(opened));
  CHECK(opened.canvas().tip().text().startsWith("rank 0 idle for 7.688 ms: dependency"));
  const QPoint at = opened.middle_of(opened.op("1F0"));
  QTest::mousePress(&opened.canvas(), Qt::LeftButton, {}, at);
  opened.point(at + QPoint(80, 0), Qt::LeftButton);
  CHECK(opened.canvas().tip().text().isEmpty());
  QTest::mouseRelease(&opened.canvas(), Qt::LeftButton, {}, at + QPoint(80, 0));
  opened.point(opened.middle_of(op));
  CHECK(!opened.canvas().tip().text().isEmpty());
  opened.leave();
  CHECK(opened.canvas().tip().text().isEmpty());
}

TEST_CASE("pointer: the line of what lies under it follows a change, and is empty while it drags") {
  Opened opened;
  QString line;
  opened.canvas().on_hover = [&](const QString& text) { line = text; };
  const TaskId op = opened.op("0F4");
  opened.canvas().select(op, false);
  const QPoint at = opened.middle_of(op);
  opened.point(at);
  const QString before = line;
  REQUIRE(before.startsWith("0F4, rank 0: "));
  opened.press(QKeySequence("Alt+Up"));
  CHECK(line == opened.canvas().text_at(at));
  CHECK(line != before);
  const QPoint gap = in_gap(opened).toPoint();
  opened.drag(gap, gap + QPoint(60, 0));
  CHECK(line.isEmpty());
}

TEST_CASE("pointer: steps of memory say what changed; a picture of the view has no pointer") {
  Opened opened;
  const testing::Scratch folder;
  export_view(opened.canvas(), folder.path("before.png"));
  opened.press(QKeySequence("N"));
  const QRectF memory = opened.canvas().place_of_memory(3);
  const auto after = [&](const char* op, double share) {
    const QRectF place = opened.canvas().place_of_task(opened.op(op));
    opened.point({place.left() + share * place.width(), memory.center().y()});
    return opened.canvas().tip().text();
  };
  CHECK_MESSAGE(after("3F2", 0.5).contains("+248 MiB as 3F2 begins"),
                after("3F2", 0.5).toStdString());
  CHECK_MESSAGE(after("3B7", 1.1).contains("-256 MiB as 3B7 ends"),
                after("3B7", 1.1).toStdString());
  opened.press(QKeySequence("N"));
  opened.point(opened.middle_of(opened.op("2B4")));
  export_view(opened.canvas(), folder.path("after.png"));
  CHECK(QImage(QString::fromStdString(folder.path("before.png"))) ==
        QImage(QString::fromStdString(folder.path("after.png"))));
}

TEST_CASE("pointer: its time stands over all ranks, and goes with it") {
  Opened opened;
  const QImage before = opened.canvas().grab().toImage();
  const int x = opened.middle_of(opened.op("3F0")).x();
  opened.point(QPointF(x, opened.canvas().height() - 4.0));
  const QImage with = opened.canvas().grab().toImage();
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const int y = static_cast<int>(opened.canvas().place_of_lane(rank).top()) + 3;
    CHECK(with.pixelColor(x, y) != before.pixelColor(x, y));
    CHECK(with.pixelColor(x + 8, y) == before.pixelColor(x + 8, y));
  }
  opened.leave();
  CHECK(opened.canvas().grab().toImage() == before);
}

TEST_CASE("gaps: a click selects one; the panel tells of it and keys go on from there") {
  Opened opened;
  opened.window.panels().strip().open("Report");
  const TaskId next = opened.op("0B0");
  QTest::mouseClick(&opened.canvas(), Qt::LeftButton, {}, in_gap(opened).toPoint());
  REQUIRE(opened.canvas().selected_gap());
  CHECK(opened.canvas().selected_gap()->next == next);
  CHECK(opened.window.status() == "rank 0 idle for 7.688 ms: dependency");
  CHECK(opened.canvas().accessibleDescription() == opened.window.status());
  CHECK(selection_panel(opened).isVisible());
  CHECK(selection_panel(opened).toPlainText().contains("whole gap"));
  opened.press(QKeySequence("["));
  CHECK(opened.canvas().selected() == opened.run().timeline.last_input[next]);
  CHECK(!opened.canvas().area());
  QTest::mouseClick(&opened.canvas(), Qt::LeftButton, {}, in_gap(opened).toPoint());
  CHECK(opened.canvas().selected().is_none());
  opened.press(QKeySequence("."));
  CHECK(opened.canvas().selected() == next);
  QTest::mouseClick(&opened.canvas(), Qt::LeftButton, {}, in_gap(opened).toPoint());
  opened.press(QKeySequence("R"));
  REQUIRE(opened.canvas().area());
  CHECK(opened.canvas().area()->end_rank == 4);
  CHECK(opened.canvas().area()->begin == opened.run().timeline.end[opened.op("0F3")].picoseconds);
}

TEST_CASE("gaps: a double click fits one") {
  Opened opened;
  const QPointF at = in_gap(opened);
  const auto gap = opened.canvas().idle_at(at);
  REQUIRE(gap);
  QTest::mouseDClick(&opened.canvas(), Qt::LeftButton, {}, at.toPoint());
  const TimeAxis& axis = opened.canvas().view().axis;
  CHECK(axis.x_of(gap->end) - axis.x_of(gap->begin) > 0.8 * opened.canvas().lanes_width());
}

TEST_CASE("selection: its links lead on, by Tab and Enter") {
  Opened opened;
  const TaskId op = opened.op("0B0");
  opened.canvas().select(op, false);
  QTextBrowser& panel = selection_panel(opened);
  CHECK(panel.toPlainText().contains("next on the critical path"));
  panel.setFocus();
  QTest::keyClick(&panel, Qt::Key_Tab);
  QTest::keyClick(&panel, Qt::Key_Return);
  CHECK(opened.canvas().selected() == opened.run().timeline.last_input[op]);
}

TEST_CASE("selection: an area has a table that can be sorted, and the lengths of its current row") {
  Opened opened;
  opened.canvas().set_area(Area{0, opened.run().span().picoseconds, 1, 3});
  opened.settle();
  auto* const table = &named<QTreeWidget>(opened.window, "Ops and idle time of the area");
  REQUIRE(table->topLevelItemCount() == 3);
  QTreeWidgetItem* const kinds = table->topLevelItem(0);
  CHECK(kinds->child(0)->text(0) == "forward");
  CHECK(kinds->child(0)->text(1) == "16");
  CHECK(table->headerItem()->text(2) == "time, ms");
  CHECK(kinds->child(0)->text(2) == "16");
  CHECK(table->topLevelItem(1)->child(0)->text(0) == "stage 1");
  const auto& lengths = named<QWidget>(opened.window, "Lengths");
  CHECK(lengths.accessibleDescription() == "forward of 16, from 1 ms to 1 ms");
  table->setCurrentItem(table->topLevelItem(2)->child(0));
  CHECK(lengths.accessibleDescription().startsWith("idle: warm-up of 2"));
  table->sortByColumn(2, Qt::DescendingOrder);
  CHECK(kinds->child(0)->text(0) == "backward");
  opened.press(QKeySequence("Ctrl+C"));
  CHECK(QApplication::clipboard()->text().contains("forward\t16\t16 ms\t1 ms\t1 ms"));
  opened.canvas().select(opened.op("1F0"), false);
  CHECK(table->isHidden());
}

TEST_CASE("marks: M marks the time at the pointer, at the edge of an op; there again removes it") {
  Opened opened;
  const TaskId op = opened.op("2B4");
  const QRectF place = opened.canvas().place_of_task(op);
  opened.canvas().setFocus();
  opened.point({place.left() + 3, place.center().y()});
  opened.press(QKeySequence("M"));
  const std::int64_t begin = opened.run().timeline.begin[op].picoseconds;
  CHECK(opened.canvas().marks() == std::vector{begin});
  CHECK(opened.window.message().startsWith("Marked: "));
  opened.point({place.right() - 3, place.center().y()});
  opened.press(QKeySequence("M"));
  const std::int64_t end = opened.run().timeline.end[op].picoseconds;
  CHECK(opened.canvas().marks() == std::vector{begin, end});
  opened.point({place.left() + 1, place.center().y()});
  opened.press(QKeySequence("M"));
  CHECK(opened.canvas().marks() == std::vector{end});
  CHECK(opened.window.message().startsWith("Mark removed at "));
}

QMenu* menu_at(Opened& opened, QPoint at, QContextMenuEvent::Reason reason) {
  QContextMenuEvent event(reason, at, opened.canvas().mapToGlobal(at));
  QApplication::sendEvent(&opened.canvas(), &event);
  return qobject_cast<QMenu*>(QApplication::activePopupWidget());
}

bool offers(const QMenu& menu, QAction* action) { return menu.actions().contains(action); }

TEST_CASE("menu: the right button selects what is there and offers what can be done with it") {
  Opened opened;
  const TaskId op = opened.op("1F2");
  QMenu* menu = menu_at(opened, opened.middle_of(op), QContextMenuEvent::Mouse);
  REQUIRE(menu != nullptr);
  CHECK(opened.canvas().selected() == op);
  CHECK(offers(*menu, opened.window.action("cause")));
  CHECK(!offers(*menu, opened.window.action("export_area")));
  CHECK(!offers(*menu, opened.window.action("memory")));
  opened.window.action("follow")->trigger();
  CHECK(!opened.canvas().bright().empty());
  menu->close();

  menu = menu_at(opened, in_gap(opened).toPoint(), QContextMenuEvent::Mouse);
  CHECK(opened.canvas().selected_gap());
  CHECK(offers(*menu, opened.window.action("export_area")));
  CHECK(!offers(*menu, opened.window.action("follow")));
  menu->close();

  const QPoint empty(opened.canvas().width() - 5, opened.canvas().height() - 3);
  menu = menu_at(opened, empty, QContextMenuEvent::Mouse);
  CHECK(offers(*menu, opened.window.action("memory")));
  CHECK(!offers(*menu, opened.window.action("copy")));
  menu->close();
}

TEST_CASE("menu: within an area it is that of the area; a mark is set where it was asked for") {
  Opened opened;
  opened.canvas().set_area(Area{0, opened.run().span().picoseconds, 0, 4});
  const QRectF place = opened.canvas().place_of_task(opened.op("1B4"));
  const QPoint at(static_cast<int>(place.left()) + 2, static_cast<int>(place.center().y()));
  QMenu* const menu = menu_at(opened, at, QContextMenuEvent::Mouse);
  REQUIRE(menu != nullptr);
  CHECK(opened.canvas().area());
  CHECK(offers(*menu, opened.window.action("export_area")));
  opened.leave();
  opened.window.action("mark")->trigger();
  CHECK(opened.canvas().marks() ==
        std::vector{opened.run().timeline.begin[opened.op("1B4")].picoseconds});
  menu->close();
}

TEST_CASE("menu: the menu key opens it for the selected op") {
  Opened opened;
  opened.canvas().select(opened.op("3B2"), false);
  QMenu* const menu = menu_at(opened, {0, 0}, QContextMenuEvent::Keyboard);
  REQUIRE(menu != nullptr);
  CHECK(offers(*menu, opened.window.action("cause")));
  CHECK(opened.canvas().selected() == opened.op("3B2"));
  menu->close();
}

TEST_CASE("path: Ctrl+. and Ctrl+, step along the critical path") {
  Opened opened;
  opened.press(QKeySequence("Ctrl+."));
  const std::vector<PathStep>& path = opened.run().report.critical_path;
  CHECK(opened.canvas().selected() == path.front().task);
  opened.press(QKeySequence("Ctrl+."));
  CHECK(opened.canvas().selected() == path[1].task);
  opened.press(QKeySequence("Ctrl+,"));
  CHECK(opened.canvas().selected() == path.front().task);
}

TEST_CASE("area: what is written is the one that was asked for, whatever is selected meanwhile") {
  Opened opened;
  const testing::Scratch folder;
  const std::string path = folder.path("area.csv");
  opened.canvas().set_area(Area{0, 9'000'000'000, 0, 2});
  QTimer::singleShot(0, &opened.window, [&] {
    opened.canvas().set_area(std::nullopt);
    auto* const dialog = opened.window.findChild<QFileDialog*>();
    REQUIRE(dialog != nullptr);
    dialog->selectFile(QString::fromStdString(path));
    QMetaObject::invokeMethod(dialog, "accept");
  });
  opened.window.files().export_area_dialog();
  opened.settle();
  CHECK(read_file(path).find("0F0") != std::string::npos);
}

}  // namespace
}  // namespace penstock
