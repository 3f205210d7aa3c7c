#include <doctest/doctest.h>

#include <QDockWidget>
#include <QLabel>
#include <QTextBrowser>

#include "sim/report/overview.hpp"
#include "tests/gui/views/opened.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using testing::Opened;

/// A window with a file of which only two blocks of tasks are read at once.
struct InParts : Opened {
  InParts() {
    whole = viewed(changed(*run().scenario, {"/schedule/microbatches=40000"}));
    const std::string path =
        folder.file("a.timeline", write_timeline(whole->plan, whole->timeline, "parts",
                                                 overview_of(whole->plan, whole->timeline)));
    window.runs().most_in_part = 150'000;
    window.runs().add(painted(
        viewed_part(std::make_shared<const LargeTimeline>(path), path, {}, {}), ColourBy::pass));
    settle();
  }
  /// The op in the middle of what is seen of a rank.
  ShownOp op_of_rank(std::uint32_t rank) {
    const QRectF lane = canvas().place_of_lane(rank);
    return canvas().task_at(lane.center());
  }

  testing::Scratch folder;
  ViewedRunPtr whole;
};

TEST_CASE("parts: zooming into a large file reads what is in sight, wherever that is") {
  InParts opened;
  CHECK(opened.run().plan.tasks() < opened.whole->plan.tasks() / 2);
  const std::int64_t span = opened.whole->span().picoseconds;
  CHECK(opened.run().span() == opened.whole->span());
  for (const double share : {0.0, 0.9, 0.3}) {
    const auto begin = static_cast<std::int64_t>(static_cast<double>(span) * share);
    opened.canvas().fit_stretch(begin, begin + 200'000'000'000);
    opened.settle();
    CHECK(opened.run().plan.tasks() < opened.whole->plan.tasks() / 2);
    ShownOp op;
    for (std::uint32_t rank = 0; rank < 4 && op.is_none(); ++rank) op = opened.op_of_rank(rank);
    REQUIRE(!op.is_none());
    const auto there = static_cast<TaskId>(opened.run().first_task + op.task);
    CHECK(opened.run().timeline.begin[op.task] == opened.whole->timeline.begin[there]);
    CHECK(task_text(opened.run().plan, op.task) == task_text(opened.whole->plan, there));
  }
  opened.press(QKeySequence("."));
  const ShownOp selected = opened.canvas().selected();
  REQUIRE(!selected.is_none());
  const auto number = opened.run().first_task + selected.task;
  for (int step = 0; step < 12; ++step) opened.press(QKeySequence("A"));
  for (int step = 0; step < 12; ++step) opened.press(QKeySequence("D"));
  if (!opened.canvas().selected().is_none()) {
    CHECK(opened.run().first_task + opened.canvas().selected().task == number);
  }
}

TEST_CASE("parts: what needs the whole run says so and changes nothing") {
  InParts opened;
  for (const char* keys :
       {"Ctrl+2", "Ctrl+3", "Ctrl+4", "Ctrl+D", "Ctrl+Shift+T", "N", "U", "Shift+C"}) {
    CAPTURE(keys);
    opened.window.runs().say("");
    opened.press(QKeySequence(keys));
    CHECK(opened.window.message().contains("read in parts"));
    CHECK(opened.canvas().first()->by == ColourBy::pass);
    CHECK(opened.canvas().others().empty());
  }
  opened.press(QKeySequence("C"));
  CHECK(opened.window.message().contains("not known"));
  QDockWidget& path = *opened.window.findChild<QDockWidget*>("Critical path");
  opened.list("Critical path");
  CHECK(path.findChild<QLabel*>()->text() == "Not known of a run that is read in parts");
  opened.window.runs().say("");
  opened.press(QKeySequence("Ctrl+Alt+E"));
  CHECK(opened.window.message().contains("too large"));
}

TEST_CASE("parts: an area that is not read says so, and is counted once F has zoomed to it") {
  InParts opened;
  const std::int64_t span = opened.whole->span().picoseconds;
  auto& panel = *opened.window.findChild<QTextBrowser*>();
  auto* const table = opened.window.findChild<QDockWidget*>("Selection")->findChild<QTreeWidget*>();
  const std::int64_t begin = span / 10 * 9;
  opened.canvas().set_area(Area{begin, begin + 100'000'000'000, 0, 4});
  opened.settle();
  CHECK(panel.toPlainText().contains("not counted"));
  CHECK(table->isHidden());
  opened.press(QKeySequence("F"));
  CHECK(!panel.toPlainText().contains("not counted"));
  CHECK(!table->isHidden());
}

}  // namespace
}  // namespace penstock
