#pragma once

#include <QComboBox>
#include <QCompleter>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QSlider>
#include <QSpinBox>
#include <QTimer>
#include <QWidget>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "gui/models/change/knobs.hpp"

namespace penstock {

/// Sliders and fields that change a scenario while a hand moves them.
class WhatIfPanel : public QWidget {
 public:
  explicit WhatIfPanel(QWidget* parent = nullptr);

  /// Shows the values of a scenario; nullptr: there is nothing to turn.
  void show_scenario(std::shared_ptr<const Scenario> scenario);
  /// What is in force where the scenario and the hand say nothing; nullptr: not known.
  void show_in_force(std::shared_ptr<const Layout> layout);
  /// Shows why a change is not possible; empty: it is.
  void show_problem(const QString& text);
  /// The settings of all knobs that were turned since `show_scenario`.
  std::vector<std::string> settings() const;
  /// Shows a value of the knob of a pointer; faintly where it is in force and stated nowhere.
  void turn(const std::string& pointer, const QString& value, bool stated = true);

  std::function<void()> on_turn;

 private:
  struct Row {
    const Knob* knob;
    QSlider* slider = nullptr;
    QLineEdit* field = nullptr;
    QComboBox* choice = nullptr;
  };
  void add_row(const Knob& knob, QGridLayout& grid, int line);
  void add_stage(QGridLayout& grid, int line);
  void add_choice(Row& row, const QString& name);
  void add_slider(Row& row, const QString& name);
  void changed_by_hand(const Knob& knob, const QString& value);
  static void show_in(const Row& row, const QString& value, bool stated);

  std::shared_ptr<const Scenario> scenario_;
  std::shared_ptr<const Layout> layout_;
  std::vector<Row> rows_;
  QSpinBox* stage_ = nullptr;
  QLabel* problem_ = nullptr;
  std::map<std::string, std::string> turned_;           // by pointer
  std::map<std::uint32_t, std::string> stage_factors_;  // by stage
  bool quiet_ = false;
};

/// The text of a scenario, checked while it is written. The line at fault is marked; Ctrl+Space
/// completes the keys and values that
/// its place may have.
class ScenarioPanel : public QWidget {
 public:
  explicit ScenarioPanel(QWidget* parent = nullptr);

  /// Shows a scenario, unless its text is here already, as a hand wrote it.
  void show_scenario(std::shared_ptr<const Scenario> scenario);
  /// Drops what was written and is not checked yet; what is shown next replaces the text.
  void forget_text();
  QPlainTextEdit& editor() { return *editor_; }
  QString problem() const { return problem_->text(); }
  QCompleter& completer() { return *completer_; }
  /// Checks the text now.
  void check();

  /// A text without faults was written.
  std::function<void(std::shared_ptr<const Scenario>)> on_scenario;
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
  std::shared_ptr<const Scenario> shown_;  // that the text is of, or was when it had no faults
  std::string source_ = "-";
  bool quiet_ = false;
};

}  // namespace penstock
