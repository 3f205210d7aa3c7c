#pragma once

#include <QObject>
#include <QTextDocument>
#include <QWidget>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "gui/models/drawing/theme.hpp"
#include "gui/models/facts/facts.hpp"

namespace penstock {

/// Facts as a heading and a table. `whole`: with those that are not brief, and links as
/// "op:RUN:TASK".
QString html_of(const Facts& facts, const Theme& theme, bool whole);

/// What is known of the thing under the pointer, beside it, at once.
class CanvasTip : public QWidget {
 public:
  explicit CanvasTip(QWidget* canvas);
  /// The pointer is at a place of the screen.
  void show_facts(const Facts& facts, const Theme& theme, QPoint pointer);
  /// As it stands there, without its look.
  QString text() const { return isHidden() ? QString() : document_.toPlainText(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QTextDocument document_;
  QString shown_;
};

/// By how much the ops of runs could end later. Found in a second thread once somebody asks.
class SlackFinder : public QObject {
 public:
  using Slack = std::shared_ptr<const std::vector<float>>;

  /// nullptr: not known yet, or the run is brief.
  Slack of(const ViewedRunPtr& run);
  /// Forgets the others.
  void keep(const std::vector<PaintedRunPtr>& runs);

  std::function<void()> on_found;

 private:
  std::map<ViewedRunPtr, Slack> slack_;  // nullptr: looked for
};

}  // namespace penstock
