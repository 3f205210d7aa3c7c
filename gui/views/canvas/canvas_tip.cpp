#include "gui/views/canvas/canvas_tip.hpp"

#include <QCoreApplication>
#include <QPainter>
#include <QPointer>
#include <QScreen>
#include <QThreadPool>
#include <algorithm>

#include "gui/models/run/slack.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr int widest = 460;
constexpr int margin = 6;
constexpr QPoint beside{16, 18};  // of the pointer
constexpr TaskId found_at_once = 20000;

QString linked(const Fact& fact, bool whole) {
  const QString text = qt_text(fact.text).toHtmlEscaped();
  if (!whole || fact.op.is_none()) return text;
  return QString("<a href=\"op:%1:%2\">%3</a>").arg(fact.op.run).arg(fact.op.task).arg(text);
}

}  // namespace

QString html_of(const Facts& facts, const Theme& theme, bool whole) {
  const QString faint = qt_colour(theme.faint_ink).name();
  QString brief;
  QString rest;
  for (const Fact& fact : facts.all) {
    (fact.brief ? brief : rest) +=
        QString("<tr><td style=\"color:%1; padding-right:8px\">%2</td><td>%3</td></tr>")
            .arg(faint, qt_text(fact.name).toHtmlEscaped(), linked(fact, whole));
  }
  const auto table = [](const QString& rows) {
    return rows.isEmpty() ? QString() : "<table cellspacing=\"0\">" + rows + "</table>";
  };
  QString text = "<b>" + qt_text(facts.title).toHtmlEscaped() + "</b>" + table(brief);
  if (!whole || rest.isEmpty()) return text;
  return "<table><tr><td style=\"padding-right:24px\">" + text + "</td><td>" + table(rest) +
         "</td></tr></table>";
}

CanvasTip::CanvasTip(QWidget* canvas)
    : QWidget(canvas, Qt::ToolTip | Qt::WindowTransparentForInput) {
  setAttribute(Qt::WA_ShowWithoutActivating);
  document_.setDocumentMargin(margin);
}

void CanvasTip::show_facts(const Facts& facts, const Theme& theme, QPoint pointer) {
  if (facts.title.empty()) return hide();
  const QString html = QString("<div style=\"color:%1\">").arg(qt_colour(theme.ink).name()) +
                       html_of(facts, theme, false) + "</div>";
  if (html != shown_) {
    shown_ = html;
    document_.setDefaultFont(parentWidget()->font());
    document_.setTextWidth(-1);
    document_.setHtml(html);
    if (document_.idealWidth() > widest) document_.setTextWidth(widest);
    update();
  }
  const QRect room = parentWidget()->screen()->availableGeometry();
  QRect place(pointer + beside, document_.size().toSize());
  if (place.right() > room.right()) place.moveRight(pointer.x() - beside.x());
  if (place.bottom() > room.bottom()) place.moveBottom(pointer.y() - beside.y());
  place.moveTo(std::max(room.left(), place.left()), std::max(room.top(), place.top()));
  setGeometry(place);
  show();
}

void CanvasTip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::ToolTipBase));
  document_.drawContents(&painter);
  painter.setPen(palette().color(QPalette::Mid));
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

SlackFinder::Slack SlackFinder::of(const ViewedRunPtr& run) {
  if (run->brief || !has_slack(*run)) return nullptr;
  const auto known = slack_.find(run);
  if (known != slack_.end()) return known->second;
  const auto find = [run] { return std::make_shared<const std::vector<float>>(slack_of(*run)); };
  if (run->plan.tasks() < found_at_once) return slack_[run] = find();
  slack_[run] = nullptr;
  QThreadPool::globalInstance()->start([run, find, finder = QPointer<SlackFinder>(this)] {
    Slack slack = find();
    QMetaObject::invokeMethod(
        qApp,
        [run, finder, slack = std::move(slack)] {
          if (finder == nullptr || !finder->slack_.contains(run)) return;
          finder->slack_[run] = slack;
          finder->on_found();
        },
        Qt::QueuedConnection);
  });
  return nullptr;
}

void SlackFinder::keep(const std::vector<PaintedRunPtr>& runs) {
  std::erase_if(slack_, [&](const auto& each) {
    return std::none_of(runs.begin(), runs.end(),
                        [&](const PaintedRunPtr& run) { return run->run == each.first; });
  });
}

}  // namespace penstock
