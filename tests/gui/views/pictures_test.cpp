#include <doctest/doctest.h>

#include <QDialog>
#include <QFontDatabase>
#include <QPainter>
#include <QSvgRenderer>
#include <cmath>

#include "gui/views/canvas/look.hpp"
#include "gui/views/output/run_output.hpp"
#include "sim/base/error.hpp"
#include "tests/gui/views/allocations.hpp"
#include "tests/gui/views/opened.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using testing::Opened;

TEST_CASE("fonts: there is one, and its 0 and 8 differ") {
  CHECK(!QFontDatabase::families().isEmpty());
  const Glyphs glyphs = glyphs_of(QApplication::font(), 1);
  CHECK(glyphs.digits_height > 4);
  CHECK(glyphs.glyphs['0'].alpha != glyphs.glyphs['8'].alpha);
}

TEST_CASE("fonts: letters of names beyond ASCII are those of the font") {
  const Glyphs glyphs = glyphs_of(QApplication::font(), 1, U"\u00e9");
  CHECK(glyphs.of(U'\u00e9').width > 0);
  CHECK(glyphs.of(U'\u00e9').alpha != glyphs.of('i').alpha);
  CHECK(glyphs.of(U'\u00e9').alpha != glyphs.of('?').alpha);
}

TEST_CASE("themes: text is readable on fields and buttons, which stand out from the window") {
  for (std::size_t t = 0; t < theme_count; ++t) {
    const QPalette palette = palette_of(theme(static_cast<ThemeName>(t)));
    const auto colour = [&](QPalette::ColorRole role) {
      const QColor own = palette.color(role);
      return Colour{static_cast<std::uint8_t>(own.red()), static_cast<std::uint8_t>(own.green()),
                    static_cast<std::uint8_t>(own.blue())};
    };
    CHECK(contrast(colour(QPalette::Text), colour(QPalette::Base)) >= 4.5);
    CHECK(contrast(colour(QPalette::ButtonText), colour(QPalette::Button)) >= 4.5);
    // Fusion draws outlines darker than the window, which is nothing on black.
    if (colour(QPalette::Window) != Colour{0, 0, 0}) continue;
    CHECK(contrast(colour(QPalette::Base), colour(QPalette::Window)) >= 1.3);
    CHECK(contrast(colour(QPalette::Button), colour(QPalette::Window)) >= 3);
  }
}

TEST_CASE("pictures: an empty window of any size shows all that it says") {
  for (const QSize size : {QSize(640, 480), QSize(1200, 800)}) {
    ViewerWindow window(ThemeName::light);
    window.resize(size);
    window.show();
    QApplication::processEvents();
    const QImage empty = window.canvas()->grab().toImage();
    for (int y = 0; y < empty.height(); ++y) {
      CHECK(qGray(empty.pixel(2, y)) > 128);
      CHECK(qGray(empty.pixel(empty.width() - 3, y)) > 128);
    }
  }
}

TEST_CASE("pictures: at every size and theme each op has its colour where the timeline says") {
  for (const QSize size : {QSize(800, 600), QSize(1920, 1080), QSize(3840, 2160)}) {
    for (const ThemeName theme : {ThemeName::light, ThemeName::dark, ThemeName::contrast}) {
      CAPTURE(size.width());
      Opened opened(theme, size);
      const QImage image = opened.canvas().grab().toImage();
      const ViewedRun& run = opened.run();
      for (TaskId task = 0; task < run.plan.tasks(); ++task) {
        if (run.plan.is_link(run.plan.class_of(task).resource)) continue;
        const QRectF place = opened.canvas().place_of_task(task);
        const QPoint at(static_cast<int>(place.left() + 2), static_cast<int>(place.top() + 2));
        if (!image.rect().contains(at) || place.width() < 5) continue;
        CHECK(image.pixelColor(at) == qt_colour(opened.canvas().first()->colouring.colour(task)));
      }
    }
  }
}

/// CTest runs this once more at twice the scale.
TEST_CASE("pictures: at the scale of the screen, each op has its colour and edges are sharp") {
  Opened opened(ThemeName::light, {1000, 700});
  const double ratio = qEnvironmentVariable("QT_SCALE_FACTOR", "1").toDouble();
  REQUIRE(opened.canvas().devicePixelRatioF() == ratio);
  const QImage image = opened.canvas().grab().toImage();
  CHECK(image.width() == std::lround(opened.canvas().width() * ratio));
  const ViewedRun& run = opened.run();
  int seen = 0;
  for (TaskId task = 0; task < run.plan.tasks(); ++task) {
    if (run.plan.is_link(run.plan.class_of(task).resource)) continue;
    const QRectF place = opened.canvas().place_of_task(task);
    if (place.width() < 5) continue;
    const QColor colour = qt_colour(opened.canvas().first()->colouring.colour(task));
    const int x = static_cast<int>((place.left() + 1) * ratio) + 1;
    const int top = static_cast<int>(std::lround(place.top() * ratio));
    const int bottom = static_cast<int>(std::lround(place.bottom() * ratio));
    CHECK(image.pixelColor(x, top) == colour);
    CHECK(image.pixelColor(x, bottom - 1) == colour);
    CHECK(image.pixelColor(x, bottom) != colour);
    ++seen;
  }
  CHECK(seen > 50);
}

TEST_CASE("pictures: texts have at least 9 points and every control has a name") {
  Opened opened;
  for (const QWidget* widget : opened.window.findChildren<QWidget*>()) {
    if (!widget->isVisible()) continue;
    CHECK(widget->font().pointSizeF() >= 9);
    const bool is_control = qobject_cast<const QAbstractSlider*>(widget) != nullptr &&
                            widget->focusPolicy() & Qt::TabFocus;
    if (is_control || qobject_cast<const QTreeWidget*>(widget) != nullptr ||
        dynamic_cast<const TimelineCanvas*>(widget) != nullptr) {
      CHECK_MESSAGE(!widget->accessibleName().isEmpty(), widget->metaObject()->className());
    }
  }
  opened.canvas().select(opened.op("1F2"), true);
  CHECK(opened.canvas().accessibleDescription().startsWith("1F2, rank 1"));
}

TEST_CASE("pictures: an empty window says what to do, and a run of one op is drawn") {
  ViewerWindow window(ThemeName::light);
  window.resize(900, 600);
  window.show();
  QApplication::processEvents();
  const QImage empty = window.canvas()->grab().toImage();
  int inked = 0;
  for (int x = 0; x < empty.width(); ++x) {
    for (int y = 0; y < empty.height(); ++y) inked += qGray(empty.pixel(x, y)) < 128 ? 1 : 0;
  }
  CHECK(inked > 300);
  const testing::Scratch folder;
  const std::string one = folder.file("one.csv", "0F0\n");
  window.files().open_files_now({QString::fromStdString(one)});
  window.finish();
  CHECK(window.now()->run->plan.tasks() == 1);
  CHECK(window.canvas()->task_at(window.canvas()->place_of_task(0).center()) == 0);
}

TEST_CASE("pictures: a window has the size that was asked for, also a small one") {
  for (const QSize size : {QSize(320, 240), QSize(800, 600), QSize(1440, 900)}) {
    CAPTURE(size.width());
    Opened opened(ThemeName::light, size);
    CHECK(opened.window.size() == size);
    CHECK(opened.window.grab().size() == size);
  }
}

TEST_CASE("pictures: no message, however long, moves the lanes; F2 shows it whole") {
  Opened opened(ThemeName::light, {1000, 700});
  const auto place = [&] {
    return QRect(opened.canvas().mapTo(&opened.window, QPoint()), opened.canvas().size());
  };
  const QRect before = place();
  const QString text = QString("a fault in a file with a long name; ").repeated(12) + "\nthe end";
  opened.window.runs().say(text);
  opened.canvas().on_hover(text);
  opened.settle();
  CHECK(place() == before);
  opened.press(QKeySequence("F2"));
  auto* dialog = opened.window.findChild<QDialog*>("message");
  REQUIRE(dialog != nullptr);
  CHECK(dialog->findChild<QPlainTextEdit*>()->toPlainText().contains("the end"));
}

TEST_CASE("pictures: all formats of the view and of the whole run are written and hold something") {
  Opened opened;
  const testing::Scratch folder;
  for (const char* file : {"v.png", "v.svg", "v.pdf"}) {
    CAPTURE(file);
    export_view(opened.canvas(), folder.path(file));
    CHECK(testing::content_of(folder.path(file)).size() > 2000);
  }
  CHECK(QSvgRenderer(QString::fromStdString(folder.path("v.svg"))).isValid());
  for (const char* file : {"r.html", "r.svg", "r.png", "r.pdf", "r.json", "r.timeline"}) {
    CAPTURE(file);
    export_run(opened.run(), folder.path(file));
    CHECK(testing::content_of(folder.path(file)).size() > 2000);
  }
  const std::string csv = csv_of({0, 1'500'000'000, 0, 2}, *opened.canvas().first());
  CHECK(csv ==
        "rank,op,stage,pass,microbatch,begin_us,end_us\n0,0F0,0,F,0,0,1000\n"
        "0,0F1,0,F,1,1000,2000\n1,1F0,1,F,0,1337.54432,2337.54432\n");
  const std::string trace = folder.file(
      "rank0.json",
      R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm, wide",
          "ts": 10, "dur": 5, "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}]})");
  const PaintedRunPtr lanes = painted(open_files({trace}).front(), ColourBy::pass);
  CHECK(csv_of({0, lanes->lanes->span, 0, 1}, *lanes).find("\n0,\"gemm, wide\",,,,") !=
        std::string::npos);
  CHECK_THROWS(export_view(opened.canvas(), folder.path("v.bmp")));
  // Qt would warn on the terminal of a file that it cannot open.
  static QString warned;
  const auto before = qInstallMessageHandler(
      [](QtMsgType, const QMessageLogContext&, const QString& text) { warned += text; });
  for (const char* file : {"none/v.png", "none/v.svg", "none/v.pdf"}) {
    CHECK_THROWS_WITH_AS(export_view(opened.canvas(), folder.path(file)),
                         doctest::Contains("none/v."), UsageError);
  }
  qInstallMessageHandler(before);
  CHECK(warned.toStdString() == "");
}

TEST_CASE(
    "pictures: a vector picture has boxes and texts in place of pixels, and looks like them") {
  Opened opened;
  const testing::Scratch folder;
  opened.canvas().grab();
  for (const bool whole : {true, false}) {
    if (!whole) opened.canvas().zoom_at(500, 0.4);
    opened.settle();
    const QImage pixels = opened.canvas().grab().toImage();
    export_view(opened.canvas(), folder.path("v.svg"));
    const std::string svg = testing::content_of(folder.path("v.svg"));
    CHECK(svg.find("<image") == std::string::npos);
    CHECK(svg.find("B3</text>") != std::string::npos);
    QImage drawn(pixels.size(), QImage::Format_RGB32);
    drawn.fill(Qt::white);
    QPainter painter(&drawn);
    QSvgRenderer(QString::fromStdString(folder.path("v.svg"))).render(&painter);
    int apart = 0;
    for (int y = 0; y < drawn.height(); ++y) {
      for (int x = 0; x < drawn.width(); ++x) {
        apart += std::abs(qGray(drawn.pixel(x, y)) - qGray(pixels.pixel(x, y))) > 60 ? 1 : 0;
      }
    }
    // Letters and the edges of boxes stand a fraction of a pixel elsewhere.
    CHECK(apart < drawn.width() * drawn.height() / 40);
  }
}

TEST_CASE(
    "pictures: panning a large run shows a picture at once and the true one when it is there") {
  Opened opened;
  opened.change({"/schedule/microbatches=4000"});
  opened.canvas().fit();
  opened.settle();
  opened.canvas().zoom_at(500, 0.1);
  opened.settle();
  const QImage at_rest = opened.canvas().grab().toImage();
  opened.canvas().pan(0.3);
  QApplication::processEvents();
  opened.canvas().pan(-0.3);
  opened.settle();
  CHECK(opened.canvas().grab().toImage() == at_rest);
}

TEST_CASE("pictures: a frame allocates nothing, at any zoom") {
  const PaintedRunPtr run = painted(
      viewed(read_scenario(testing::first_scenario.toStdString(), {"/schedule/microbatches=2000"})),
      ColourBy::pass);
  const LaneChoice choice{.ranks = 4};
  const auto rows = lane_rows(choice, 40);
  const Glyphs glyphs = glyphs_of(QApplication::font(), 1);
  QImage image(1200, 400, QImage::Format_RGB32);
  const Pixels pixels{reinterpret_cast<std::uint32_t*>(image.bits()), 1200, 400, 1200};
  LaneScene scene;
  scene.runs = {run.get()};
  scene.rows = rows;
  scene.theme = &theme(ThemeName::light);
  scene.glyphs = &glyphs;
  scene.axis = axis_for(0, run->lanes->span, 1200);
  LanePainter painter;
  painter.draw(scene, pixels);
  for (double zoom = 1; zoom > 1e-5; zoom /= 4) {
    const auto shown = static_cast<std::int64_t>(static_cast<double>(run->lanes->span) * zoom);
    scene.axis = axis_for(run->lanes->span / 3, run->lanes->span / 3 + shown, 1200);
    const auto before = testing::allocations.load();
    painter.draw(scene, pixels);
    CHECK(testing::allocations.load() == before);
  }
}

}  // namespace
}  // namespace penstock
