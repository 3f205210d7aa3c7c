#include <doctest/doctest.h>

#include <QDockWidget>
#include <QLineEdit>
#include <QSettings>

#include "gui/views/canvas/look.hpp"
#include "gui/views/window/window_memory.hpp"
#include "tests/gui/views/opened.hpp"

namespace penstock {
namespace {

using testing::Opened;

QDockWidget* dock_named(ViewerWindow& window, const QString& title) {
  return window.findChild<QDockWidget*>(title);
}

TEST_CASE("header: step time, bubble and peak memory, and against A their differences") {
  Opened opened;
  const FigureBar& bar = opened.window.panels().figures();
  CHECK(bar.accessibleDescription() == "step time 38.4 ms, bubble 37.5 %, peak memory 1 GiB");
  CHECK(bar.isVisible());
  opened.window.comparison().freeze_reference();
  opened.change({"/schedule/microbatches=16"});
  const QString text = bar.accessibleDescription();
  CHECK(text.startsWith("step time of B "));
  CHECK(text.contains(" ms (+"));
  CHECK(text.contains("points)"));
  CHECK(text.contains("GiB (+0.00 GiB)"));
  opened.window.runs().close();
  CHECK(bar.accessibleDescription().isEmpty());
}

TEST_CASE("header: a schedule without steps has a makespan, as in its report") {
  Opened opened;
  opened.change({"/schedule/name=pipedream"});
  CHECK(opened.window.panels().figures().accessibleDescription().startsWith("makespan "));
}

TEST_CASE("header: utilisation is a figure where the model and its devices are known") {
  const ViewedRunPtr run = viewed(read_scenario(
      std::string(PENSTOCK_ROOT) + "/experiments/scenarios/llama_8b_on_a_dgx_h100.json"));
  const auto figures = figures_of(*run, run.get());
  REQUIRE(run->mfu);
  CHECK(figures[3].name == "MFU");
  CHECK(figures[3].value.ends_with(" %"));
  CHECK(run->text.find(figures[3].value + " MFU") != std::string::npos);
  CHECK(figures[3].difference == "+0.0 points");
  CHECK(figures[0].difference == "0.0 %");
}

TEST_CASE("header: while a knob moves, what is not known of the run is that of the one before") {
  Opened opened;
  Chain chain;
  const ViewedRunPtr brief = viewed_after(chain, *opened.run().scenario);
  REQUIRE(brief->brief);
  FigureBar bar;
  bar.show_figures(figures_of(opened.run(), nullptr), false, {});
  bar.show_figures(figures_of(*brief, nullptr), true, {});
  CHECK(bar.accessibleDescription().contains("peak memory 1 GiB"));
  bar.show_figures(figures_of(*brief, nullptr), false, {});
  CHECK(!bar.accessibleDescription().contains("peak memory"));
}

TEST_CASE("header: a click on a figure opens the panel about it") {
  Opened opened;
  FigureBar& bar = opened.window.panels().figures();
  QTest::mouseClick(&bar, Qt::LeftButton, {}, QPoint(15, 10));
  CHECK(dock_named(opened.window, "Critical path")->isVisible());
  QTest::mouseClick(&bar, Qt::LeftButton, {}, QPoint(bar.width() - 40, 10));
  CHECK(dock_named(opened.window, "Memory")->isVisible());
  CHECK(!dock_named(opened.window, "Critical path")->isVisible());
}

/// The lanes' share of the window.
double share_of_lanes(Opened& opened) {
  const TimelineCanvas& canvas = opened.canvas();
  const double lanes = canvas.lanes_width() * (canvas.height() - TimelineCanvas::header);
  return lanes / (opened.window.width() * opened.window.height());
}

TEST_CASE("space: in small windows the lanes have at least 55 % of it") {
  for (const QSize size : {QSize(800, 600), QSize(960, 540)}) {
    CAPTURE(size.width());
    Opened opened(ThemeName::light, size);
    REQUIRE(opened.window.size() == size);
    CHECK(share_of_lanes(opened) >= 0.55);
    for (const QDockWidget* dock : opened.window.panels().strip().docks()) {
      CAPTURE(dock->objectName().toStdString());
      CHECK(opened.window.panels().strip().button_of(dock->objectName())->isVisible());
    }
  }
}

TEST_CASE("panels: a button of the strip opens one in the place of another, and folds it again") {
  Opened opened;
  const auto click = [&](const QString& title) {
    QTest::mouseClick(opened.window.panels().strip().button_of(title), Qt::LeftButton);
    opened.settle();
  };
  const auto shown = [&](const QString& title) {
    return dock_named(opened.window, title)->isVisible();
  };
  CHECK(shown("What if"));
  CHECK(!shown("Report"));
  click("Report");
  CHECK(shown("Report"));
  const int high = dock_named(opened.window, "Report")->height();
  click("Memory");
  CHECK(shown("Memory"));
  CHECK(!shown("Report"));
  CHECK(dock_named(opened.window, "Memory")->height() == high);
  click("Memory");
  CHECK(!shown("Memory"));
  CHECK(shown("What if"));
  opened.press(QKeySequence("Q"));
  CHECK(!shown("What if"));
  opened.press(QKeySequence("Q"));
  CHECK(shown("What if"));
  CHECK(shown("Legend"));
}

TEST_CASE("panels: what a hand has folded stays folded when the window grows") {
  Opened opened(ThemeName::light, {800, 600});
  CHECK(!dock_named(opened.window, "What if")->isVisible());
  opened.window.resize(1300, 800);
  opened.settle();
  CHECK(dock_named(opened.window, "What if")->isVisible());
  opened.press(QKeySequence("Q"));
  opened.window.resize(1400, 1100);
  opened.settle();
  CHECK(!dock_named(opened.window, "What if")->isVisible());
  CHECK(!dock_named(opened.window, "Report")->isVisible());
}

TEST_CASE("settings: theme, size, panels and marks are those of the last time") {
  QSettings().clear();
  {
    ViewerWindow window(ThemeName::dark);
    window.take_up();
    window.resize(1250, 777);
    window.show();
    window.files().open_files_now({testing::first_scenario});
    window.canvas()->set_marks({5'000'000'000, 9'000'000'000});
    window.panels().strip().open("Links");
    window.close();
  }
  CHECK(remembered_theme() == ThemeName::dark);
  ViewerWindow window(ThemeName::dark);
  window.take_up();
  window.show();
  window.files().open_files_now({testing::first_scenario});
  CHECK(window.size() == QSize(1250, 777));
  CHECK(!dock_named(window, "Links")->isHidden());
  CHECK(dock_named(window, "Report")->isHidden());
  CHECK(window.canvas()->marks() == std::vector<std::int64_t>{5'000'000'000, 9'000'000'000});
  // Without a word of it, nothing is taken up.
  Opened other;
  CHECK(other.canvas().marks().empty());
  QSettings().clear();
  apply_theme(ThemeName::light);
}

TEST_CASE("recent: a run of many traces is one entry, newest first") {
  QSettings().clear();
  remember_run({"one", {"/a/run.json"}});
  remember_run({"two", {"/b/rank0.json", "/b/rank1.json", "/b/rank2.json"}});
  remember_run({"one", {"/a/run.json"}});
  const std::vector<RecentRun> runs = recent_runs();
  REQUIRE(runs.size() == 2);
  CHECK(text_of(runs[0]) == "run.json – one");
  CHECK(text_of(runs[1]) == "rank0.json and 2 more – two");
  QSettings().clear();
  Opened opened;
  opened.open_later({testing::first_scenario});
  REQUIRE(opened.window.files().recent().actions().size() == 1);
  CHECK(opened.window.files().recent().actions().front()->text() ==
        "first_run.json – 1f1b, 4 ranks, 8 microbatches");
  opened.window.files().recent().actions().front()->trigger();
  opened.settle();
  CHECK(opened.window.count() == 3);
  QSettings().clear();
}

TEST_CASE("facts of ranks: layers of a model, stages where several share a rank, idle and memory") {
  const std::string folder = std::string(PENSTOCK_ROOT) + "/experiments/scenarios/";
  const ViewedRunPtr llama = viewed(read_scenario(folder + "llama_8b_on_a_dgx_h100.json"));
  const std::vector<RankSummary> of_llama = facts_of_ranks(*llama);
  REQUIRE(of_llama.size() == 4);
  CHECK(of_llama[1].holds == "layers 9–16");
  CHECK(of_llama[1].peak_bytes == llama->report.ranks[1].memory.bytes);
  CHECK(!of_llama[1].overflows);
  const ViewedRunPtr first = viewed(read_scenario(folder + "first_run.json"));
  CHECK(facts_of_ranks(*first)[2].holds.empty());
  CHECK(facts_of_ranks(*first)[2].idle == doctest::Approx(0.375));
  const ViewedRunPtr chimera =
      viewed(read_scenario(folder + "first_run.json", {"/schedule/name=chimera"}));
  CHECK(facts_of_ranks(*chimera)[1].holds == "stages 1, 6");
}

TEST_CASE("labels: an op is F12, with its stage only where its rank holds several") {
  const std::string file = std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json";
  const auto label = [&](const std::vector<std::string>& settings, const char* name) {
    const PaintedRunPtr run = painted(viewed(read_scenario(file, settings)), ColourBy::pass);
    const TaskId op = find_ops(read_query(name), *run->run).front();
    LabelText text;
    return std::string(label_of(op, *run, text));
  };
  CHECK(label({}, "2F5") == "F5");
  CHECK(label({}, "kind:SEND_B stage:3 mb:4") == "B4");
  CHECK(label({"/schedule/name=chimera"}, "6F5") == "6F5");
  CHECK(label({"/schedule/name=zb-h1"}, "1W3") == "W3");
}

TEST_CASE("transfers: one strip a rank, on demand another for what it receives, or none") {
  Opened opened;
  const auto strips = [&] { return opened.canvas().rows().size(); };
  CHECK(strips() == 8);
  opened.press(QKeySequence("Y"));
  CHECK(strips() == 12);
  opened.press(QKeySequence("Y"));
  CHECK(strips() == 4);
  opened.press(QKeySequence("Y"));
  CHECK(strips() == 8);
}

TEST_CASE("header: what does not fit the memory is in the colour of a warning, and not cut") {
  Opened opened;
  const QColor warning = qt_colour(theme(ThemeName::light).warning);
  const auto warned = [&](QWidget& widget, int width) {
    const QImage image = widget.grab().toImage().copy(0, 0, width, widget.height());
    int pixels = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) pixels += image.pixelColor(x, y) == warning ? 1 : 0;
    }
    return pixels;
  };
  FigureBar& bar = opened.window.panels().figures();
  for (const char* capacity : {"2GiB", "900MiB"}) {
    opened.change({std::string("/memory/capacity_bytes=") + capacity});
    const bool overflows = opened.run().report.ranks[0].memory.bytes > *opened.run().capacity_bytes;
    REQUIRE(overflows == (std::string_view(capacity) == "900MiB"));
    CHECK((warned(bar, bar.width()) > 0) == overflows);
    for (const double high : {0.3, 2.0, 1.5}) {
      opened.canvas().scale_lanes(high);
      opened.canvas().finish();
      CHECK((warned(opened.canvas(), TimelineCanvas::gutter) > 0) == overflows);
    }
  }
}

TEST_CASE("header: a search can be read in a narrow window, beside the figures of a comparison") {
  Opened opened(ThemeName::light, {800, 600});
  opened.window.comparison().freeze_reference();
  opened.settle();
  const QLineEdit& field = opened.window.steps().search_field();
  CHECK(field.isVisible());
  CHECK(field.width() >= 20 * field.fontMetrics().averageCharWidth());
}

}  // namespace
}  // namespace penstock
