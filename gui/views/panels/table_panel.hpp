#pragma once

#include <QComboBox>
#include <QLabel>
#include <QTreeWidget>
#include <functional>
#include <optional>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

// What a row keeps in its cells beside the text.
constexpr int task_role = Qt::UserRole;
constexpr int number_role = Qt::UserRole + 1;  // answered where the cell has a number
constexpr int rank_role = Qt::UserRole + 3;
constexpr int link_role = Qt::UserRole + 4;

/// What a number is: times and bytes get the unit of their column.
enum class NumberKind : std::uint8_t { count, share, time, bytes };

/// A number of a row.
struct NumberedCell {
  double number = 0;
  NumberKind kind = NumberKind::count;
  bool differs = false;  // from another run, by this: it has a sign
  double unit = 1;       // what is shown is a multiple of it
  QString shown;         // instead of the number
};

/// A row that is sorted by numbers where it has them. Most of its rows nobody looks at: the text of
/// a number is made when it is asked for.
class NumberedRow : public QTreeWidgetItem {
 public:
  using QTreeWidgetItem::QTreeWidgetItem;
  QVariant data(int column, int role) const override;
  bool operator<(const QTreeWidgetItem& other) const override;
  /// Nothing where a cell is a text, or empty.
  const NumberedCell* cell(int column) const;
  void set(int column, const QString& shown, double number);
  /// A whole number as it is.
  void set_count(int column, std::uint64_t number);
  /// A whole number, per cent, picoseconds or bytes; and by how much that differs from another.
  void set_amount(int column, NumberKind kind, double number);
  void set_change(int column, NumberKind kind, double number);
  void set_unit(int column, double unit);
  // The unit stands in the heading: see `finish_rows`.
  void set_time(int column, Time time);
  void set_task(TaskId task) { setData(0, task_role, task); }
  // Where else a row leads.
  void set_rank(std::uint32_t rank) { setData(0, rank_role, rank); }
  void set_link(std::uint32_t link) { setData(0, link_role, link); }

 private:
  void put(int column, NumberedCell cell);
  std::vector<std::optional<NumberedCell>> cells_;  // by column
};
/// Rows before they are in a table: added all at once they take a third of the time.
using ListRows = QList<QTreeWidgetItem*>;
NumberedRow* add_row(ListRows& rows);
/// Before rows are added, all at once, and behind the last: then times and bytes of a column get
/// one unit, that of the largest, which its heading names.
void start_rows(QTreeWidget& table);
void finish_rows(QTreeWidget& table);

/// A list with columns that can be sorted and reached by keyboard.
QTreeWidget* make_table(const QStringList& columns, const QString& accessible_name);

struct TableColumn {
  QString heading;
  bool adds = false;    // of grouped rows, their sum is known
  bool groups = false;  // rows may be grouped by it
  friend bool operator==(const TableColumn&, const TableColumn&) = default;
};

/// Where a row leads: one of these, or nowhere.
struct RowPlace {
  TaskId task = no_task;
  std::optional<std::uint32_t> rank, link;
};

/// A list under a line that says by what its rows are grouped, and how many of all are there.
class TablePanel : public QWidget {
 public:
  TablePanel(const std::vector<TableColumn>& columns, const QString& accessible_name);
  QTreeWidget& table() { return *table_; }
  /// Nothing changes where they are the same as before.
  void set_columns(const std::vector<TableColumn>& columns);
  /// `add` adds rows and returns how many there would be if none was left out. It is called once
  /// the list is seen.
  void fill(std::function<std::size_t(ListRows&)> add);
  /// What is said instead of "0 rows".
  void set_absence(const QString& why) { absence_ = why; }
  void clear();

  std::function<void(const RowPlace&)> on_place;  // by a click, or by Enter

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void add_rows();
  void group();
  void ungroup();
  void add_groups(int column);
  void show_count();

  std::vector<TableColumn> columns_;
  QComboBox* by_;
  QLabel* count_;
  QTreeWidget* table_;
  QString absence_;
  std::function<std::size_t(ListRows&)> waiting_;  // to fill the list
  std::size_t all_ = 0;                            // rows, with those left out
  std::size_t shown_ = 0;                          // rows
};

}  // namespace penstock
