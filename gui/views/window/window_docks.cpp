#include <QFontDatabase>
#include <QHBoxLayout>
#include <QScrollArea>
#include <QScrollBar>

#include "gui/views/panels/tables.hpp"
#include "gui/views/window/viewer_window.hpp"

namespace penstock {
namespace {

QPlainTextEdit* make_text(const QString& accessible_name, const QString& placeholder) {
  auto* text = new QPlainTextEdit;
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  font.setFamilies({"DejaVu Sans Mono", font.family()});
  font.setPointSizeF(9.5);
  text->setFont(font);
  text->setReadOnly(true);
  text->setLineWrapMode(QPlainTextEdit::NoWrap);
  text->setAccessibleName(accessible_name);
  text->setPlaceholderText(placeholder);
  return text;
}

/// For what is higher than a small window.
QScrollArea* scrolled(QWidget* content) {
  auto* area = new QScrollArea;
  area->setWidget(content);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setMinimumWidth(content->minimumSizeHint().width() +
                        area->verticalScrollBar()->sizeHint().width());
  return area;
}

}  // namespace

QDockWidget* ViewerWindow::add_dock(const QString& title, QWidget* content,
                                    Qt::DockWidgetArea area) {
  auto* dock = new QDockWidget(title, this);
  dock->setObjectName(title);
  dock->setWidget(content);
  addDockWidget(area, dock);
  docks_.push_back(dock);
  return dock;
}

void ViewerWindow::raise_dock(const QString& title) {
  for (QDockWidget* dock : docks_) {
    if (dock->objectName() != title) continue;
    dock->show();
    dock->raise();
  }
}

void ViewerWindow::build_panels() {
  const auto go = [this](TaskId task) { select(task); };
  report_ = make_text("Report", "The report of the open run");
  comparison_ = make_text("Comparison", "Freeze a reference (Ctrl+D) or compare with a file");
  residuals_ = new ResidualMap;
  idle_ = make_table(idle_columns(), "Idle time by cause", {});
  path_ = make_table(path_columns(), "Critical path", go);
  memory_ = make_table(memory_columns(), "Memory by rank", go);
  links_ = make_table(link_columns(), "Links", {});
  sweep_ = make_table({}, "Rows of a sweep", {});
  ops_ = make_table(op_columns(), "Ops of the selected rank", [this](TaskId task) {
    select({task, ops_run_});
  });
  connect(sweep_, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* row, int) {
    guarded([&] { open_row(static_cast<std::size_t>(row->data(0, Qt::UserRole).toULongLong())); });
  });
  legend_ = new RunLegend;
  what_if_ = new WhatIfPanel;
  scenario_panel_ = new ScenarioPanel;
  what_if_->on_turn = [this] { turn_knobs(); };
  scenario_panel_->on_scenario = [this](const Scenario& scenario) { set_scenario(scenario); };
}

void ViewerWindow::build_docks() {
  build_panels();
  QScrollArea* const legend = scrolled(legend_);
  QScrollArea* const turned = scrolled(what_if_);
  auto* compared = new QWidget;
  auto* column = new QHBoxLayout(compared);
  column->setContentsMargins(4, 4, 4, 4);
  column->addWidget(comparison_, 3);
  column->addWidget(residuals_, 2);

  QDockWidget* report = add_dock("Report", report_, Qt::BottomDockWidgetArea);
  for (const auto& [title, widget] :
       std::initializer_list<std::pair<QString, QWidget*>>{{"Idle time", idle_},
                                                           {"Critical path", path_},
                                                           {"Memory", memory_},
                                                           {"Links", links_},
                                                           {"Ops", ops_},
                                                           {"Sweep", sweep_},
                                                           {"Comparison", compared}}) {
    tabifyDockWidget(report, add_dock(title, widget, Qt::BottomDockWidgetArea));
  }
  report->raise();
  QDockWidget* knobs = add_dock("What if", turned, Qt::RightDockWidgetArea);
  tabifyDockWidget(knobs, add_dock("Scenario", scenario_panel_, Qt::RightDockWidgetArea));
  QDockWidget* const colours = add_dock("Legend", legend, Qt::RightDockWidgetArea);
  knobs->raise();
  resizeDocks({report}, {210}, Qt::Vertical);
  resizeDocks({knobs, colours}, {360, 180}, Qt::Vertical);
  resizeDocks({knobs}, {340}, Qt::Horizontal);
}

}  // namespace penstock
