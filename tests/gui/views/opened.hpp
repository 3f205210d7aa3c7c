#pragma once

#include <doctest/doctest.h>

#include <QApplication>
#include <QMouseEvent>
#include <QTreeWidget>
#include <QtTest/QTest>
#include <string>
#include <vector>

#include "experiments/input/scenario/document.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "gui/views/window/viewer_window.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {

inline const QString first_scenario =
    QString::fromStdString(std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json");

/// The shipped scenario with a setting, as a file.
inline QString file_with(const Scratch& folder, const char* name, const std::string& setting) {
  const Scenario scenario = read_scenario(first_scenario.toStdString(), {setting});
  return QString::fromStdString(folder.file(name, document_text(scenario)));
}

/// The widget with an accessible name, within another one.
template <class Widget>
Widget& named(QWidget& parent, const QString& name) {
  Widget* found = nullptr;
  for (QWidget* each : parent.findChildren<QWidget*>()) {
    if (found == nullptr && each->accessibleName() == name) found = dynamic_cast<Widget*>(each);
  }
  REQUIRE_MESSAGE(found != nullptr, name.toStdString());
  return *found;
}

/// A shown window with the shipped scenario open.
struct Opened {
  explicit Opened(ThemeName theme = ThemeName::light, QSize size = {1200, 800}) : window(theme) {
    window.resize(size);
    window.show();
    window.activateWindow();
    REQUIRE(QTest::qWaitForWindowActive(&window));
    window.files().open_files_now({first_scenario});
    settle();
  }
  void settle() {
    QApplication::processEvents();
    window.finish();
    QApplication::processEvents();
  }
  TimelineCanvas& canvas() { return *window.canvas(); }
  const ViewedRun& run() { return *window.now()->run; }
  TaskId op(const char* name) {
    const auto found = find_ops(read_query(name), run());
    REQUIRE(!found.empty());
    return found.front();
  }
  QPoint middle_of(TaskId task) { return canvas().place_of_task(task).center().toPoint(); }
  /// The list of a panel, which is opened for it.
  QTreeWidget& list(const QString& panel) {
    window.panels().strip().open(panel);
    settle();
    return *window.findChild<QDockWidget*>(panel)->findChild<QTreeWidget*>();
  }
  void press(const QKeySequence& keys) {
    QTest::keySequence(&window, keys);
    settle();
  }
  void open(const QStringList& files) {
    window.files().open_files_now(files);
    settle();
  }
  void open(const std::string& file) { open(QStringList{QString::fromStdString(file)}); }
  void open_later(const QStringList& files) {
    window.files().open_files_later(files);
    settle();
  }
  void compare_with(const QStringList& files) {
    window.files().compare_with(files);
    settle();
  }
  /// Changes the scenario of the run in front.
  void change(const std::vector<std::string>& settings) {
    window.changes().set_scenario(changed(*run().scenario, settings));
    settle();
  }
  void search(const QString& words) {
    window.steps().search_field().setText(words);
    window.steps().run_search();
  }
  /// Moves the pointer over the timeline, or out of it.
  void point(QPointF to, Qt::MouseButtons held = Qt::NoButton, Qt::KeyboardModifiers keys = {}) {
    QMouseEvent move(QEvent::MouseMove, to, canvas().mapToGlobal(to), Qt::NoButton, held, keys);
    QApplication::sendEvent(&canvas(), &move);
  }
  void leave() {
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(&canvas(), &leave);
  }
  void drag(QPoint from, QPoint to, Qt::KeyboardModifiers keys = {}) {
    QTest::mousePress(&canvas(), Qt::LeftButton, keys, from);
    for (int step = 1; step <= 5; ++step) {
      point(from + QPointF(to - from) * step / 5, Qt::LeftButton, keys);
    }
    QTest::mouseRelease(&canvas(), Qt::LeftButton, keys, to);
  }

  ViewerWindow window;
};

}  // namespace penstock::testing
