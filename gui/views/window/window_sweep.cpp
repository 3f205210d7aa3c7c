#include <QFile>
#include <QFileInfo>

#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/document.hpp"
#include "gui/views/panels/tables.hpp"
#include "gui/views/window/viewer_window.hpp"
#include "sim/base/error.hpp"

namespace penstock {
void ViewerWindow::open_sweep(const QString& path) {
  swept_ = read_row_table(QFile::encodeName(path).toStdString());
  fill_sweep(*sweep_, swept_);
  raise_dock("Sweep");
  show_message(QString("%1: %2; Enter opens one as a change of the scenario in front")
                   .arg(QFileInfo(path).fileName())
                   .arg(qt_text(counted(swept_.rows.size(), "row"))));
}

/// Rows hold only what was varied, so the scenario in front is the base.
void ViewerWindow::open_row(std::size_t row) {
  if (row >= swept_.rows.size()) return;
  if (now() == nullptr || now()->base == nullptr) {
    throw UsageError("Open the scenario that was swept first: rows hold only what was varied");
  }
  std::vector<std::string> settings;
  for (std::size_t c = 0; c < swept_.columns.size(); ++c) {
    const TableCell& cell = swept_.rows[row][c];
    if (!swept_.columns[c].starts_with("/") || cell.empty()) continue;
    settings.push_back(swept_.columns[c] + "=" + cell.text);
  }
  const Scenario scenario = changed(*now()->base, settings);
  add_run(viewed(scenario));
  tabs_->setTabText(tabs_->currentIndex(),
                    tabs_->tabText(tabs_->currentIndex()) + QString(" row %1").arg(row));
}

}  // namespace penstock
