#include <doctest/doctest.h>

#include <QMenu>
#include <QTextBrowser>

#include "tests/gui/views/opened.hpp"

// A step of memory is selected as an op, a gap and a transfer are.

namespace penstock {
namespace {

using testing::Opened;

struct WithMemory : Opened {
  WithMemory() { press(QKeySequence("N")); }
  const std::vector<HeldMemory>& held(std::uint32_t rank) {
    return canvas().first()->memory->ranks[rank].held;
  }
  /// The middle of the step that begins with an op.
  QPoint in_step(const char* name) {
    const TaskId task = op(name);
    const QRectF place = canvas().place_of_task(task);
    const std::uint32_t rank = rank_of_task(run().plan, task);
    return QPointF(place.left() + 3, canvas().place_of_memory(rank).center().y()).toPoint();
  }
  QTextBrowser& panel() { return *window.findChild<QTextBrowser*>(); }
};

TEST_CASE("memory steps: a click selects one; the panel has its bytes, its ends and their ops") {
  WithMemory opened;
  QTest::mouseClick(&opened.canvas(), Qt::LeftButton, {}, opened.in_step("3F2"));
  opened.settle();
  const HeldMemory* const step = opened.canvas().selected_memory();
  REQUIRE(step != nullptr);
  CHECK(step->begin == opened.run().timeline.begin[opened.op("3F2")]);
  CHECK(!opened.canvas().selected_gap());
  const QString text = opened.panel().toPlainText().trimmed();
  CHECK_MESSAGE(text.startsWith("rank 3 holds 256 MiB for "), text.toStdString());
  CHECK(text.contains("+248 MiB as 3F2 begins"));
  CHECK(text.contains(" as 3B2 ends"));
  CHECK(text.contains("peak of the rank"));
  const QString html = opened.panel().toHtml();
  for (const char* name : {"3F2", "3B2"}) {
    CHECK(html.contains(QString("\"op:0:%1\"").arg(opened.op(name))));
  }
  CHECK(opened.canvas().accessibleDescription().startsWith("rank 3 holds 256 MiB"));
  opened.panel().anchorClicked(QUrl(QString("op:0:%1").arg(opened.op("3B2"))));
  CHECK(opened.canvas().selected() == opened.op("3B2"));
  CHECK(opened.canvas().selected_memory() == nullptr);
}

TEST_CASE("memory steps: it is outlined in its lane, and F and a double click go to it") {
  WithMemory opened;
  const QImage before = opened.canvas().grab().toImage();
  const QPoint at = opened.in_step("3F2");
  QTest::mouseClick(&opened.canvas(), Qt::LeftButton, {}, at);
  QTest::mouseMove(&opened.canvas(), QPoint(2, 2));
  const QImage after = opened.canvas().grab().toImage();
  const QRectF lane = opened.canvas().place_of_memory(3);
  int changed = 0;
  for (int x = 0; x < after.width(); ++x) {
    changed += after.pixel(x, static_cast<int>(lane.center().y())) !=
                       before.pixel(x, static_cast<int>(lane.center().y()))
                   ? 1
                   : 0;
  }
  CHECK(changed >= 2);
  CHECK(changed <= 12);  // both sides of a frame
  const int other = static_cast<int>(opened.canvas().place_of_lane(1).center().y());
  CHECK(after.copy(0, other, after.width(), 1) == before.copy(0, other, after.width(), 1));
  const HeldMemory step = *opened.canvas().selected_memory();
  const auto fits = [&] {
    const TimeAxis& axis = opened.canvas().view().axis;
    const double wide = axis.x_of(step.end.picoseconds) - axis.x_of(step.begin.picoseconds);
    return wide / opened.canvas().lanes_width() > 0.8;
  };
  opened.press(QKeySequence("F"));
  CHECK(fits());
  opened.press(QKeySequence("Home"));
  CHECK(!fits());
  QTest::mouseDClick(&opened.canvas(), Qt::LeftButton, {}, at);
  CHECK(fits());
}

TEST_CASE("memory steps: keys reach one, go on from it, and lead to its ops") {
  WithMemory opened;
  opened.canvas().select(opened.op("3F2"), false);
  opened.press(QKeySequence("Shift+N"));
  const auto step = [&] { return opened.canvas().selected_memory(); };
  REQUIRE(step() != nullptr);
  const HeldMemory* const first = step();
  CHECK(first->begin == opened.run().timeline.begin[opened.op("3F2")]);
  opened.press(QKeySequence("."));
  CHECK(step() == first + 1);
  opened.press(QKeySequence(","));
  CHECK(step() == first);
  opened.press(QKeySequence("["));
  CHECK(opened.canvas().selected() == opened.op("3F2"));
  opened.press(QKeySequence("Shift+N"));
  opened.press(QKeySequence("]"));
  CHECK(opened.canvas().selected() == opened.op("3B2"));
  // Without an op, where the rank holds most.
  opened.press(QKeySequence("Esc"));
  QTest::mouseMove(&opened.canvas(), QPoint(2, 2));
  opened.press(QKeySequence("Shift+N"));
  REQUIRE(step() != nullptr);
  CHECK(step()->bytes == opened.run().report.ranks[0].memory.bytes);
  opened.press(QKeySequence("Esc"));
  opened.press(QKeySequence("N"));
  opened.press(QKeySequence("Shift+N"));
  CHECK(step() == nullptr);
  CHECK(opened.window.message() == "Memory is not shown: N shows it");
}

TEST_CASE("memory steps: its menu has what can be done with it; another run has other steps") {
  WithMemory opened;
  const QPoint at = opened.in_step("3F2");
  QContextMenuEvent event(QContextMenuEvent::Mouse, at, opened.canvas().mapToGlobal(at));
  QApplication::sendEvent(&opened.canvas(), &event);
  auto* menu = opened.window.findChild<QMenu*>("on the timeline");
  REQUIRE(menu != nullptr);
  for (const char* id : {"next_op", "cause", "effect", "fit_selection", "copy"}) {
    CHECK(menu->actions().contains(opened.window.action(id)));
  }
  CHECK(!menu->actions().contains(opened.window.action("op_later")));
  menu->close();
  REQUIRE(opened.canvas().selected_memory() != nullptr);
  opened.change({"/model/stages/0/forward_us=1700"});
  CHECK(!opened.canvas().area());
}

}  // namespace
}  // namespace penstock
