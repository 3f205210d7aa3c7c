#include "gui/views/panels/sweep_panel.hpp"

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QSplitter>
#include <QToolTip>
#include <QTreeWidgetItemIterator>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "experiments/input/files/table.hpp"
#include "experiments/show/pictures/axis.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr double reach = 9;  // pixels from a point
constexpr double radius = 4;

/// The row that an item of the list is of.
std::optional<std::size_t> row_of(const QTreeWidgetItem* item) {
  if (item == nullptr || item->childCount() > 0) return std::nullopt;
  return static_cast<std::size_t>(item->data(0, number_role).toDouble());
}

}  // namespace

SweepPlot::SweepPlot() {
  setMinimumSize(180, 90);
  setAccessibleName("Sweep as points");
}

void SweepPlot::show_sweep(const RowTable* rows) {
  rows_ = rows;
  marked_.reset();
  update();
}

SweepPlot::Axis SweepPlot::axis_of(std::size_t column) const {
  Axis axis{.column = column, .label = sweep_heading(rows_->columns[column])};
  bool any = false;
  for (const auto& row : rows_->rows) {
    const std::optional<double> number = row[column].number();
    if (!number) {
      const QString word = qt_text(row[column].text);
      if (!row[column].empty() && !axis.words.contains(word)) axis.words << word;
      continue;
    }
    const double value = sweep_number(rows_->columns[column], *number);
    axis.least = any ? std::min(axis.least, value) : value;
    axis.most = any ? std::max(axis.most, value) : value;
    any = true;
  }
  if (any) axis.words.clear();
  if (!axis.words.isEmpty()) axis.least = 0, axis.most = static_cast<double>(axis.words.size() - 1);
  if (axis.most <= axis.least) axis.least -= 0.5, axis.most += 0.5;
  return axis;
}

void SweepPlot::set_axes(std::size_t x, std::size_t y) {
  x_ = axis_of(x);
  y_ = axis_of(y);
  std::size_t points = 0;
  for (std::size_t row = 0; row < rows_->rows.size(); ++row) points += place_of(row) ? 1 : 0;
  setAccessibleDescription(QString("%1 over %2: %3 of %4 rows have a point")
                               .arg(y_.label, x_.label)
                               .arg(points)
                               .arg(rows_->rows.size()));
  update();
}

void SweepPlot::set_colours(std::optional<std::size_t> column) {
  coloured_ = column;
  names_.clear();
  for (const auto& row : rows_->rows) {
    const QString name = column ? qt_text(row[*column].text) : QString();
    if (column && !names_.contains(name)) names_ << name;
  }
  update();
}

void SweepPlot::mark(std::optional<std::size_t> row) {
  marked_ = row;
  update();
}

std::optional<double> SweepPlot::value_of(std::size_t row, const Axis& axis) const {
  const TableCell& cell = rows_->rows[row][axis.column];
  if (!axis.words.isEmpty()) {
    const qsizetype word = axis.words.indexOf(qt_text(cell.text));
    return word < 0 ? std::nullopt : std::optional(static_cast<double>(word));
  }
  const std::optional<double> number = cell.number();
  if (!number) return std::nullopt;
  return sweep_number(rows_->columns[axis.column], *number);
}

QString SweepPlot::text_of(std::size_t row, const Axis& axis) const {
  const std::optional<double> value = value_of(row, axis);
  const QString shown = axis.words.isEmpty() && value ? qt_text(number_text(*value))
                                                      : qt_text(rows_->rows[row][axis.column].text);
  return axis.label + ": " + shown;
}

QRectF SweepPlot::field() const {
  const QFontMetrics metrics(font());
  const double left = metrics.horizontalAdvance("000000") + 8;
  return QRectF(left, metrics.height() + 8, width() - left - 14,
                height() - 3.0 * metrics.height() - 14);
}

std::optional<QPointF> SweepPlot::place_of(std::size_t row) const {
  const std::optional<double> x = value_of(row, x_);
  const std::optional<double> y = value_of(row, y_);
  if (!x || !y) return std::nullopt;
  const QRectF room = field().adjusted(8, 6, -8, -6);
  return QPointF(Scale{x_.least, x_.most, room.left(), room.right()}(*x),
                 Scale{y_.least, y_.most, room.bottom(), room.top()}(*y));
}

std::optional<std::size_t> SweepPlot::row_at(QPointF point) const {
  std::optional<std::size_t> nearest;
  double best = reach;
  for (std::size_t row = 0; rows_ != nullptr && row < rows_->rows.size(); ++row) {
    const std::optional<QPointF> place = place_of(row);
    if (!place) continue;
    const double distance = std::hypot(place->x() - point.x(), place->y() - point.y());
    if (distance > best) continue;
    best = distance;
    nearest = row;
  }
  return nearest;
}

/// The ends of both axes, or each word of one that has words.
void SweepPlot::paint_axes(QPainter& painter) const {
  const QRectF room = field();
  const QRectF inner = room.adjusted(8, 6, -8, -6);
  const int line = fontMetrics().height();
  painter.setPen(palette().color(QPalette::Mid));
  painter.drawRect(room);
  painter.setPen(palette().color(QPalette::WindowText));
  const auto marks = [](const Axis& axis) {
    std::vector<std::pair<double, QString>> all;
    for (qsizetype w = 0; w < axis.words.size(); ++w) {
      all.emplace_back(static_cast<double>(w), axis.words[w]);
    }
    for (const double value : {axis.least, (axis.least + axis.most) / 2, axis.most}) {
      if (axis.words.isEmpty()) all.emplace_back(value, qt_text(number_text(value)));
    }
    return all;
  };
  for (const auto& [value, text] : marks(x_)) {
    const double x = Scale{x_.least, x_.most, inner.left(), inner.right()}(value);
    const double half = fontMetrics().horizontalAdvance(text) / 2.0;
    const double left = std::clamp(x - half, 0.0, std::max(0.0, width() - 2 * half));
    painter.drawText(QPointF(left, room.bottom() + line), text);
  }
  for (const auto& [value, text] : marks(y_)) {
    const double y = Scale{y_.least, y_.most, inner.bottom(), inner.top()}(value);
    painter.drawText(
        QRectF(0, y - line / 2.0, room.left() - 4, line), Qt::AlignRight | Qt::AlignVCenter,
        fontMetrics().elidedText(text, Qt::ElideRight, static_cast<int>(room.left()) - 4));
  }
  painter.drawText(QRectF(0, height() - line - 2, width() - 6, line), Qt::AlignRight, x_.label);
  painter.drawText(QRectF(4, 0, width() - 8, line), Qt::AlignLeft, y_.label);
}

/// What the colours mean, from the right to the left, as far as there is room.
void SweepPlot::paint_names(QPainter& painter) const {
  double right = width() - 6;
  const double middle = fontMetrics().height() / 2.0;
  const double least = fontMetrics().horizontalAdvance(y_.label) + 20;
  for (qsizetype n = names_.size() - 1; n >= 0; --n) {
    const double wide = fontMetrics().horizontalAdvance(names_[n]) + 16;
    if (right - wide < least) return;
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(QPointF(right - wide + 12, fontMetrics().ascent()), names_[n]);
    painter.setBrush(qt_colour(series_colour(static_cast<std::size_t>(n) % series_colours)));
    painter.drawEllipse(QPointF(right - wide + 4, middle), radius, radius);
    right -= wide + 6;
  }
}

void SweepPlot::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (rows_ == nullptr || rows_->rows.empty()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect(), Qt::AlignCenter, "Open results of a sweep (.jsonl)");
    return;
  }
  paint_axes(painter);
  painter.setRenderHint(QPainter::Antialiasing);
  paint_names(painter);
  for (std::size_t row = 0; row < rows_->rows.size(); ++row) {
    const std::optional<QPointF> place = place_of(row);
    if (!place) continue;
    const bool is_marked = marked_ == row;
    QColor fill = palette().color(QPalette::Highlight);
    if (coloured_) {
      const qsizetype name = names_.indexOf(qt_text(rows_->rows[row][*coloured_].text));
      fill = qt_colour(series_colour(static_cast<std::size_t>(name) % series_colours));
    }
    fill.setAlpha(is_marked ? 255 : 190);
    const bool is_answer = rows_->finding_of(rows_->rows[row]).empty();
    painter.setBrush(is_answer ? QBrush(fill) : QBrush(Qt::NoBrush));
    painter.setPen(QPen(palette().color(QPalette::WindowText), is_marked ? 2 : 1));
    painter.drawEllipse(*place, is_marked ? radius + 2 : radius, is_marked ? radius + 2 : radius);
  }
}

void SweepPlot::mouseReleaseEvent(QMouseEvent* event) {
  const std::optional<std::size_t> row = row_at(event->position());
  if (row && on_pick) on_pick(*row);
}

void SweepPlot::mouseDoubleClickEvent(QMouseEvent* event) {
  const std::optional<std::size_t> row = row_at(event->position());
  if (row && on_open) on_open(*row);
}

bool SweepPlot::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const std::optional<std::size_t> row = row_at(help->pos());
  if (!row) {
    QToolTip::hideText();
    return true;
  }
  QStringList lines{QString("row %1").arg(*row)};
  for (const std::size_t column : compared_columns(*rows_)) lines << text_of(*row, axis_of(column));
  QToolTip::showText(help->globalPos(), lines.join('\n'), this);
  return true;
}

SweepPanel::SweepPanel()
    : list_(new TablePanel({}, "Rows of a sweep")),
      plot_(new SweepPlot),
      x_(new QComboBox),
      y_(new QComboBox),
      colour_(new QComboBox) {
  x_->setAccessibleName("Across");
  y_->setAccessibleName("Up");
  colour_->setAccessibleName("Colours");
  auto* choices = new QHBoxLayout;
  choices->addWidget(y_, 1);
  choices->addWidget(new QLabel("over"));
  choices->addWidget(x_, 1);
  choices->addWidget(new QLabel("by"));
  choices->addWidget(colour_, 1);
  auto* right = new QWidget;
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(4, 2, 4, 2);
  column->addLayout(choices);
  column->addWidget(plot_, 1);
  auto* parts = new QSplitter;
  parts->addWidget(list_);
  parts->addWidget(right);
  parts->setStretchFactor(0, 3);
  parts->setStretchFactor(1, 2);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(parts);
  for (QComboBox* choice : {x_, y_, colour_}) {
    choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    connect(choice, &QComboBox::activated, this, [this] { choose(); });
  }
  QTreeWidget& table = list_->table();
  connect(&table, &QTreeWidget::currentItemChanged, this,
          [this](QTreeWidgetItem* item) { plot_->mark(row_of(item)); });
  connect(&table, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) {
    if (const auto number = row_of(item)) on_row(*number);
  });
  plot_->on_pick = [this](std::size_t number) { mark(number); };
  plot_->on_open = [this](std::size_t number) { on_row(number); };
}

void SweepPanel::show_sweep(const RowTable& rows) {
  rows_ = rows;
  list_->set_columns(sweep_columns(rows_));
  list_->fill([this](ListRows& items) { return fill_sweep(items, rows_); });
  plot_->show_sweep(&rows_);
  fill_choices();
}

/// Of what varies, numbers go across and words have colours; a result goes up.
void SweepPanel::fill_choices() {
  const std::vector<std::size_t> columns = compared_columns(rows_);
  const std::size_t varied = rows_.varied().size();
  for (QComboBox* choice : {x_, y_, colour_}) choice->clear();
  colour_->addItem("one colour", -1);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const QString heading = sweep_heading(rows_.columns[columns[c]]);
    x_->addItem(heading, static_cast<int>(columns[c]));
    y_->addItem(heading, static_cast<int>(columns[c]));
    if (c < varied) colour_->addItem(heading, static_cast<int>(columns[c]));
  }
  const auto first = [&](bool words) {
    for (std::size_t c = 0; c < varied; ++c) {
      if (!rows_.rows.front()[columns[c]].number() == words) return static_cast<int>(c);
    }
    return -1;
  };
  x_->setCurrentIndex(std::max(0, first(false)));
  y_->setCurrentIndex(varied < columns.size() ? static_cast<int>(varied) : 0);
  colour_->setCurrentIndex(first(true) + 1);
  choose();
}

void SweepPanel::choose() {
  if (x_->currentIndex() < 0 || y_->currentIndex() < 0) return;
  const auto column = [](const QComboBox* choice) {
    return static_cast<std::size_t>(choice->currentData().toInt());
  };
  plot_->set_axes(column(x_), column(y_));
  plot_->set_colours(colour_->currentIndex() > 0 ? std::optional(column(colour_)) : std::nullopt);
}

void SweepPanel::mark(std::size_t row) {
  plot_->mark(row);
  for (QTreeWidgetItemIterator item(&list_->table()); *item != nullptr; ++item) {
    if (row_of(*item) == row) list_->table().setCurrentItem(*item);
  }
}

}  // namespace penstock
