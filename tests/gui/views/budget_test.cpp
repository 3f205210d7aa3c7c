#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QThreadPool>
#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "gui/views/canvas/look.hpp"
#include "tests/gui/views/opened.hpp"
#include "tests/support/finished_run.hpp"

// What the interface's thread does at a stretch, with a million ops and with ten.

namespace penstock {
namespace {

using testing::Opened;

// An action takes at most 50 ms of it; a slow machine takes twice as long. Who waits for another
// thread takes no processor time: that is seen in the other figure, which others on the machine
// lengthen.
constexpr double most_cpu_ms = 100;
constexpr double most_wall_ms = 1500;

double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

/// A window in which nothing waits longer than in the program.
struct LargeRun {
  explicit LargeRun(std::int64_t microbatches)
      : patience(std::exchange(Background::patience_ms, 12)), window(ThemeName::light) {
    window.resize(1920, 1080);
    window.show();
    run = painted(viewed(testing::on_64_ranks(microbatches)), ColourBy::pass);
  }
  ~LargeRun() { Background::patience_ms = patience; }

  /// Does something, and all that follows from it; what took longest at a stretch.
  void hold(const std::string& what, const std::function<void()>& act) {
    cpu = wall = 0;
    take(act);
    for (int quiet = 0; quiet < 4; ++quiet) {
      take([] { QApplication::processEvents(); });
      const bool works = window.busy() || QThreadPool::globalInstance()->activeThreadCount() > 0;
      if (works) quiet = 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(works ? 10 : 1));
    }
    take([&] { window.grab(); });
    CAPTURE(what);
    CHECK(cpu <= most_cpu_ms);
    CHECK(wall <= most_wall_ms);
    if (std::getenv("PENSTOCK_BUDGET") != nullptr) {
      fmt::print("{:<20} {:6.1f} ms of processor time, {:7.1f} ms in all\n", what, cpu, wall);
    }
  }
  void hold(std::initializer_list<const char*> actions) {
    for (const char* id : actions) {
      hold(id, [&] { window.action(id)->trigger(); });
    }
  }

  int patience;
  ViewerWindow window;
  PaintedRunPtr run;
  double cpu = 0, wall = 0;

 private:
  void take(const std::function<void()>& part) {
    QElapsedTimer clock;
    clock.start();
    const double before = cpu_ms();
    part();
    cpu = std::max(cpu, cpu_ms() - before);
    wall = std::max(wall, static_cast<double>(clock.nsecsElapsed()) / 1e6);
  }
};

void hold_all(LargeRun& large) {
  ViewerWindow& window = large.window;
  large.hold("open", [&] { window.runs().add(large.run); });
  large.hold({"by_microbatch", "by_stage", "by_cause", "by_pass", "zoom_in", "zoom_in_fast",
              "pan_right", "fit", "path", "pan_right", "zoom_in", "fit", "path"});
  large.hold({"next_op", "cause", "effect", "next_microbatch", "rank_down", "follow", "fit",
              "clear", "next_idle", "previous_idle", "fit"});
  for (const char* query : {"stage:3 kind:B", "kind:F"}) {
    large.hold(query, [&] {
      window.steps().search_field().setText(query);
      window.steps().run_search();
    });
    large.hold({"next_found", "fit", "clear"});
  }
  large.hold({"slack", "fit", "slack", "memory", "memory", "links", "links", "transfers",
              "transfers", "theme", "area", "mark", "clear", "docks", "docks"});
  large.hold("area of all", [&] {
    window.canvas()->set_area(Area{0, large.run->lanes->span, 0, 64, 0});
  });
  large.hold("hover", [&] { QTest::mouseMove(window.canvas(), QPoint(700, 400)); });
  large.hold("knob", [&] {
    window.changes().what_if().turn("/hardware/latency_us", "9");
    window.changes().turn_knobs();
  });
  large.hold("rest", [&] { window.changes().hands_rest(); });
  large.hold({"undo", "redo"});
  large.hold("select", [&] { window.canvas()->select(TaskId{1000}, true); });
  large.hold({"heat", "heat", "sort_ranks", "sort_ranks", "fold_replicas", "by_number", "pin",
              "pin", "fit_selection", "taller", "lower", "fit"});
  for (const char* panel : {"Idle time", "Critical path", "Memory", "Links", "Ops"}) {
    large.hold(panel, [&] { window.panels().strip().open(panel); });
  }
  large.hold({"docks"});
  large.hold({"op_later", "undo", "freeze", "style", "difference", "drop"});
}

TEST_SUITE("clock") {
  TEST_CASE("budget: no action holds up the window with a million ops") {
    LargeRun large(1000'000 / 254);
    hold_all(large);
    large.hold({"freeze", "swap", "align", "align", "align", "only_b", "both", "drop", "close"});
  }
}

TEST_SUITE("exhaustive") {
  TEST_CASE("budget: no action holds up the window with ten million ops") {
    LargeRun large(10'000'000 / 254);
    hold_all(large);
    large.hold({"close"});
  }
}

TEST_CASE("budget: undoing keeps scenarios, and runs only while there is room for them") {
  Opened opened;
  const Time first = opened.run().span();
  opened.change({"/schedule/microbatches=30000"});
  for (int step = 1; step < 20; ++step)
    opened.change({fmt::format("/hardware/latency_us={}", 5 + step)});
  std::size_t bytes = 0;
  std::size_t kept = 0;
  for (const RunBefore& before : opened.window.now()->changes.past) {
    if (before.run == nullptr) continue;
    bytes += bytes_of(*before.run);
    ++kept;
  }
  CHECK(opened.window.now()->changes.past.size() == 20);
  CHECK(bytes <= std::size_t{128} << 20);
  CHECK(kept > 2);
  CHECK(kept < 20);
  for (int step = 0; step < 20; ++step) opened.press(QKeySequence("Ctrl+Z"));
  CHECK(opened.run().span() == first);
  CHECK(opened.run().plan.microbatches == 8);
}

/// What the program holds in memory, in MB; 0 where that is not known, or is that of a sanitizer.
double resident_mb() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#endif
  std::ifstream pages("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  pages >> all >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

TEST_CASE("budget: twenty changes of a million ops, and their undoing, leave little in memory") {
  Opened opened;
  opened.change({"/schedule/microbatches=71000"});
  CHECK(opened.run().plan.tasks() > 990'000);
  const double before = resident_mb();
  for (int step = 0; step < 20; ++step)
    opened.change({fmt::format("/hardware/latency_us={}", 6 + step)});
  const double changed_mb = resident_mb();
  for (int step = 0; step < 20; ++step) opened.press(QKeySequence("Ctrl+Z"));
  const double after = resident_mb();
  // The runs that are kept, the one that is shown, and what the allocator keeps of those dropped.
  CHECK(std::max(changed_mb, after) - before <= 600);
  if (std::getenv("PENSTOCK_BUDGET") != nullptr) {
    fmt::print("resident: {:.0f} MB, after 20 changes {:.0f}, after 20 undos {:.0f}\n", before,
               changed_mb, after);
  }
}

TEST_CASE("budget: while a large run changes, a sign says so and the old numbers are pale") {
  LargeRun large(10'000);
  ViewerWindow& window = large.window;
  window.runs().add(large.run);
  window.finish();
  const auto& sign = testing::named<QProgressBar>(window, "Working");
  const auto& report = testing::named<QPlainTextEdit>(window, "Report");
  const QColor ink = report.palette().color(QPalette::Text);
  CHECK(!sign.isVisible());
  window.changes().set_scenario(changed(*window.now()->run->scenario, {"/hardware/latency_us=9"}));
  REQUIRE(window.busy());
  CHECK(report.palette().color(QPalette::Text) != ink);
  CHECK(QTest::qWaitFor([&] { return sign.isVisible() || !window.busy(); }, 60000));
  CHECK(sign.isVisible());
  window.finish();
  CHECK(!sign.isVisible());
  CHECK(report.palette().color(QPalette::Text) == ink);
}

}  // namespace
}  // namespace penstock
