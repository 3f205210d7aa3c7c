#include <doctest/doctest.h>

#include <QSlider>

#include "gui/models/change/moves.hpp"
#include "gui/views/output/run_output.hpp"
#include "tests/gui/views/opened.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using testing::file_with;
using testing::named;
using testing::Opened;

/// The shipped scenario, with a folder for other files.
struct OpenedBeside : Opened {
  /// The shipped run as a recording.
  QString recorded() {
    export_run(run(), folder.path("recorded.timeline"));
    return QString::fromStdString(folder.path("recorded.timeline"));
  }
  void set_microbatches(const char* number) {
    change({std::string("/schedule/microbatches=") + number});
  }
  /// Calls an action of the menu, since keys would go to the field that has the focus.
  void undo() {
    window.changes().undo(/*forward=*/false);
    settle();
  }
  std::uint32_t microbatches() { return run().layout->microbatches; }
  testing::Scratch folder;
};

TEST_CASE("scenario: a text in hand gives way to that of another tab, and to what undo brings") {
  OpenedBeside opened;
  const Time span = opened.run().span();
  opened.open({file_with(opened.folder, "zb.json", "/schedule/name=zb-h1")});
  QPlainTextEdit& editor = opened.window.changes().scenario_panel().editor();
  opened.window.panels().strip().open("Scenario");
  editor.setFocus();
  REQUIRE(editor.hasFocus());
  REQUIRE(editor.toPlainText().contains("zb-h1"));
  opened.window.findChild<QTabWidget*>()->setCurrentIndex(0);
  opened.settle();
  editor.setFocus();
  CHECK(!editor.toPlainText().contains("zb-h1"));
  QTest::keyClick(&editor, Qt::Key_Space);
  opened.window.changes().scenario_panel().check();
  opened.settle();
  CHECK(opened.run().span() == span);
  // What a hand writes stays as it wrote it.
  QString text = editor.toPlainText().replace("\"microbatches\": 8", "\"microbatches\":   6");
  editor.setPlainText(text);
  opened.window.changes().scenario_panel().check();
  opened.settle();
  CHECK(opened.microbatches() == 6);
  CHECK(editor.toPlainText() == text);
  editor.setPlainText(text.replace(":   6", ":   5"));  // and is not read before it is undone
  opened.undo();
  CHECK(opened.microbatches() == 8);
  CHECK(editor.toPlainText().contains("\"microbatches\": 8"));
  QTest::qWait(400);
  opened.settle();
  CHECK(opened.microbatches() == 8);
}

TEST_CASE("undo: A and B keep what was changed of each when they are swapped") {
  OpenedBeside opened;
  opened.set_microbatches("4");
  opened.compare_with({file_with(opened.folder, "b.json", "/model/stages/2/forward_us=1500")});
  opened.press(QKeySequence("X"));
  REQUIRE(opened.microbatches() == 8);
  opened.press(QKeySequence("Ctrl+Z"));
  CHECK(opened.window.message() == "Nothing was changed");
  CHECK(opened.microbatches() == 8);
  opened.set_microbatches("12");
  opened.press(QKeySequence("X"));
  CHECK(opened.microbatches() == 4);
  opened.press(QKeySequence("Ctrl+Z"));
  CHECK(opened.microbatches() == 8);
  opened.press(QKeySequence("Ctrl+Shift+Z"));
  CHECK(opened.microbatches() == 4);
}

TEST_CASE("undo: a recorded run comes back however large it is, for nothing simulates it") {
  OpenedBeside opened;
  opened.window.changes().most_bytes = 0;
  const QString recorded = opened.recorded();
  opened.set_microbatches("4");
  opened.compare_with({recorded});
  for (const char* keys : {"X", "Ctrl+Z", "Ctrl+Shift+Z", "X"}) opened.press(QKeySequence(keys));
  CHECK(opened.microbatches() == 4);
  opened.open({recorded});
  const ViewedRunPtr before = opened.window.now()->run;
  opened.press(QKeySequence("F5"));
  REQUIRE(opened.window.now()->run != before);
  opened.press(QKeySequence("Ctrl+Z"));
  CHECK(opened.window.now()->run == before);
  opened.press(QKeySequence("Ctrl+Shift+Z"));
  CHECK(opened.window.now()->run != before);
}

TEST_CASE("order: a change that drops a changed order says so, and undo brings it back") {
  OpenedBeside opened;
  const auto move = [&] {
    opened.canvas().select(opened.op("0F4"), false);
    opened.press(QKeySequence("Alt+Up"));
    REQUIRE(has_changed_order(opened.run()));
  };
  move();
  named<QSlider>(opened.window, "Link latency").setValue(700);
  REQUIRE(QTest::qWaitFor([&] { return !has_changed_order(opened.run()); }, 60000));
  opened.settle();
  CHECK(opened.window.message() == "The changed order was dropped; Ctrl+Z brings it back");
  opened.press(QKeySequence("Ctrl+Z"));
  CHECK(has_changed_order(opened.run()));
  opened.set_microbatches("4");
  CHECK(opened.window.message() == "The changed order was dropped; Ctrl+Z brings it back");
  opened.window.runs().say({});
  opened.set_microbatches("8");
  CHECK(!opened.window.message().contains("order"));
}

TEST_CASE("reload: all traces of a run are read again, and what was changed can be undone to") {
  OpenedBeside opened;
  const QString traces = QString(PENSTOCK_ROOT) + "/tests/torch/traces/2.15.0-zb-h1/";
  opened.open({traces + "rank0.json.gz", traces + "rank1.json.gz"});
  const std::string title = opened.run().title;
  REQUIRE(opened.run().plan.class_names.empty());
  opened.press(QKeySequence("Shift+I"));
  opened.press(QKeySequence("F5"));
  CHECK(opened.run().title == title);
  CHECK(opened.run().plan.class_names.empty());
  opened.window.findChild<QTabWidget*>()->setCurrentIndex(0);
  opened.set_microbatches("4");
  opened.press(QKeySequence("F5"));
  CHECK(opened.microbatches() == 8);
  opened.press(QKeySequence("Ctrl+Z"));
  CHECK(opened.microbatches() == 4);
}

TEST_CASE("what if: a value that is undone, or that a run does not have, is shown no more") {
  OpenedBeside opened;
  auto& recompute = named<QComboBox>(opened.window, "Recomputation");
  const QString before = recompute.currentText();
  recompute.setCurrentText("selective");
  recompute.textActivated("selective");
  opened.settle();
  opened.undo();
  CHECK(recompute.currentText() == before);
  auto& chunks = named<QSlider>(opened.window, "Chunks per rank");
  const int at = chunks.value();
  chunks.setValue(at + 300);
  opened.settle();
  opened.undo();
  CHECK(chunks.value() == at);
  auto& schedule = named<QComboBox>(opened.window, "Schedule");
  CHECK(schedule.currentText() == "1f1b");
  opened.open({opened.recorded()});
  CHECK(schedule.currentText().isEmpty());
}

}  // namespace
}  // namespace penstock
