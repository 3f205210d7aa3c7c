#include "gui/views/panels/table_panel.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLocale>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "experiments/input/files/table.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr int place_role = Qt::UserRole + 5;  // among the rows as they were filled in

/// What a number of a column is divided by, and the name of that.
struct ColumnUnit {
  QString name;
  double size = 1;
};

ColumnUnit unit_of_bytes(double most) {
  constexpr std::array<const char*, 5> names{"B", "KiB", "MiB", "GiB", "TiB"};
  ColumnUnit unit{names[0], 1};
  for (std::size_t u = 1; u < names.size() && most >= 1024 * unit.size; ++u) {
    unit = {names[u], 1024 * unit.size};
  }
  return unit;
}

ColumnUnit unit_of(NumberKind kind, double most) {
  if (kind == NumberKind::bytes) return unit_of_bytes(most);
  const TimeUnit unit = unit_for(Time{static_cast<std::int64_t>(most)});
  return {qt_text(unit.name), static_cast<double>(unit.picoseconds)};
}

template <class Visitor>
void for_each_row(const QTreeWidgetItem& parent, Visitor visit) {
  for (int i = 0; i < parent.childCount(); ++i) {
    visit(*parent.child(i));
    for_each_row(*parent.child(i), visit);
  }
}

const NumberedCell* cell_of(const QTreeWidgetItem& row, int column) {
  const auto* numbered = dynamic_cast<const NumberedRow*>(&row);
  return numbered == nullptr ? nullptr : numbered->cell(column);
}

/// The heading without a unit, which is kept beside the text.
QString plain_heading(QTreeWidgetItem& header, int column) {
  if (!header.data(column, Qt::UserRole).isValid()) {
    header.setData(column, Qt::UserRole, header.text(column));
  }
  return header.data(column, Qt::UserRole).toString();
}

bool has_unit(const NumberedCell& cell) { return cell.kind >= NumberKind::time; }

/// Four significant digits in a unit; 0 is 0.
QString text_of(const NumberedCell& cell) {
  if (!cell.shown.isNull()) return cell.shown;
  const QString text =
      has_unit(cell) ? qt_text(number_text(cell.number / cell.unit))
                     : QString::number(cell.number, 'f', cell.kind == NumberKind::share ? 1 : 0);
  if (cell.differs && cell.number == 0) return "±0";
  return cell.differs && cell.number > 0 ? "+" + text : text;
}

/// Gives a column its unit. One without anything is hidden.
void set_unit(QTreeWidget& table, int column) {
  NumberKind kind = NumberKind::count;
  double most = 0;
  bool any = table.topLevelItemCount() == 0;
  const QTreeWidgetItem& root = *table.invisibleRootItem();
  for_each_row(root, [&](const QTreeWidgetItem& row) {
    const NumberedCell* const cell = cell_of(row, column);
    any = any || cell != nullptr || !row.text(column).isEmpty();
    if (cell == nullptr || !has_unit(*cell)) return;
    kind = cell->kind;
    most = std::max(most, std::fabs(cell->number));
  });
  table.setColumnHidden(column, !any);
  const QString heading = plain_heading(*table.headerItem(), column);
  const ColumnUnit unit = unit_of(kind, most);
  table.headerItem()->setText(column, most > 0 ? heading + ", " + unit.name : heading);
  for_each_row(root, [&](QTreeWidgetItem& row) {
    const NumberedCell* const cell = cell_of(row, column);
    if (cell != nullptr && has_unit(*cell))
      static_cast<NumberedRow&>(row).set_unit(column, unit.size);
  });
  table.viewport()->update();
}

RowPlace place_of(const QTreeWidgetItem& row) {
  RowPlace place;
  const auto number = [&](int role) -> std::optional<std::uint32_t> {
    const QVariant value = row.data(0, role);
    return value.isValid() ? std::optional(value.toUInt()) : std::nullopt;
  };
  place.task = number(task_role).value_or(no_task);
  place.rank = number(rank_role);
  place.link = number(link_role);
  return place;
}

}  // namespace

QVariant NumberedRow::data(int column, int role) const {
  if (const NumberedCell* const own = cell(column)) {
    if (role == Qt::DisplayRole) return text_of(*own);
    if (role == Qt::TextAlignmentRole) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    if (role == number_role) return own->number;
  }
  return QTreeWidgetItem::data(column, role);
}

bool NumberedRow::operator<(const QTreeWidgetItem& other) const {
  const int column = treeWidget()->sortColumn();
  const QVariant own = data(column, number_role);
  const QVariant its = other.data(column, number_role);
  if (own.isValid() && its.isValid()) return own.toDouble() < its.toDouble();
  return text(column) < other.text(column);
}

const NumberedCell* NumberedRow::cell(int column) const {
  const auto at = static_cast<std::size_t>(column);
  return at < cells_.size() && cells_[at] ? &*cells_[at] : nullptr;
}

void NumberedRow::put(int column, NumberedCell cell) {
  const auto at = static_cast<std::size_t>(column);
  if (cells_.size() <= at) cells_.resize(at + 1);
  cells_[at] = std::move(cell);
}

void NumberedRow::set(int column, const QString& shown, double number) {
  put(column, {.number = number, .shown = shown});
}

void NumberedRow::set_count(int column, std::uint64_t number) {
  set_amount(column, NumberKind::count, static_cast<double>(number));
}

void NumberedRow::set_amount(int column, NumberKind kind, double number) {
  put(column, {.number = number, .kind = kind});
}

void NumberedRow::set_change(int column, NumberKind kind, double number) {
  put(column, {.number = number, .kind = kind, .differs = true});
}

void NumberedRow::set_unit(int column, double unit) {
  cells_[static_cast<std::size_t>(column)]->unit = unit;
}

void NumberedRow::set_time(int column, Time time) {
  set_amount(column, NumberKind::time, static_cast<double>(time.picoseconds));
}

NumberedRow* add_row(ListRows& rows) {
  auto* row = new NumberedRow;
  rows << row;
  return row;
}

void start_rows(QTreeWidget& table) {
  table.setSortingEnabled(false);
  table.clear();
}

void finish_rows(QTreeWidget& table) {
  const QTreeWidgetItem* first = table.topLevelItem(0);
  while (first != nullptr && first->childCount() > 0) first = first->child(0);
  for (int c = 0; c < table.columnCount(); ++c) set_unit(table, c);
  // The heading of numbers stands over them.
  for (int c = 0; c < table.columnCount() && first != nullptr; ++c) {
    const bool has_numbers = first->data(c, number_role).isValid();
    const Qt::Alignment side = has_numbers ? Qt::AlignRight : Qt::AlignLeft;
    table.headerItem()->setTextAlignment(c, side | Qt::AlignVCenter);
  }
  table.setSortingEnabled(true);
  for (int c = 0; c < table.columnCount(); ++c) table.resizeColumnToContents(c);
}

QTreeWidget* make_table(const QStringList& columns, const QString& accessible_name) {
  auto* table = new QTreeWidget;
  table->setHeaderLabels(columns);
  table->header()->setStretchLastSection(false);
  // Of thousands of rows, these and those in view tell how wide a column is.
  table->header()->setResizeContentsPrecision(100);
  table->setRootIsDecorated(false);
  table->setAlternatingRowColors(true);
  table->setUniformRowHeights(true);
  table->setAccessibleName(accessible_name);
  table->sortByColumn(-1, Qt::AscendingOrder);
  return table;
}

TablePanel::TablePanel(const std::vector<TableColumn>& columns, const QString& accessible_name)
    : by_(new QComboBox), count_(new QLabel), table_(make_table({}, accessible_name)) {
  by_->setAccessibleName(accessible_name + ": group by");
  count_->setAccessibleName(accessible_name + ": rows");
  auto* line = new QHBoxLayout;
  line->addWidget(by_);
  line->addWidget(count_);
  line->addStretch(1);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 2, 4, 0);
  column->setSpacing(2);
  column->addLayout(line);
  column->addWidget(table_);
  set_columns(columns);
  connect(by_, &QComboBox::activated, this, [this] {
    table_->setSortingEnabled(false);
    ungroup();
    group();
  });
  const auto lead = [this](QTreeWidgetItem* row) {
    const RowPlace place = place_of(*row);
    const bool leads = place.task != no_task || place.rank || place.link;
    if (leads && on_place) on_place(place);
  };
  connect(table_, &QTreeWidget::itemClicked, this, lead);
  connect(table_, &QTreeWidget::itemActivated, this, lead);
}

void TablePanel::set_columns(const std::vector<TableColumn>& columns) {
  if (columns == columns_) return;
  const auto place_of_heading = [&](const QString& heading) {
    const auto at = std::find_if(columns.begin(), columns.end(), [&](const TableColumn& column) {
      return column.heading == heading;
    });
    return at == columns.end() ? -1 : static_cast<int>(at - columns.begin());
  };
  const auto sorted = static_cast<std::size_t>(table_->sortColumn());
  const int sorts = sorted < columns_.size() ? place_of_heading(columns_[sorted].heading) : -1;
  const QString grouped = by_->currentText();
  columns_ = columns;
  const QSignalBlocker quiet(by_);
  by_->clear();
  by_->addItem("Not grouped", -1);
  QStringList headings;
  for (const TableColumn& column : columns) {
    if (column.groups) by_->addItem("By " + column.heading, headings.size());
    headings << column.heading;
  }
  by_->setCurrentIndex(std::max(0, by_->findText(grouped)));
  by_->setVisible(by_->count() > 1);
  table_->setSortingEnabled(false);
  table_->setColumnCount(static_cast<int>(headings.size()));
  for (int c = 0; c < headings.size(); ++c)
    table_->headerItem()->setData(c, Qt::UserRole, headings[c]);
  table_->setHeaderLabels(headings);
  table_->header()->setSortIndicator(sorts, table_->header()->sortIndicatorOrder());
}

void TablePanel::fill(std::function<std::size_t(ListRows&)> add) {
  waiting_ = std::move(add);
  if (isVisible()) add_rows();
}

void TablePanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  add_rows();
}

void TablePanel::add_rows() {
  if (!waiting_) return;
  start_rows(*table_);
  ListRows rows;
  all_ = std::exchange(waiting_, {})(rows);
  shown_ = static_cast<std::size_t>(rows.size());
  for (int i = 0; i < rows.size(); ++i) rows[i]->setData(0, place_role, i);
  table_->addTopLevelItems(rows);
  group();
}

void TablePanel::clear() {
  waiting_ = {};
  table_->clear();
  count_->clear();
}

/// Puts the rows back as they were filled in.
void TablePanel::ungroup() {
  QTreeWidgetItem& root = *table_->invisibleRootItem();
  QList<QTreeWidgetItem*> rows;
  for (QTreeWidgetItem* item : root.takeChildren()) {
    if (item->childCount() == 0) {
      rows << item;
      continue;
    }
    rows << item->takeChildren();
    delete item;
  }
  std::sort(rows.begin(), rows.end(), [](const QTreeWidgetItem* a, const QTreeWidgetItem* b) {
    return a->data(0, place_role).toInt() < b->data(0, place_role).toInt();
  });
  root.addChildren(rows);
}

void TablePanel::group() {
  const int column = by_->currentData().toInt();
  if (column >= 0) add_groups(column);
  table_->setRootIsDecorated(column >= 0);
  finish_rows(*table_);
  show_count();
}

/// A group for each value of a column, with how many rows it has and the sums of what adds up.
void TablePanel::add_groups(int column) {
  std::map<QString, NumberedRow*> groups;
  std::vector<NumberedRow*> in_order;
  for (QTreeWidgetItem* row : table_->invisibleRootItem()->takeChildren()) {
    NumberedRow*& group = groups[row->text(column)];
    if (group == nullptr) {
      group = new NumberedRow;
      in_order.push_back(group);
      const QVariant number = row->data(column, number_role);
      group->setText(0, row->text(column));
      if (number.isValid()) group->setData(0, number_role, number);
    }
    group->addChild(row);
  }
  for (NumberedRow* group : in_order) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (!columns_[c].adds) continue;
      const int at = static_cast<int>(c);
      double sum = 0;
      for (int i = 0; i < group->childCount(); ++i) {
        sum += group->child(i)->data(at, number_role).toDouble();
      }
      const NumberedCell* const first = cell_of(*group->child(0), at);
      if (first == nullptr) continue;
      first->differs ? group->set_change(at, first->kind, sum)
                     : group->set_amount(at, first->kind, sum);
    }
    group->setText(0, QString("%1 %2 (%3)")
                          .arg(columns_[static_cast<std::size_t>(column)].heading, group->text(0))
                          .arg(group->childCount()));
    table_->addTopLevelItem(group);
  }
}

void TablePanel::show_count() {
  if (all_ == 0 && !absence_.isEmpty()) return count_->setText(absence_);
  const QLocale plain_digits(QLocale::English);
  const auto text = [&](std::size_t number) {
    return plain_digits.toString(static_cast<qulonglong>(number));
  };
  count_->setText(shown_ < all_ ? QString("first %1 of %2").arg(text(shown_), text(all_))
                                : text(all_) + (all_ == 1 ? " row" : " rows"));
}

}  // namespace penstock
