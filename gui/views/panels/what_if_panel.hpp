#pragma once

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSlider>
#include <QSpinBox>
#include <QWidget>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gui/models/change/knobs.hpp"

namespace penstock {

/// Sliders and fields that change a scenario while a hand moves them.
class WhatIfPanel : public QWidget {
 public:
  explicit WhatIfPanel(QWidget* parent = nullptr);

  /// Shows the values of a scenario; nullptr: there is nothing to turn.
  void show_scenario(std::shared_ptr<const Scenario> scenario);
  /// Shows why a change is not possible; empty: it is.
  void show_problem(const QString& text);
  /// The settings of all knobs that were turned since `show_scenario`.
  std::vector<std::string> settings() const;
  /// Shows a value of the knob of a pointer.
  void turn(const std::string& pointer, const QString& value);

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

  std::shared_ptr<const Scenario> scenario_;
  std::vector<Row> rows_;
  QSpinBox* stage_ = nullptr;
  QLabel* problem_ = nullptr;
  std::map<std::string, std::string> turned_;           // by pointer
  std::map<std::uint32_t, std::string> stage_factors_;  // by stage
  bool quiet_ = false;
};

}  // namespace penstock
