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

namespace penstock {
namespace {

constexpr int run_role = Qt::UserRole + 2;

QTreeWidgetItem* heading(QTreeWidget* table, QTreeWidgetItem* above, const QString& text) {
  auto* item = above == nullptr ? new QTreeWidgetItem(table) : new QTreeWidgetItem(above);
  item->setText(0, text);
  item->setFirstColumnSpanned(true);
  item->setExpanded(true);
  return item;
}

void set_signed(NumberedRow& row, int column, Time change) {
  row.set(column, qt_text(signed_time(change.picoseconds)),
          static_cast<double>(change.picoseconds));
}

void set_share(NumberedRow& row, int column, Time change, Time of_a) {
  if (of_a == Time{}) return row.setText(column, "new");
  const double share =
      static_cast<double>(change.picoseconds) / static_cast<double>(of_a.picoseconds);
  row.set(column, qt_text(signed_percent(share)), share);
}

void add_kind(QTreeWidgetItem* pair, const KindChange& kind) {
  auto* row = new NumberedRow(pair);
  row->setText(0, qt_text(kind.name));
  row->set_time(1, kind.in_a);
  row->set_time(2, kind.now);
  set_signed(*row, 3, kind.now - kind.in_a);
  set_share(*row, 4, kind.now - kind.in_a, kind.in_a);
  if (kind.ops_in_a + kind.ops_now == 0) return;
  const double more = static_cast<double>(kind.ops_now) - static_cast<double>(kind.ops_in_a);
  row->set(5, QString::number(kind.ops_in_a), static_cast<double>(kind.ops_in_a));
  row->set(6, more == 0 ? "±0" : QString("%1%2").arg(more > 0 ? "+" : "").arg(more), more);
}

/// "input 1SEND_B0": what the reason names.
QString cause_of_op(const Plan& a, const OpDifference& op) {
  if (op.reason != Reason::input && op.reason != Reason::before && op.reason != Reason::order) {
    return {};
  }
  return op.by.a == no_task ? QString() : qt_text(task_text(a, op.by.a));
}

void add_op(QTreeWidgetItem* reason, const ShownPair& pair, const OpDifference& op) {
  const Plan& plan = pair.a->run->plan;
  auto* row = new NumberedRow(reason);
  row->setText(0, qt_text(task_text(plan, op.task.a)));
  row->set_task(op.task.b);
  row->setData(0, run_role, pair.now);
  row->setText(1, qt_text(place_text(plan, plan.class_of(op.task.a).resource)));
  set_signed(*row, 2, op.start);
  set_signed(*row, 3, op.duration());
  set_signed(*row, 4, op.end);
  row->setText(5, cause_of_op(plan, op));
}

}  // namespace

ComparisonPanel::ComparisonPanel() : report_(new QPlainTextEdit), residuals_(new ResidualMap) {
  report_->setFont(fixed_font());
  report_->setReadOnly(true);
  report_->setLineWrapMode(QPlainTextEdit::NoWrap);
  report_->setAccessibleName("Comparison");
  report_->setPlaceholderText("Freeze a reference (Ctrl+D) or compare with a file");
  kinds_ = make_table({"kind", "in A", "now", "now − A", "%", "ops in A", "ops, now − A"},
                      "Differences by kind", {});
  moved_ = make_table({"op", "where", "begin, now − A", "length, now − A", "end, now − A", "after"},
                      "Ops that moved most, by cause", {});
  for (QTreeWidget* table : {kinds_, moved_}) table->setRootIsDecorated(true);
  QObject::connect(moved_, &QTreeWidget::itemActivated, moved_, [this](QTreeWidgetItem* row, int) {
    const QVariant task = row->data(0, task_role);
    if (!task.isValid() || !on_op) return;
    on_op({task.toUInt(), static_cast<std::uint8_t>(row->data(0, run_role).toUInt())});
  });
  auto* parts = new QSplitter;
  for (QWidget* part : std::initializer_list<QWidget*>{kinds_, report_, residuals_}) {
    parts->addWidget(part);
  }
  parts->setSizes({540, 400, 360});
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(4, 4, 4, 4);
  row->addWidget(parts);
}

void ComparisonPanel::fill_kinds(const std::vector<ShownPair>& pairs) {
  start_rows(*kinds_);
  for (const ShownPair& pair : pairs) {
    auto* top = heading(kinds_, nullptr, QString("%1 − A, on all ranks").arg(pair.letter));
    for (const KindChange& kind : pair.pair->kinds) add_kind(top, kind);
  }
  finish_rows(*kinds_);
}

void ComparisonPanel::fill_moved(const std::vector<ShownPair>& pairs) {
  start_rows(*moved_);
  for (const ShownPair& pair : pairs) {
    for (const MovedOps& moved : pair.pair->moved) {
      QString text = QString("%1 − A: %2, %3")
                         .arg(pair.letter)
                         .arg(reason_text(moved.reason), qt_text(counted(moved.ops, "op")));
      const bool is_own = moved.reason == Reason::duration || moved.reason == Reason::wait;
      if (is_own) text += ", together " + qt_text(signed_time(moved.own.picoseconds));
      if (moved.most.size() < moved.ops) text += QString("; first %1").arg(moved.most.size());
      auto* reason = heading(moved_, nullptr, text);
      for (const OpDifference& op : moved.most) add_op(reason, pair, op);
    }
  }
  finish_rows(*moved_);
}

void ComparisonPanel::show_pairs(const std::vector<ShownPair>& pairs) {
  fill_kinds(pairs);
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
