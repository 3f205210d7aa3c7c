#include "tests/gui/views/monkey/steps.hpp"

#include <QAccessible>
#include <QApplication>
#include <QComboBox>
#include <QDialog>
#include <QDropEvent>
#include <QMimeData>
#include <QSlider>
#include <QtTest/QTest>
#include <array>

#include "experiments/input/scenario/document.hpp"
#include "gui/views/output/run_output.hpp"
#include "sim/base/error.hpp"
#include "tests/gui/views/monkey/hands.hpp"
#include "tests/gui/views/monkey/journal.hpp"

namespace penstock::monkey {
namespace {

/// Those that a person can reach.
template <class Widget>
QList<Widget*> visible(Monkey& monkey) {
  QList<Widget*> all;
  for (Widget* const widget : monkey.window->findChildren<Widget*>()) {
    if (widget->isVisible() && widget->isEnabled()) all << widget;
  }
  return all;
}

QStringList some_files(Monkey& monkey) {
  QStringList paths;
  for (int count = monkey.draw.one_in(4) ? monkey.draw.between(2, 3) : 1; count > 0; --count) {
    paths << monkey.draw.of(monkey.files);
    add_to_step(paths.back().section('/', -1).toStdString());
  }
  return paths;
}

void open_later(Monkey& monkey) { monkey.window->files().open_files_later(some_files(monkey)); }

void drop_files(Monkey& monkey) {
  QMimeData data;
  QList<QUrl> urls;
  for (const QString& path : some_files(monkey)) urls << QUrl::fromLocalFile(path);
  if (monkey.draw.one_in(5)) urls << QUrl("https://example.com/run.json");
  data.setUrls(urls);
  QDragEnterEvent enter({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(monkey.window.get(), &enter);
  if (!enter.isAccepted()) fail("the window does not take a file that is dragged over it");
  QDropEvent drop({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(monkey.window.get(), &drop);
}

void cancel_opening(Monkey& monkey) {
  for (QPushButton* const button : visible<QPushButton>(monkey)) {
    if (button->text() == "Cancel") QTest::mouseClick(button, Qt::LeftButton);
  }
}

void close_tab(Monkey& monkey) {
  if (monkey.window->count() > 0) monkey.window->action("close")->trigger();
}

void compare_files(Monkey& monkey) {
  if (monkey.window->now() == nullptr) return;
  monkey.window->files().compare_with(some_files(monkey));
}

void resize(Monkey& monkey) {
  const QSize size(monkey.draw.between(100, 2200), monkey.draw.between(100, 1300));
  add_to_step(std::to_string(size.width()) + "x" + std::to_string(size.height()));
  monkey.window->resize(size);
}

void turn_slider(Monkey& monkey) {
  QList<QSlider*> all = visible<QSlider>(monkey);
  if (all.isEmpty()) return;
  QSlider* const slider = monkey.draw.of(all);
  add_to_step(words_of(slider));
  for (int turns = monkey.draw.between(1, 4); turns > 0; --turns) {
    const int to = monkey.draw.between(slider->minimum(), slider->maximum());
    add_to_step(std::to_string(to));
    slider->setValue(to);
    if (monkey.draw.one_in(3)) QApplication::processEvents();
  }
}

void choose(Monkey& monkey) {
  QList<QComboBox*> all = visible<QComboBox>(monkey);
  if (all.isEmpty()) return;
  QComboBox* const box = monkey.draw.of(all);
  box->setCurrentIndex(monkey.draw.between(0, box->count() - 1));
  add_to_step(words_of(box) + " " + box->currentText().toStdString());
  box->textActivated(box->currentText());
}

constexpr std::array<const char*, 28> words{"0",       "1",
                                            "2",       "3.5",
                                            "64",      "200",
                                            "-1",      "1e400",
                                            "nan",     "inf",
                                            "abc",     "",
                                            " ",       "10GB/s",
                                            "2us",     "5 parsecs",
                                            "16",      "kind:F",
                                            "stage:1", "mb:0",
                                            "dur>1",   "stage:3 kind:B",
                                            "dur>2ms", "kind:",
                                            "mb:x",    "99999999999",
                                            "0x10",    "µs µ"};

void fill_field(Monkey& monkey) {
  QList<QLineEdit*> all = visible<QLineEdit>(monkey);
  if (all.isEmpty()) return;
  QLineEdit* const field = monkey.draw.of(all);
  const char* const word = monkey.draw.of(words);
  add_to_step(words_of(field) + " \"" + word + "\"");
  field->setFocus();
  field->selectAll();
  QTest::keyClicks(field, QString::fromUtf8(word));
  if (!monkey.draw.one_in(4)) QTest::keyClick(field, Qt::Key_Return);
}

QPlainTextEdit* editor_of(Monkey& monkey) {
  for (auto* const text : monkey.window->findChildren<QPlainTextEdit*>()) {
    if (text->accessibleName() == "Text of the scenario") return text;
  }
  return nullptr;
}

constexpr std::array<const char*, 16> pieces{"\"",   "{",  "}",     "[",    "]", ",",
                                             ":",    "\n", "  ",    "null", "é", "\\u12",
                                             "true", "//", "\"x\"", "-"};
constexpr std::array<const char*, 9> numbers{"0", "1", "2", "3", "16", "-1", "1e3", "1e400", "0.5"};

/// Takes something out, puts something in, or gives a number another value.
void edit_scenario(Monkey& monkey) {
  QPlainTextEdit* const editor = editor_of(monkey);
  if (!editor->isVisible() || editor->isReadOnly()) return;
  if (monkey.draw.one_in(2)) editor->setFocus();
  QTextCursor cursor = editor->textCursor();
  const int length = editor->document()->characterCount();
  cursor.setPosition(monkey.draw.between(0, length - 1));
  if (monkey.draw.one_in(2)) {
    const QTextCursor number = editor->document()->find(QRegularExpression("[0-9]+"), cursor);
    if (number.isNull()) return;
    cursor = number;
    cursor.insertText(monkey.draw.of(numbers));
  } else if (monkey.draw.one_in(2)) {
    cursor.insertText(QString::fromUtf8(monkey.draw.of(pieces)));
  } else {
    const int count = monkey.draw.between(1, 30);
    cursor.movePosition(QTextCursor::Right, QTextCursor::KeepAnchor, count);
    cursor.removeSelectedText();
  }
  add_to_step("now " +
              editor->toPlainText().mid(cursor.position() - 30, 50).simplified().toStdString());
  editor->setTextCursor(cursor);
  if (monkey.draw.one_in(4)) QTest::keyClick(editor, Qt::Key_Space, Qt::ControlModifier);
  if (monkey.draw.one_in(3)) QTest::qWait(270);  // until it is read
}

void undo_text(Monkey& monkey) {
  for (int count = monkey.draw.between(1, 6); count > 0; --count) editor_of(monkey)->undo();
}

void screenshot(Monkey& monkey) {
  const QPointer<QWidget> widget = monkey.draw.one_in(2) ? any_widget(monkey) : monkey.window.get();
  add_to_step(words_of(widget));
  if (widget->grab().isNull()) fail("a picture without a pixel");
}

void export_something(Monkey& monkey) {
  if (!monkey.is_small()) return;
  const bool whole = monkey.draw.one_in(2);
  const QStringList kinds =
      whole ? QStringList{".svg", ".png", ".pdf", ".json", ".json.gz", ".timeline", ".nonsense", ""}
            : QStringList{".png", ".svg", ".pdf", ".gif", ""};
  const std::string path = monkey.written_file(kinds).toStdString();
  add_to_step((whole ? "whole " : "view ") + path);
  try {
    whole ? export_run(*monkey.window->now()->run, path)
          : export_view(*monkey.window->canvas(), path);
  } catch (const UsageError&) {  // no such folder, or no such kind
  } catch (const InputError&) {
  }
}

void use_docks(Monkey& monkey) {
  QList<QDockWidget*> docks = monkey.window->findChildren<QDockWidget*>();
  QDockWidget* const dock = monkey.draw.of(docks);
  add_to_step(dock->windowTitle().toStdString());
  switch (monkey.draw.below(4)) {
    case 0:
      return dock->setFloating(!dock->isFloating());
    case 1:
      return dock->toggleViewAction()->trigger();
    case 2:
      return monkey.window->addDockWidget(
          monkey.draw.one_in(2) ? Qt::LeftDockWidgetArea : Qt::BottomDockWidgetArea, dock);
    default:
      dock->show();
      return dock->raise();
  }
}

void close_dialogs(Monkey& monkey) {
  for (QDialog* const dialog : visible<QDialog>(monkey)) dialog->close();
}

void read_aloud(QAccessibleInterface* from, int depth, int& left) {
  if (from == nullptr || !from->isValid() || depth == 0 || --left < 0) return;
  from->text(QAccessible::Name);
  from->text(QAccessible::Description);
  from->rect();
  from->state();
  for (int child = 0; child < from->childCount() && left > 0; ++child) {
    read_aloud(from->child(child), depth - 1, left);
  }
}

/// As a screen reader would.
void read_all(Monkey& monkey) {
  int left = 400;
  read_aloud(QAccessible::queryAccessibleInterface(any_widget(monkey)), 4, left);
}

void wait(Monkey& monkey) { QTest::qWait(monkey.draw.between(1, 40)); }

void finish(Monkey& monkey) { monkey.window->finish(); }

/// Another window, while the last one may still be reading.
void start_again(Monkey& monkey) {
  if (!monkey.draw.one_in(6)) return;
  const auto theme = static_cast<ThemeName>(monkey.draw.below(theme_count));
  monkey.window = std::make_unique<ViewerWindow>(theme);
  monkey.window->show();
  if (monkey.draw.one_in(2)) monkey.window->files().open_example();
}

constexpr std::array table{Step{"key of the table", 30, press_key_of_table},
                           Step{"key", 10, press_other_key},
                           Step{"click", 14, click},
                           Step{"drag", 12, drag},
                           Step{"wheel", 8, turn_wheel},
                           Step{"hover", 8, hover},
                           Step{"menu", 2, ask_for_menu},
                           Step{"pinch", 2, pinch},
                           Step{"open", 5, open_later},
                           Step{"drop", 3, drop_files},
                           Step{"cancel", 1, cancel_opening},
                           Step{"close", 2, close_tab},
                           Step{"compare", 2, compare_files},
                           Step{"resize", 2, resize},
                           Step{"slider", 8, turn_slider},
                           Step{"choice", 3, choose},
                           Step{"field", 6, fill_field},
                           Step{"editor", 8, edit_scenario},
                           Step{"undo of text", 1, undo_text},
                           Step{"screenshot", 2, screenshot},
                           Step{"export", 1, export_something},
                           Step{"docks", 3, use_docks},
                           Step{"close dialogs", 2, close_dialogs},
                           Step{"screen reader", 2, read_all},
                           Step{"wait", 4, wait},
                           Step{"finish", 4, finish},
                           Step{"start again", 1, start_again}};

}  // namespace

std::span<const Step> steps() { return table; }

}  // namespace penstock::monkey
