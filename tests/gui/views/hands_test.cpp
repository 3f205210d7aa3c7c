#include <doctest/doctest.h>

#include <QClipboard>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QSlider>
#include <QTextBlock>
#include <QToolBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "experiments/input/scenario/document.hpp"
#include "gui/views/window/window_memory.hpp"
#include "tests/gui/views/opened.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using testing::Opened;

void turn_wheel(TimelineCanvas& canvas, QPointF at, int turn, Qt::KeyboardModifiers keys) {
  QWheelEvent event(at, canvas.mapToGlobal(at), {}, {0, turn}, Qt::NoButton, keys,
                    Qt::NoScrollPhase, false);
  QApplication::sendEvent(&canvas, &event);
}

void drop(Opened& opened, const QUrl& url) {
  QMimeData data;
  data.setUrls({url});
  QDragEnterEvent enter({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(&opened.window, &enter);
  CHECK(enter.isAccepted());
  QDropEvent event({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(&opened.window, &event);
  opened.settle();
}

TEST_CASE("drop: a file opens beside the others; what is no file or no run says so") {
  Opened opened;
  drop(opened, QUrl::fromLocalFile(testing::first_scenario));
  CHECK(opened.window.count() == 2);
  drop(opened, QUrl("https://example.com/run.json"));
  CHECK(opened.window.message() == "Only files of this machine open here");
  const testing::Scratch folder;
  drop(opened, QUrl::fromLocalFile(QString::fromStdString(folder.file("a.png", "\x89PNG\r\n"))));
  CHECK(opened.window.message().contains("a.png: unrecognised file; the viewer opens scenarios"));
  CHECK(opened.window.count() == 2);
}

TEST_CASE("hands: Ctrl+wheel zooms and keeps the time under the pointer") {
  Opened opened;
  TimelineCanvas& canvas = opened.canvas();
  const QPointF at(600, 200);
  const auto time = canvas.view().axis.time_at(at.x() - TimelineCanvas::gutter);
  const double before = canvas.view().axis.picoseconds_per_pixel;
  turn_wheel(canvas, at, 120, Qt::ControlModifier);
  CHECK(canvas.view().axis.picoseconds_per_pixel == doctest::Approx(before / 1.25));
  CHECK(std::llabs(canvas.view().axis.time_at(at.x() - TimelineCanvas::gutter) - time) <= 2);
}

TEST_CASE("hands: Shift+wheel pans, and the plain wheel scrolls where ranks do not fit") {
  Opened opened;
  TimelineCanvas& canvas = opened.canvas();
  const auto origin = canvas.view().axis.origin;
  turn_wheel(canvas, {600, 200}, -120, Qt::ShiftModifier);
  CHECK(canvas.view().axis.origin > origin);
  canvas.scale_lanes(20);
  turn_wheel(canvas, {600, 200}, -120, {});
  CHECK(canvas.view().top > 0);
  turn_wheel(canvas, {600, 200}, 1200, {});
  CHECK(canvas.view().top == 0);
}

TEST_CASE("hands: a click selects the op under the pointer, whichever it is") {
  Opened opened;
  TimelineCanvas& canvas = opened.canvas();
  const Plan& plan = opened.run().plan;
  for (TaskId task = 0; task < plan.tasks(); task += 3) {
    if (plan.is_link(plan.class_of(task).resource)) continue;
    QTest::mouseClick(&canvas, Qt::LeftButton, {}, opened.middle_of(task));
    CHECK(canvas.selected() == task);
  }
  CHECK(opened.window.status().contains("rank"));
}

TEST_CASE("hands: a drag selects an area whose both ends snap to ops; with Alt they do not") {
  Opened opened;
  TimelineCanvas& canvas = opened.canvas();
  const TaskId op = opened.op("0F1");
  const QRectF place = canvas.place_of_task(op);
  const int y = static_cast<int>(place.center().y());
  const QPoint from(static_cast<int>(place.left()) + 3, y);
  const QPoint to(static_cast<int>(place.right()) + 3, y);
  opened.drag(from, to);
  REQUIRE(canvas.area());
  CHECK(canvas.area()->begin == opened.run().timeline.begin[op].picoseconds);
  CHECK(canvas.area()->end == opened.run().timeline.end[op].picoseconds);
  CHECK(opened.window.status().contains("100.0 % busy"));
  canvas.set_area(std::nullopt);
  opened.drag(from, to, Qt::AltModifier);
  REQUIRE(canvas.area());
  CHECK(canvas.area()->begin != opened.run().timeline.begin[op].picoseconds);
}

TEST_CASE("hands: Shift+drag pans by as much as the hand moves") {
  Opened opened;
  TimelineCanvas& canvas = opened.canvas();
  canvas.zoom_at(500, 0.25);
  const TimeAxis before = canvas.view().axis;
  opened.drag({600, 300}, {500, 300}, Qt::ShiftModifier);
  CHECK(std::llabs(canvas.view().axis.origin - before.time_at(100)) <= 2);
}

TEST_CASE("hands: a double click fits the op; Z goes back") {
  Opened opened;
  TimelineCanvas& canvas = opened.canvas();
  const CanvasView before = canvas.view();
  const TaskId op = opened.op("2B4");
  QTest::mouseDClick(&canvas, Qt::LeftButton, {}, opened.middle_of(op));
  CHECK(canvas.place_of_task(op).width() > canvas.lanes_width() * 0.8);
  opened.press(QKeySequence("Z"));
  CHECK(canvas.view() == before);
}

TEST_CASE("hands: hovering says what is there: an op, a bubble with its cause") {
  Opened opened;
  CHECK(opened.canvas().text_at(opened.middle_of(opened.op("1F0"))).startsWith("1F0, rank 1"));
  const QRectF strip = opened.canvas().place_of_task(opened.op("3F0"));
  const QPointF before(TimelineCanvas::gutter + 5, strip.center().y());
  CHECK(opened.canvas().text_at(before).contains("warm-up"));
}

TEST_CASE("what if: the run follows the slider, with the view where it was; B stays as a ghost") {
  Opened opened;
  opened.window.comparison().freeze_reference();
  opened.canvas().zoom_at(300, 0.5);
  const CanvasView view = opened.canvas().view();
  const Time before = opened.run().span();
  auto& latency = testing::named<QSlider>(opened.window, "Link latency");
  for (int at = 300; at <= 700; at += 100) {
    latency.setValue(at);
    opened.settle();
  }
  CHECK(opened.run().span() > before);
  CHECK(opened.canvas().view() == view);
  CHECK(opened.window.now()->others.front()->span() == before);
  CHECK(opened.window.status().startsWith("B − A: time +"));
  CHECK(opened.canvas().others().size() == 1);
}

TEST_CASE("what if: fields show values with units, not cut off, and read them") {
  Opened opened;
  const Time before = opened.run().span();
  for (auto* field : opened.window.changes().what_if().findChildren<QLineEdit*>()) {
    if (field->accessibleName().isEmpty()) continue;  // inside a spin box
    CAPTURE(field->accessibleName().toStdString());
    const QFontMetrics metrics = field->fontMetrics();
    CHECK(metrics.horizontalAdvance(field->text()) + 8 <= field->width());
    CHECK(metrics.horizontalAdvance("123.456GB/s") + 8 <= field->width());
    CHECK(!field->text().contains("e+"));
    if (!field->accessibleName().startsWith("Link latency")) continue;
    field->selectAll();
    QTest::keyClicks(field, "5000us");
    QTest::keyClick(field, Qt::Key_Return);
    opened.settle();
    CHECK(field->text() == "5ms");
  }
  CHECK(opened.run().span() > before);
}

TEST_CASE("what if: a value that is not possible says so and leaves the run as it is") {
  Opened opened;
  const Time before = opened.run().span();
  auto& jitter = testing::named<QLineEdit>(opened.window, "Jitter ");
  jitter.selectAll();
  QTest::keyClicks(&jitter, "nonsense");
  QTest::keyClick(&jitter, Qt::Key_Return);
  opened.settle();
  CHECK(opened.run().span() == before);
  bool said = false;
  for (const auto* label : opened.window.changes().what_if().findChildren<QLabel*>()) {
    said = said || label->text().contains("/chance/jitter");
  }
  CHECK(said);
}

TEST_CASE("scenario: a fault is marked on its line; a good text changes the run") {
  Opened opened;
  ScenarioPanel& panel = opened.window.changes().scenario_panel();
  const QString text = panel.editor().toPlainText();
  panel.editor().setPlainText(QString(text).replace("\"1f1b\"", "\"1f1x\""));
  panel.check();
  opened.settle();
  CHECK(panel.problem().contains("1f1x"));
  REQUIRE(panel.editor().extraSelections().size() == 1);
  const QString line = panel.editor().extraSelections().front().cursor.block().text();
  CHECK(line.contains("1f1x"));
  const Time before = opened.run().span();
  panel.editor().setPlainText(QString(text).replace("\"1f1b\"", "\"gpipe\""));
  panel.check();
  opened.settle();
  CHECK(panel.problem().isEmpty());
  CHECK(opened.run().span() != before);
}

TEST_CASE("order: Alt+Up moves an op where that is legal, and says why where not") {
  Opened opened;
  opened.canvas().select(opened.op("0F7"), true);
  opened.press(QKeySequence("Alt+Up"));
  CHECK(opened.window.message() == "Moved one place earlier");
  CHECK(opened.run().title.find("changed") != std::string::npos);
  opened.canvas().select(opened.op("0F0"), true);
  opened.press(QKeySequence("Alt+Up"));
  CHECK(opened.window.message() == "Not moved: it is the first action of its rank");
}

TEST_CASE("opening: a bad file gives the message of the command line, and the window lives on") {
  Opened opened;
  const testing::Scratch folder;
  const std::string bad = folder.file("bad.json", "{\"penstock\": 1, \"model\": 3}");
  opened.open_later({QString::fromStdString(bad)});
  CHECK(opened.window.message().contains("bad.json: /model"));
  CHECK(opened.window.count() == 1);
  opened.open_later({testing::first_scenario});
  CHECK(opened.window.count() == 2);
  CHECK(opened.window.message().isEmpty());
}

TEST_CASE("opening: what went wrong stands in the window, with what helps as a button") {
  Opened opened;
  const testing::Scratch folder;
  auto* notice = opened.window.findChild<QToolBar*>("notice");
  auto* remedy = opened.window.findChild<QPushButton*>("remedy");
  REQUIRE(notice != nullptr);
  REQUIRE(remedy != nullptr);
  CHECK(!notice->isVisible());
  const auto open = [&](const std::string& path) {
    opened.open_later({QString::fromStdString(path)});
  };
  const auto press = [&] {
    QTest::mouseClick(remedy, Qt::LeftButton);
    opened.settle();
  };
  // A scenario that is mended meanwhile.
  const std::string path = folder.file("s.json", "{\"penstock\": 1, \"model\": 3}");
  open(path);
  REQUIRE(notice->isVisible());
  CHECK(remedy->text() == "Open again");
  CHECK(notice->findChild<QLabel*>("problem")->width() > 300);
  folder.file("s.json", testing::content_of(testing::first_scenario.toStdString()));
  press();
  CHECK(!notice->isVisible());
  CHECK(opened.window.count() == 2);
  // A file that is gone.
  std::filesystem::remove(path);
  const auto is_recent = [&] {
    const std::vector<RecentRun> runs = recent_runs();
    return std::any_of(runs.begin(), runs.end(), [&](const RecentRun& run) {
      return run.paths.contains(QString::fromStdString(path));
    });
  };
  CHECK(is_recent());
  open(path);
  CHECK(remedy->text() == "Forget the file");
  press();
  CHECK(!is_recent());
  // It is gone as soon as files open again.
  open(folder.path("none.json"));
  CHECK(notice->isVisible());
  open(testing::first_scenario.toStdString());
  CHECK(!notice->isVisible());
  // A report that only its maker reads.
  open(folder.file("r.nsys-rep", "NVIDIA"));
  CHECK(remedy->text() == "Copy the command");
  press();
  CHECK(QApplication::clipboard()->text().startsWith("nsys export --type sqlite '"));
  CHECK(!notice->isVisible());
}

TEST_CASE("opening: a window that closes meanwhile gets no result") {
  auto window = std::make_unique<ViewerWindow>(ThemeName::light);
  window->files().open_files_later({testing::first_scenario});
  REQUIRE(window->busy());
  int told = 0;
  window->runs().on_busy = [&] { ++told; };
  window.reset();
  CHECK(told == 0);
}

TEST_CASE("opening: closing the last run leaves an empty window that opens again") {
  Opened opened;
  opened.window.runs().close();
  opened.settle();
  CHECK(opened.window.now() == nullptr);
  opened.window.files().open_example();
  CHECK(opened.window.count() == 1);
}

}  // namespace
}  // namespace penstock
