#pragma once

#include <doctest/doctest.h>

#include <QApplication>
#include <QTreeWidget>
#include <QtTest/QTest>
#include <string>
#include <vector>

#include "gui/models/run/viewed_run.hpp"
#include "gui/views/window/viewer_window.hpp"

namespace penstock::testing {

inline const QString first_scenario =
    QString::fromStdString(std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json");

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
    const auto found = find_ops(read_query(name), run().plan, run().timeline);
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

  ViewerWindow window;
};

}  // namespace penstock::testing
