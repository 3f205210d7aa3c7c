#include "gui/views/panels/selection_panel.hpp"

#include <QHBoxLayout>
#include <QPainter>
#include <QSplitter>
#include <algorithm>
#include <initializer_list>

#include "experiments/input/files/table.hpp"
#include "gui/models/view/time_axis.hpp"
#include "gui/views/canvas/canvas_tip.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/panels/tables.hpp"

namespace penstock {
namespace {

constexpr int row_role = Qt::UserRole + 2;

QString group_title(AreaGroup group) {
  if (group == AreaGroup::kind) return "by kind";
  return group == AreaGroup::stage ? "by stage" : "by cause of idle time";
}

}  // namespace

LengthHistogram::LengthHistogram() {
  setMinimumSize(150, 80);
  setAccessibleName("Lengths");
}

void LengthHistogram::show_row(const AreaRow& row) {
  row_ = row;
  setAccessibleDescription(row.count == 0 ? QString()
                                          : QString("%1 of %2, from %3 to %4")
                                                .arg(qt_text(row.name))
                                                .arg(row.count)
                                                .arg(qt_text(short_time(row.shortest)),
                                                     qt_text(short_time(row.longest))));
  update();
}

void LengthHistogram::paintEvent(QPaintEvent*) {
  if (row_.lengths.empty()) return;
  QPainter painter(this);
  const int line = fontMetrics().height() + 2;
  const std::uint32_t most = *std::max_element(row_.lengths.begin(), row_.lengths.end());
  const QRect bars = rect().adjusted(4, line, -4, -line);
  const double wide = static_cast<double>(bars.width()) / static_cast<double>(row_.lengths.size());
  for (std::size_t i = 0; i < row_.lengths.size(); ++i) {
    const double high = bars.height() * static_cast<double>(row_.lengths[i]) / most;
    if (row_.lengths[i] == 0) continue;
    painter.fillRect(
        QRectF(bars.left() + static_cast<double>(i) * wide, bars.bottom() - std::max(2.0, high),
               std::max(1.0, wide - 1), std::max(2.0, high)),
        palette().color(QPalette::Highlight));
  }
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawLine(bars.bottomLeft(), bars.bottomRight());
  painter.drawText(QRect(4, 0, width() - 8, line), Qt::AlignLeft,
                   QString("length of %1; highest: %2").arg(qt_text(row_.name)).arg(most));
  const QRect below(4, height() - line, width() - 8, line);
  painter.drawText(below, Qt::AlignLeft, qt_text(short_time(row_.shortest)));
  painter.drawText(below, Qt::AlignRight, qt_text(short_time(row_.longest)));
}

SelectionPanel::SelectionPanel() : facts_(new QTextBrowser), lengths_(new LengthHistogram) {
  facts_->setOpenLinks(false);
  facts_->setFrameShape(QFrame::NoFrame);
  facts_->setAccessibleName("What is selected");
  facts_->setPlaceholderText("Click an op, a gap or a step of memory, or drag over an area");
  table_ = make_table({"", "count", "time", "% of the area", "mean length", "longest", ""},
                      "Ops and idle time of the area");
  table_->setRootIsDecorated(true);
  auto* parts = new QSplitter;
  for (QWidget* part : std::initializer_list<QWidget*>{facts_, table_, lengths_}) {
    parts->addWidget(part);
  }
  parts->setStretchFactor(0, 3);
  parts->setStretchFactor(1, 4);
  parts->setStretchFactor(2, 2);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(parts);
  QObject::connect(facts_, &QTextBrowser::anchorClicked, facts_, [this](const QUrl& url) {
    const QStringList parts_of_url = url.toString().split(':');
    if (parts_of_url.size() != 3 || !on_op) return;
    on_op({parts_of_url[2].toUInt(), static_cast<std::uint8_t>(parts_of_url[1].toUInt())});
  });
  QObject::connect(table_, &QTreeWidget::currentItemChanged, table_, [this] { show_lengths(); });
  hide_rows();
}

void SelectionPanel::show_facts(const Facts& facts, const Theme& theme) {
  const QString html = facts.title.empty() ? QString() : html_of(facts, theme, true);
  facts_->setHtml(html);
}

void SelectionPanel::hide_rows() {
  rows_.clear();
  table_->hide();
  lengths_->hide();
}

void SelectionPanel::wait_for_rows() {
  facts_->append("counting …");
  table_->setEnabled(false);
  lengths_->setEnabled(false);
}

void SelectionPanel::show_rows(std::vector<AreaRow> rows, double time, const QString& compared) {
  rows_ = std::move(rows);
  start_rows(*table_);
  QTreeWidgetItem* group = nullptr;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const AreaRow& row = rows_[i];
    if (i == 0 || rows_[i - 1].group != row.group) {
      group = new QTreeWidgetItem(table_, {group_title(row.group)});
      group->setExpanded(true);
    }
    auto* item = new NumberedRow(group);
    item->setText(0, qt_text(row.name));
    item->setData(0, row_role, static_cast<int>(i));
    item->set(1, QString::number(row.count), static_cast<double>(row.count));
    item->set_amount(2, NumberKind::time, static_cast<double>(row.sum));
    const double share = time == 0 ? 0 : 100.0 * static_cast<double>(row.sum) / time;
    item->set(3, QString::number(share, 'f', 1), share);
    item->set_time(4, {row.mean()});
    item->set_time(5, {row.longest});
    if (compared.isEmpty()) continue;  // a column without anything is hidden
    item->set(6, qt_text(signed_time(row.change)), static_cast<double>(row.change));
  }
  finish_rows(*table_);
  table_->headerItem()->setText(6, "time, " + compared);
  for (QWidget* part : std::initializer_list<QWidget*>{table_, lengths_}) {
    part->setEnabled(true);
    part->show();
  }
  show_lengths();
}

/// Of the current row, else of the first.
void SelectionPanel::show_lengths() {
  const QTreeWidgetItem* const item = table_->currentItem();
  const QVariant at = item == nullptr ? QVariant() : item->data(0, row_role);
  const auto row = static_cast<std::size_t>(at.isValid() ? at.toInt() : 0);
  lengths_->show_row(row < rows_.size() ? rows_[row] : AreaRow{});
}

QString SelectionPanel::text() const {
  QStringList lines{facts_->toPlainText()};
  for (const AreaRow& row : rows_) {
    lines << QString("%1\t%2\t%3\t%4\t%5")
                 .arg(qt_text(row.name))
                 .arg(row.count)
                 .arg(qt_text(exact_time(row.sum)), qt_text(exact_time(row.mean())),
                      qt_text(exact_time(row.longest)));
  }
  return lines.join('\n');
}

}  // namespace penstock
