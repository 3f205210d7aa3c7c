#include <doctest/doctest.h>

#include <QPlainTextEdit>
#include <string>

#include "experiments/input/files/table.hpp"
#include "gui/models/view/time_axis.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/output/run_output.hpp"
#include "tests/gui/views/opened.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using testing::Opened;

constexpr const char* slower = "/model/stages/2/forward_us=1500";

/// The shipped scenario, A, and a slower one, B, one above the other.
struct TwoRuns : Opened {
  explicit TwoRuns(const char* setting = slower) {
    compare_with({testing::file_with(folder, "b.json", setting)});
  }
  const ViewedRun& b() { return *canvas().others().front()->run; }
  TaskId op_of_b(const char* name) { return find_ops(read_query(name), b()).front(); }
  /// The middle of an op of B, which stands on a rank.
  QPointF in_b(TaskId task) {
    const std::uint32_t rank = b().plan.class_of(task).resource;
    const Timeline& timeline = b().timeline;
    const auto middle = (timeline.begin[task].picoseconds + timeline.end[task].picoseconds) / 2;
    const int height = static_cast<int>(canvas().place_of_lane(0).height());
    for (const LaneRow& row : lane_rows(canvas().choice(), height)) {
      if (row.run != 1 || row.rank != rank || row.kind != LaneKind::compute) continue;
      return {TimelineCanvas::gutter + canvas().view().axis.x_of(middle),
              TimelineCanvas::header + row.top - canvas().view().top + row.height / 2.0};
    }
    FAIL("B has no such strip");
    return {};
  }
  /// "3B5 of B, rank 3: 12.3 ms": how what is said of an op of B begins.
  QString begin_of(TaskId task) {
    return QString("%1 of B, rank %2: %3 to ")
        .arg(QString::fromStdString(task_text(b().plan, task)))
        .arg(b().plan.class_of(task).resource)
        .arg(qt_text(short_time(b().timeline.begin[task].picoseconds)));
  }

  testing::Scratch folder;
};

TEST_CASE("two runs: the pointer over B says what B does there") {
  TwoRuns two;
  for (const char* name : {"0F0", "1B3", "3B5", "2F7"}) {
    CAPTURE(name);
    const TaskId task = two.op_of_b(name);
    const QString said = two.canvas().text_at(two.in_b(task));
    CHECK_MESSAGE(said.startsWith(two.begin_of(task)), said.toStdString());
  }
  const TaskId first = two.op_of_b("3F0");
  QPointF idle = two.in_b(first);
  idle.setX(TimelineCanvas::gutter + 5);
  CHECK(two.canvas().text_at(idle).startsWith("rank 3 of B idle for "));
}

TEST_CASE("two runs: a click on an op of B selects it, and keys step on in B") {
  TwoRuns two;
  const TaskId task = two.op_of_b("2B4");
  QTest::mouseClick(&two.canvas(), Qt::LeftButton, {}, two.in_b(task).toPoint());
  CHECK(two.window.status().startsWith(two.begin_of(task)));
  const OpSteps steps{two.b(), *two.canvas().others().front()->lanes};
  const auto presses = [&](const char* keys, TaskId expected) {
    CAPTURE(keys);
    two.press(QKeySequence(keys));
    CHECK_MESSAGE(two.window.status().startsWith(two.begin_of(expected)),
                  two.window.status().toStdString());
  };
  TaskId at = steps.in_lane(task, true);
  presses(".", at);
  presses(",", task);
  at = steps.in_microbatch(task, true);
  presses("Shift+.", at);
  presses(
      "Down",
      steps.on_rank(
          3, (two.b().timeline.begin[at].picoseconds + two.b().timeline.end[at].picoseconds) / 2));
  two.press(QKeySequence("["));
  CHECK(two.window.status().contains(" of B, "));
}

TEST_CASE("two runs: what was found in B is forgotten once another run has its place") {
  TwoRuns two("/schedule/microbatches=40");
  two.point(two.in_b(two.op_of_b("2F5")));
  two.search("mb:39");
  two.settle();
  REQUIRE(two.window.now()->steps.found.run == 1);
  two.press(QKeySequence("Ctrl+D"));  // A, frozen, in the place of B
  two.settle();
  REQUIRE(two.b().plan.tasks() == two.run().plan.tasks());
  CHECK(two.window.now()->steps.found.empty());
  two.press(QKeySequence("F3"));
  CHECK(two.window.message() == "Search first: /");
}

TEST_CASE("two runs: the map of A has the axis of the lanes, and ends where A does") {
  TwoRuns two("/schedule/microbatches=40");
  const QImage image = two.canvas().grab().toImage();
  const QColor empty = qt_colour(two.canvas().colours().panel);
  const auto ends_at = [&](const ViewedRun& run) {
    return TimelineCanvas::gutter + two.canvas().lanes_width() *
                                        static_cast<double>(run.span().picoseconds) /
                                        static_cast<double>(two.b().span().picoseconds);
  };
  const int end = static_cast<int>(ends_at(two.run()));
  const int middle = TimelineCanvas::map_height / 2;
  REQUIRE(end < TimelineCanvas::gutter + 300);
  CHECK(image.pixelColor(end - 3, middle) != empty);
  CHECK(image.pixelColor(end + 5, middle) == empty);
  CHECK(image.pixelColor(static_cast<int>(ends_at(two.b())) - 40, middle) == empty);
}

TEST_CASE("two runs: search, bubbles and areas are those of the run under the pointer") {
  TwoRuns two;
  const TaskId task = two.op_of_b("2F5");
  two.point(two.in_b(task));
  two.search("2F5");
  CHECK(two.window.status().startsWith(two.begin_of(task)));
  two.press(QKeySequence("Esc"));
  two.point(two.in_b(task));
  two.press(QKeySequence("B"));
  const IdlePiece longest = longest_gaps(*two.canvas().others().front()->lanes, 1).front();
  CHECK(two.window.message().contains(QString("rank %1 of B, %2")
                                          .arg(longest.rank)
                                          .arg(qt_text(short_time(longest.end - longest.begin)))));
  two.press(QKeySequence("Esc"));
  two.canvas().fit();
  // A drag over an op of B measures that op.
  const QPoint middle = two.in_b(task).toPoint();
  two.drag(middle - QPoint(12, 0), middle + QPoint(12, 0));
  REQUIRE(two.canvas().area());
  CHECK(two.canvas().area()->begin == two.b().timeline.begin[task].picoseconds);
  CHECK(two.canvas().area()->end == two.b().timeline.end[task].picoseconds);
  CHECK(two.window.status().contains("1 op, 100.0 % busy"));
}

/// "+0.5 ms (+1.4 %)" of the line with the makespans in the panel of the comparison.
QString change_in_panel(ViewerWindow& window) {
  const QString text = testing::named<QPlainTextEdit>(window, "Comparison").toPlainText();
  const QString unit = text.section("times in ", 1).section(';', 0, 0);
  const QString makespan = text.section("makespan ", 1).section('\n', 0, 0).section(": ", 1);
  return makespan.section(' ', 0, 0) + " " + unit + " " + makespan.section(' ', 1);
}

/// The colours of a strip of differences: whether some are those of later ops, and of earlier ones.
std::pair<bool, bool> later_and_earlier(Opened& opened) {
  opened.canvas().finish();
  const QImage image = opened.canvas().grab().toImage();
  const int height = static_cast<int>(opened.canvas().place_of_lane(0).height());
  std::pair<bool, bool> seen;
  for (const LaneRow& row : lane_rows(opened.canvas().choice(), height)) {
    if (row.kind != LaneKind::difference) continue;
    for (int x = TimelineCanvas::gutter; x < image.width() - 2; ++x) {
      const QColor colour = image.pixelColor(x, TimelineCanvas::header + row.top + row.height / 2);
      seen.first = seen.first || colour.red() > colour.blue() + 40;
      seen.second = seen.second || colour.blue() > colour.red() + 40;
    }
  }
  return seen;
}

TEST_CASE(
    "two runs: status, panel and colours say the same of a slower B, and the same of A after X") {
  TwoRuns two;
  const QString change = change_in_panel(two.window);
  REQUIRE(change.startsWith("+"));
  CHECK_MESSAGE(two.window.status().startsWith("B − A: time " + change + ", bubble "),
                two.window.status().toStdString());
  CHECK(later_and_earlier(two) == std::pair(true, false));
  two.press(QKeySequence("X"));
  const QString back = change_in_panel(two.window);
  CHECK(back.startsWith("-"));
  CHECK(two.window.status().startsWith("B − A: time " + back));
  CHECK(later_and_earlier(two) == std::pair(false, true));
}

TEST_CASE("two runs: what became slower after Ctrl+D is later, with one sign in status and panel") {
  Opened opened;
  opened.press(QKeySequence("Ctrl+D"));
  CHECK(opened.window.message().startsWith("Frozen as A"));
  opened.change({slower});
  opened.press(QKeySequence("3"));
  const QString change = change_in_panel(opened.window);
  REQUIRE(change.startsWith("+"));
  CHECK(opened.window.status().startsWith("B − A: time " + change + ", bubble "));
  CHECK(later_and_earlier(opened) == std::pair(true, false));
  // The run that changes is B: 2 shows it alone.
  opened.press(QKeySequence("2"));
  CHECK(opened.canvas().place_of_task(opened.op("2F0")).height() > 0);
  opened.press(QKeySequence("1"));
  CHECK(opened.canvas().place_of_task(opened.op("2F0")).height() == 0);
  opened.press(QKeySequence("3"));
  opened.press(QKeySequence("X"));
  CHECK(opened.window.status().startsWith("B − A: time -"));
  CHECK(later_and_earlier(opened) == std::pair(false, true));
}

TEST_CASE("jumps: what stands in a run that is left out is shown with it") {
  TwoRuns two;
  two.press(QKeySequence("2"));
  REQUIRE(two.canvas().choice().style == PairStyle::only_other);
  two.press(QKeySequence("J"));
  const QRectF place = two.canvas().place_of_task(two.op("2F0"));
  CHECK(place.height() > 0);
  CHECK(QRectF(two.canvas().rect()).contains(place));
}

TEST_CASE("jumps: what is bright in a run goes with it, also where another takes its place") {
  Opened opened;
  const auto with = [&](const char* microbatches) {
    return viewed(changed(*opened.run().scenario, {microbatches}));
  };
  const ViewedRunPtr many = with("/schedule/microbatches=64");
  opened.window.runs().add(painted(with("/schedule/microbatches=2"), ColourBy::pass));
  opened.settle();
  opened.window.comparison().hold_against(*opened.window.now(), {many}, false, "");
  opened.settle();
  opened.canvas().set_bright({{many->plan.tasks() - 2, many->plan.tasks() - 1}, 1}, true);
  opened.window.comparison().stack_tabs();
  opened.settle();
  const ShownOps& bright = opened.canvas().bright();
  for (const TaskId task : bright.tasks) {
    CHECK(task < opened.canvas().run(bright.run).run->plan.tasks());
  }
  opened.canvas().grab();
}

TEST_CASE("two runs: facts and exports of B have its own times, though it is drawn scaled to A") {
  TwoRuns two("/hardware/bandwidth_bytes_per_s=1e9");
  for (int press = 0; press < 2; ++press) two.press(QKeySequence("L"));
  const ShownOp op{two.op_of_b("0F0"), 1};
  REQUIRE(two.b().timeline.end[op.task] < Time{1'000'000'000});
  two.canvas().select(op, true);
  CHECK(two.window.status().startsWith("0F0 of B, rank 0: 0 to 1 ms (1 ms)"));
  const auto why = [&](const ShownOp& of) {
    two.canvas().select(of, false);
    for (const Fact& each : two.canvas().facts_of_selection().all) {
      if (each.name == "why then") return each.text;
    }
    return std::string();
  };
  const std::string scaled = why({two.op_of_b("0B0"), 1});
  CHECK(scaled.find("waited ") != std::string::npos);
  const std::string csv = csv_of({0, 1'000'000, 0, 1, 1}, *two.canvas().others().front());
  CHECK(csv.ends_with("\n0,0F0,0,F,0,0,1000\n"));
  two.press(QKeySequence("L"));
  CHECK(two.window.message() == "One of the runs is one iteration; aligned by start");
  CHECK(two.window.now()->alignment == PairAlignment::start);
  CHECK(why({two.op_of_b("0B0"), 1}) == scaled);
}

}  // namespace
}  // namespace penstock
