#include "gui/views/panels/heat_map.hpp"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr int map_left = 28;
constexpr int map_bottom = 22;

}  // namespace

ResidualMap::ResidualMap(QWidget* parent) : QWidget(parent) {
  setMinimumHeight(90);
  setAccessibleName("Differences of durations by stage and microbatch");
}

void ResidualMap::show_residuals(std::vector<std::vector<double>> residuals,
                                 const QString& without) {
  residuals_ = std::move(residuals);
  largest_ = 0;
  for (const auto& stage : residuals_) {
    for (const double value : stage) largest_ = std::max(largest_, std::fabs(value));
  }
  without_ = residuals_.empty() ? without : "Durations as in A";
  setAccessibleDescription(
      largest_ == 0 ? without_ : QString("largest difference %1 %").arg(100 * largest_, 0, 'f', 1));
  update();
}

void ResidualMap::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(palette().color(QPalette::WindowText));
  if (largest_ == 0) {
    painter.drawText(rect(), Qt::AlignCenter, without_);
    return;
  }
  const double wide =
      static_cast<double>(width() - map_left - 4) / static_cast<double>(residuals_.front().size());
  const double high =
      static_cast<double>(height() - map_bottom) / static_cast<double>(residuals_.size());
  for (std::size_t s = 0; s < residuals_.size(); ++s) {
    for (std::size_t m = 0; m < residuals_[s].size(); ++m) {
      const double value = residuals_[s][m] / largest_;
      const Colour end = value > 0 ? later_colour : earlier_colour;
      const QColor ground = palette().color(QPalette::AlternateBase);
      const Colour base{static_cast<std::uint8_t>(ground.red()),
                        static_cast<std::uint8_t>(ground.green()),
                        static_cast<std::uint8_t>(ground.blue())};
      painter.fillRect(
          QRectF(map_left + static_cast<double>(m) * wide, static_cast<double>(s) * high,
                 std::max(1.0, wide - 1), std::max(1.0, high - 1)),
          qt_colour(mix(base, end, std::fabs(value))));
    }
    const QFontMetrics metrics(font());
    if (high >= metrics.height() || s % 4 == 0) {
      painter.drawText(QRectF(0, static_cast<double>(s) * high, map_left - 4,
                              std::max<double>(high, metrics.height())),
                       Qt::AlignRight | Qt::AlignTop, QString::number(s));
    }
  }
  painter.drawText(QRect(map_left, height() - map_bottom, width() - map_left, map_bottom),
                   Qt::AlignCenter,
                   QString("microbatch; full colour: %1 % of A").arg(100 * largest_, 0, 'f', 1));
}

bool ResidualMap::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && !residuals_.empty() && !residuals_.front().empty()) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const double wide = static_cast<double>(width() - map_left - 4) /
                        static_cast<double>(residuals_.front().size());
    const double high =
        static_cast<double>(height() - map_bottom) / static_cast<double>(residuals_.size());
    const auto s = static_cast<std::size_t>(std::max(0.0, help->pos().y() / high));
    const auto m = static_cast<std::size_t>(std::max(0.0, (help->pos().x() - map_left) / wide));
    if (s < residuals_.size() && m < residuals_[s].size()) {
      QToolTip::showText(help->globalPos(), QString("stage %1, microbatch %2: %3 %")
                                                .arg(s)
                                                .arg(m)
                                                .arg(100 * residuals_[s][m], 0, 'f', 2));
    }
    return true;
  }
  return QWidget::event(event);
}

}  // namespace penstock
