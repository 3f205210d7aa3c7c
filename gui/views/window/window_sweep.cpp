#include <QFile>
#include <QFileInfo>
#include <algorithm>

#include "experiments/scenario/document.hpp"
#include "gui/views/window/viewer_window.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The columns that a person compares: what varies, and the main results.
std::vector<std::size_t> shown_columns(const RowTable& table) {
  std::vector<std::size_t> columns = table.varied();
  for (const char* result : {"makespan_us", "bubble.of_makespan", "throughput.samples_per_s",
                             "throughput.tokens_per_s", "peak_memory_bytes", "finding"}) {
    const auto at = std::find(table.columns.begin(), table.columns.end(), result);
    if (at != table.columns.end()) {
      columns.push_back(static_cast<std::size_t>(at - table.columns.begin()));
    }
  }
  return columns;
}

/// A row that sorts by numbers where they are.
class RowItem : public QTreeWidgetItem {
 public:
  using QTreeWidgetItem::QTreeWidgetItem;
  bool operator<(const QTreeWidgetItem& other) const override {
    const int column = treeWidget()->sortColumn();
    bool one = false;
    bool two = false;
    const double a = text(column).toDouble(&one);
    const double b = other.text(column).toDouble(&two);
    return one && two ? a < b : text(column) < other.text(column);
  }
};

}  // namespace

void ViewerWindow::open_sweep(const QString& path) {
  swept_ = read_row_table(QFile::encodeName(path).toStdString());
  const std::vector<std::size_t> columns = shown_columns(swept_);
  sweep_->setSortingEnabled(false);
  sweep_->clear();
  QStringList names{"row"};
  for (const std::size_t column : columns) names << QString::fromStdString(swept_.columns[column]);
  sweep_->setColumnCount(static_cast<int>(names.size()));
  sweep_->setHeaderLabels(names);
  for (std::size_t r = 0; r < swept_.rows.size(); ++r) {
    QStringList texts{QString::number(r)};
    for (const std::size_t column : columns) {
      texts << QString::fromStdString(swept_.rows[r][column].text);
    }
    auto* item = new RowItem(sweep_, texts);
    item->setData(0, Qt::UserRole, static_cast<qulonglong>(r));
  }
  sweep_->setSortingEnabled(true);
  for (int c = 0; c < sweep_->columnCount(); ++c) sweep_->resizeColumnToContents(c);
  raise_dock("Sweep");
  show_message(QString("%1: %2 rows; Enter opens one as a change of the scenario in front")
                   .arg(QFileInfo(path).fileName())
                   .arg(swept_.rows.size()));
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
