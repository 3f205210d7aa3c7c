#include <doctest/doctest.h>

#include <QAbstractItemView>
#include <QAccessible>
#include <QHeaderView>
#include <QLabel>
#include <QStringListModel>
#include <QTreeWidget>

#include "tests/gui/views/opened.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using testing::named;
using testing::Opened;

/// The words that Ctrl+Space offers behind a piece of text.
QStringList offered_behind(Opened& opened, const QString& before) {
  ScenarioPanel& panel = opened.window.changes().scenario_panel();
  const QString text = panel.editor().toPlainText();
  QTextCursor cursor = panel.editor().textCursor();
  const auto at = text.indexOf(before);
  REQUIRE(at >= 0);
  cursor.setPosition(static_cast<int>(at + before.size()));
  panel.editor().setTextCursor(cursor);
  QTest::keyClick(&panel.editor(), Qt::Key_Space, Qt::ControlModifier);
  const auto* words = static_cast<QStringListModel*>(panel.completer().model());
  panel.completer().popup()->hide();
  return words->stringList();
}

TEST_CASE("scenario: Ctrl+Space offers the keys of the section around the cursor, and values") {
  Opened opened;
  opened.window.changes().scenario_panel().editor().setPlainText(
      R"({"penstock": 1, "model": {"stages": [{"forward_us": 1, }]},)"
      R"("hardware": {"name": "ideal", }, "schedule": {"name": "", "microbatches": 2}})");
  const QStringList hardware = offered_behind(opened, "\"ideal\", ");
  CHECK(hardware.contains("bandwidth_bytes_per_s"));
  CHECK(!hardware.contains("microbatches"));
  const QStringList stage = offered_behind(opened, "\"forward_us\": 1, ");
  CHECK(stage.contains("backward_us"));
  CHECK(!stage.contains("bandwidth_bytes_per_s"));
  const QStringList top = offered_behind(opened, "\"penstock\": 1, ");
  CHECK(top.contains("recompute"));
  const QStringList names = offered_behind(opened, "\"schedule\": {\"name\": \"");
  CHECK(names.contains("gpipe"));
}

TEST_CASE("scenario: the line that is written stays in sight when its fault is shown") {
  Opened opened;
  opened.window.findChild<QDockWidget*>("Scenario")->raise();
  opened.settle();
  QPlainTextEdit& editor = opened.window.changes().scenario_panel().editor();
  editor.moveCursor(QTextCursor::End);
  editor.insertPlainText("x");
  opened.window.changes().scenario_panel().check();
  opened.settle();
  REQUIRE(!opened.window.changes().scenario_panel().problem().isEmpty());
  CHECK(editor.viewport()->rect().contains(editor.cursorRect()));
}

TEST_CASE("lists: headings of numbers stand over them, and no column is wider than it needs") {
  Opened opened;
  int lists = 0;
  for (const char* panel : {"Idle time", "Critical path", "Memory", "Links", "Ops"}) {
    const QTreeWidget* const table = &opened.list(panel);
    REQUIRE(table->topLevelItemCount() > 0);
    ++lists;
    CAPTURE(table->accessibleName().toStdString());
    const QTreeWidgetItem& row = *table->topLevelItem(0);
    for (int c = 0; c < table->columnCount(); ++c) {
      const auto side = [c](const QTreeWidgetItem& item) {
        return (item.textAlignment(c) & Qt::AlignRight) != 0;
      };
      CHECK(side(row) == side(*table->headerItem()));
    }
    CHECK(!table->header()->stretchLastSection());
  }
  CHECK(lists >= 4);
}

TEST_CASE("screen readers: the canvas has a lane for each rank, and lanes have their ops") {
  Opened opened;
  QAccessibleInterface* const canvas = QAccessible::queryAccessibleInterface(&opened.canvas());
  REQUIRE(canvas != nullptr);
  REQUIRE(canvas->childCount() == 4);
  QAccessibleInterface* const lane = canvas->child(2);
  CHECK(lane->text(QAccessible::Name).startsWith("rank 2: 16 ops, "));
  CHECK(lane->parent() == canvas);
  CHECK(canvas->indexOfChild(lane) == 2);
  REQUIRE(lane->childCount() == 16);
  QAccessibleInterface* const op = lane->child(0);
  CHECK(op->text(QAccessible::Name).startsWith("2F0, rank 2: "));
  CHECK(op->parent() == lane);
  CHECK(lane->rect().contains(op->rect().center()));
  CHECK(canvas->childAt(op->rect().center().x(), op->rect().center().y()) == lane);
  CHECK(!op->state().selected);
  opened.canvas().select(opened.op("2F0"), false);
  CHECK(op->state().selected);
  CHECK(canvas->focusChild() == op);
  opened.canvas().zoom_at(100, 0.1);
  CHECK(lane->childCount() < 16);
}

TEST_CASE("screen readers: what was taken from a run that is gone says nothing and harms nothing") {
  Opened opened;
  QAccessibleInterface* const canvas = QAccessible::queryAccessibleInterface(&opened.canvas());
  QAccessibleInterface* const op = canvas->child(1)->child(15);
  const QString before = op->text(QAccessible::Name);
  CHECK(!before.isEmpty());
  opened.change({"/schedule/microbatches=1"});
  CHECK(!op->isValid());
  CHECK(op->text(QAccessible::Name).isEmpty());
  CHECK(canvas->child(1)->childCount() == 2);
}

TEST_CASE("what if: a word as the factor of a stage is refused, and the run stays") {
  Opened opened;
  const Time before = opened.run().span();
  auto& field = named<QLineEdit>(opened.window, "Cost of stage × ");
  const auto& problem = named<QLabel>(opened.window, "Why a change is not possible");
  const auto type = [&](const char* word) {
    field.setFocus();
    field.selectAll();
    QTest::keyClicks(&field, word);
    QTest::keyClick(&field, Qt::Key_Return);
    opened.settle();
  };
  type("twice");
  CHECK(problem.text() == "Cost of stage ×: \"twice\" is not a number, for example 1.5");
  CHECK(opened.run().span() == before);
  type("2");
  CHECK(problem.text().isEmpty());
  CHECK(opened.run().span() > before);
}

TEST_CASE("status line: a message is shown whole where nothing else needs the room") {
  Opened opened;
  opened.window.runs().say(
      "/model/stages: stages given by numbers have no layers to move; give \"layers\" or a model "
      "file");
  opened.settle();
  const auto& line = named<QLabel>(opened.window, "Message");
  CHECK(line.width() >= line.fontMetrics().horizontalAdvance(line.text()) + 4);
  opened.window.runs().say(QString(3000, 'x'));
  opened.settle();
  CHECK(opened.window.width() == 1200);
}

TEST_CASE("sweeps: rows are listed, and one that is activated opens as its scenario") {
  Opened opened;
  const testing::Scratch folder;
  const std::string file = folder.file(
      "s.jsonl", R"({"item":0,"of":2,"sweep":"1","hash":"2","version":"0.1.0","configuration":)"
                 R"({"/schedule/microbatches":4},"result":{"makespan_us":24375.4432}})"
                 "\n"
                 R"({"item":1,"of":2,"sweep":"1","hash":"3","version":"0.1.0","configuration":)"
                 R"({"/schedule/microbatches":6},"result":{"makespan_us":38400.70912}})"
                 "\n");
  opened.open_later({QString::fromStdString(file)});
  auto* const rows = &named<QTreeWidget>(opened.window, "Rows of a sweep");
  REQUIRE(rows->topLevelItemCount() == 2);
  CHECK(rows->isVisible());
  CHECK(rows->headerItem()->text(1) == "/schedule/microbatches");
  CHECK(rows->headerItem()->text(2) == "step time, ms");
  CHECK(rows->topLevelItem(0)->text(2) == "24.38");
  CHECK(rows->topLevelItem(0)->textAlignment(2) == (Qt::AlignRight | Qt::AlignVCenter));
  rows->sortByColumn(2, Qt::DescendingOrder);
  CHECK(rows->topLevelItem(0)->text(2) == "38.4");
  rows->sortByColumn(0, Qt::AscendingOrder);
  rows->setFocus();
  rows->setCurrentItem(rows->topLevelItem(1));
  QTest::keyClick(rows, Qt::Key_Return);
  opened.settle();
  CHECK(opened.window.count() == 2);
  CHECK(opened.run().layout->microbatches == 6);
  opened.window.runs().close();
  opened.window.runs().close();
  opened.window.files().open_files_later({QString::fromStdString(file)});
  rows->setFocus();
  rows->setCurrentItem(rows->topLevelItem(0));
  QTest::keyClick(rows, Qt::Key_Return);
  CHECK(opened.window.message().contains("Open the scenario"));
}

TEST_CASE("legend: a colour names a second stage or microbatch only if the run has it") {
  Opened opened;
  const auto& legend = named<QWidget>(opened.window, "Legend");
  opened.window.runs().colour_by(ColourBy::stage);
  opened.settle();
  CHECK(legend.accessibleDescription().startsWith("stage 0, stage 1, "));
  opened.change({"/schedule/microbatches=13"});
  opened.window.runs().colour_by(ColourBy::microbatch);
  opened.settle();
  CHECK(legend.accessibleDescription().startsWith("microbatch 0, 12, microbatch 1, "));
}

TEST_CASE("search: Enter in the empty field clears what was found, and no mark") {
  Opened opened;
  opened.canvas().set_marks({1'000'000});
  QLineEdit& field = opened.window.steps().search_field();
  for (const char* words : {"mb:3", ""}) {
    field.setText(words);
    QTest::keyClick(&field, Qt::Key_Return);
    opened.settle();
    CHECK(opened.canvas().bright().empty() == field.text().isEmpty());
  }
  CHECK(opened.canvas().marks().size() == 1);
  CHECK(opened.window.message().isEmpty());
}

}  // namespace
}  // namespace penstock
