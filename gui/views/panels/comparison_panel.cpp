#include "gui/views/panels/comparison_panel.hpp"

#include <QHBoxLayout>
#include <QSplitter>
#include <initializer_list>

#include "experiments/input/files/table.hpp"
#include "experiments/measure/comparison/comparison.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "gui/models/view/time_axis.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/panels/tables.hpp"
#include "sim/base/time_sum.hpp"

namespace penstock {
namespace {

constexpr int run_role = Qt::UserRole + 2;

QTreeWidgetItem* heading(QTreeWidget* table, const QString& text) {
  auto* item = new QTreeWidgetItem(table, {text});
  item->setFirstColumnSpanned(true);
  item->setExpanded(true);
  return item;
}

void set_signed(NumberedRow& row, int column, Time change) {
  row.set(column, qt_text(signed_time(change.picoseconds)),
          static_cast<double>(change.picoseconds));
}

QString signed_bytes_text(WideInteger bytes) {
  if (bytes == 0) return "±0";
  return (bytes > 0 ? "+" : "-") +
         qt_text(bytes_text(static_cast<std::uint64_t>(bytes > 0 ? bytes : -bytes)));
}

void add_change(QTreeWidgetItem* group, const TwoAmounts& change, bool bytes) {
  auto* row = new NumberedRow(group);
  row->setText(0, qt_text(change.name));
  const WideInteger more = change.now - change.in_a;
  const auto set = [&](int column, WideInteger value) {
    const QString text =
        bytes ? qt_text(bytes_text(static_cast<std::uint64_t>(value))) : qt_text(short_time(value));
    row->set(column, text, static_cast<double>(value));
  };
  set(1, change.in_a);
  set(2, change.now);
  row->set(3, bytes ? signed_bytes_text(more) : qt_text(signed_time(more)),
           static_cast<double>(more));
  if (change.in_a != 0) {
    const double share = static_cast<double>(more) / static_cast<double>(change.in_a);
    row->set(4, qt_text(signed_percent(share)), share);
  }
  if (change.ops_in_a + change.ops_now == 0) return;
  const double ops = static_cast<double>(change.ops_now) - static_cast<double>(change.ops_in_a);
  row->set(5, QString::number(change.ops_in_a), static_cast<double>(change.ops_in_a));
  row->set(6, ops == 0 ? "±0" : QString("%1%2").arg(ops > 0 ? "+" : "").arg(ops), ops);
}

/// The op behind an inherited change: it ended later in one of the runs.
QString cause_of_op(const ShownPair& pair, const OpDifference& op) {
  if (op.by.a != no_task) return qt_text(task_text(pair.pair->a->plan, op.by.a));
  return op.by.b == no_task ? QString() : qt_text(task_text(pair.pair->now->plan, op.by.b));
}

void add_op(QTreeWidgetItem* group, const ShownPair& pair, const OpDifference& op, bool inherits) {
  const Plan& plan = pair.pair->a->plan;
  auto* row = new NumberedRow(group);
  row->setText(0, qt_text(task_text(plan, op.task.a)));
  row->set_task(op.task.b);
  row->setData(0, run_role, pair.now);
  row->setText(1, qt_text(place_text(plan, plan.class_of(op.task.a).resource)));
  set_signed(*row, 2, op.start);
  set_signed(*row, 3, op.duration());
  set_signed(*row, 4, op.end);
  if (inherits) row->setText(5, cause_of_op(pair, op));
}

}  // namespace

ComparisonPanel::ComparisonPanel() : report_(new QPlainTextEdit), residuals_(new ResidualMap) {
  report_->setFont(fixed_font());
  report_->setReadOnly(true);
  report_->setLineWrapMode(QPlainTextEdit::NoWrap);
  report_->setAccessibleName("Comparison");
  report_->setPlaceholderText("Freeze a reference (Ctrl+D) or compare with a file");
  changes_ = make_table({"what", "in A", "now", "now − A", "%", "ops in A", "ops, now − A"},
                        "Differences by kind, cause, rank and link");
  moved_ = make_table({"op", "where", "begin, now − A", "length, now − A", "end, now − A", "after"},
                      "Ops that moved most, by cause");
  for (QTreeWidget* table : {changes_, moved_}) table->setRootIsDecorated(true);
  QObject::connect(moved_, &QTreeWidget::itemActivated, moved_, [this](QTreeWidgetItem* row, int) {
    const QVariant task = row->data(0, task_role);
    if (!task.isValid() || !on_op) return;
    on_op({task.toUInt(), static_cast<std::uint8_t>(row->data(0, run_role).toUInt())});
  });
  residuals_->on_cell = [this](std::size_t stage, std::size_t microbatch) {
    if (on_cell) on_cell(stage, microbatch);
  };
  auto* parts = new QSplitter;
  for (QWidget* part : std::initializer_list<QWidget*>{changes_, report_, residuals_}) {
    parts->addWidget(part);
  }
  parts->setSizes({540, 400, 360});
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(4, 4, 4, 4);
  row->addWidget(parts);
}

void ComparisonPanel::fill_changes(const std::vector<ShownPair>& pairs) {
  start_rows(*changes_);
  for (const ShownPair& pair : pairs) {
    for (const AmountGroup& group : pair.pair->changes) {
      const QString title = QString("%1 − A: %2").arg(pair.letter).arg(qt_text(group.title));
      QTreeWidgetItem* const top = heading(changes_, title);
      for (const TwoAmounts& change : group.changes) add_change(top, change, group.bytes);
      constexpr std::size_t few = 8;
      top->setExpanded(group.changes.size() <= few);
    }
  }
  finish_rows(*changes_);
}

void ComparisonPanel::fill_moved(const std::vector<ShownPair>& pairs) {
  start_rows(*moved_);
  for (const ShownPair& pair : pairs) {
    for (const MovedOps& moved : pair.pair->moved) {
      QString text = QString("%1 − A: %2, %3")
                         .arg(pair.letter)
                         .arg(name(moved.cause), qt_text(counted(moved.ops, "op")));
      const bool inherits = moved.cause > MovedBy::wait;
      if (!inherits) text += ", together " + qt_text(signed_time(moved.together.picoseconds));
      if (moved.most.size() < moved.ops) text += QString("; first %1").arg(moved.most.size());
      QTreeWidgetItem* const group = heading(moved_, text);
      for (const OpDifference& op : moved.most) add_op(group, pair, op, inherits);
    }
  }
  finish_rows(*moved_);
}

void ComparisonPanel::show_pairs(const std::vector<ShownPair>& pairs) {
  fill_changes(pairs);
  fill_moved(pairs);
  QStringList texts;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const QString above = i == 0 ? QString() : QString("%1 − A, below as B\n").arg(pairs[i].letter);
    texts << above + QString::fromStdString(pairs[i].pair->text);
  }
  report_->setPlainText(texts.join("\n"));
  if (pairs.empty()) return residuals_->show_residuals({}, "No second run");
  residuals_->show_residuals(pairs.front().pair->residuals, "No op in both");
}

}  // namespace penstock
