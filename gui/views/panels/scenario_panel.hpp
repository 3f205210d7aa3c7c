#pragma once

#include <QCompleter>
#include <QLabel>
#include <QPlainTextEdit>
#include <QTimer>
#include <QWidget>
#include <functional>

#include "experiments/input/scenario/scenario.hpp"

namespace penstock {

/// The text of a scenario, checked while it is written. The line at fault is marked; Ctrl+Space
/// completes the keys and values that
/// its place may have.
class ScenarioPanel : public QWidget {
 public:
  explicit ScenarioPanel(QWidget* parent = nullptr);

  /// Shows a scenario, unless its text is being written.
  void show_scenario(const Scenario* scenario);
  QPlainTextEdit& editor() { return *editor_; }
  QString problem() const { return problem_->text(); }
  QCompleter& completer() { return *completer_; }
  /// Checks the text now.
  void check();

  /// A text without faults was written.
  std::function<void(const Scenario&)> on_scenario;
  /// Shows what is wrong, at the place that the message names; empty: nothing is.
  void show_fault(const QString& message);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void offer_words();
  void complete(const QString& key);
  void show_problem(const QString& text, std::optional<std::size_t> line);

  QPlainTextEdit* editor_;
  QLabel* problem_;
  QTimer wait_;
  QCompleter* completer_;
  std::string source_ = "-";
  bool quiet_ = false;
};

}  // namespace penstock
