#include "gui/views/window/panel_strip.hpp"

#include <algorithm>

namespace penstock {
namespace {

constexpr int height_below = 210;
constexpr int width_beside = 340;

// The least window in which a group is open from the start.
constexpr QSize least_for_below{1100, 1000};
constexpr QSize least_for_beside{1100, 640};
constexpr QSize least_for_legend{1100, 760};

/// Narrow, so that all of them fit along a small window.
class StripButton : public QToolButton {
 public:
  explicit StripButton(QAction& action) {
    setDefaultAction(&action);
    setToolButtonStyle(Qt::ToolButtonTextOnly);
    setAutoRaise(true);
    setFocusPolicy(Qt::TabFocus);
    setAccessibleName(action.text() + " panel");
    QFont small = font();
    small.setPointSizeF(9);
    setFont(small);
  }
  QSize sizeHint() const override {
    return {fontMetrics().horizontalAdvance(text()) + 8, fontMetrics().height() + 8};
  }
};

bool fits(QSize least, QSize window) {
  return window.width() >= least.width() && window.height() >= least.height();
}

}  // namespace

PanelStrip::PanelStrip(QMainWindow& window) : QToolBar("Panels"), window_(window) {
  setObjectName("Panels");
  setMovable(false);
  window_.addToolBar(Qt::BottomToolBarArea, this);
}

void PanelStrip::add(const QString& title, QWidget* content, PanelGroup group) {
  auto* dock = new QDockWidget(title, &window_);
  dock->setObjectName(title);
  dock->setWidget(content);
  const bool is_below = group == PanelGroup::below;
  window_.addDockWidget(is_below ? Qt::BottomDockWidgetArea : Qt::RightDockWidgetArea, dock);
  const auto first = std::find(groups_.begin(), groups_.end(), group);
  // Those of a group share one place and its size.
  if (first != groups_.end()) {
    window_.tabifyDockWidget(docks_[static_cast<std::size_t>(first - groups_.begin())], dock);
  }
  const bool starts_group = !groups_.empty() && groups_.back() != group;
  if (starts_group) addSeparator();
  docks_.push_back(dock);
  groups_.push_back(group);
  dock->hide();
  buttons_.push_back(new StripButton(*dock->toggleViewAction()));
  addWidget(buttons_.back());
  connect(dock->toggleViewAction(), &QAction::triggered, this, [this, dock](bool opened) {
    keep();
    if (opened) take_place(dock);
  });
}

QDockWidget* PanelStrip::find(const QString& title) const {
  const auto found = std::find_if(docks_.begin(), docks_.end(), [&](const QDockWidget* dock) {
    return dock->objectName() == title;
  });
  return found == docks_.end() ? nullptr : *found;
}

QToolButton* PanelStrip::button_of(const QString& title) const {
  const auto at = std::find(docks_.begin(), docks_.end(), find(title));
  return at == docks_.end() ? nullptr : buttons_[static_cast<std::size_t>(at - docks_.begin())];
}

PanelGroup PanelStrip::group_of(const QDockWidget* dock) const {
  const auto at = std::find(docks_.begin(), docks_.end(), dock);
  return groups_[static_cast<std::size_t>(at - docks_.begin())];
}

/// Folds the others of its group, and gives the group its size when it is opened first.
void PanelStrip::take_place(QDockWidget* opened) {
  const PanelGroup group = group_of(opened);
  for (std::size_t d = 0; d < docks_.size(); ++d) {
    if (docks_[d] != opened && groups_[d] == group && !docks_[d]->isFloating()) docks_[d]->hide();
  }
  if (!sized_.insert(group).second) return;
  const bool below = group == PanelGroup::below;
  window_.resizeDocks({opened}, {below ? height_below : width_beside},
                      below ? Qt::Vertical : Qt::Horizontal);
  if (group == PanelGroup::legend) window_.resizeDocks({opened}, {height_below}, Qt::Vertical);
}

bool PanelStrip::is_open(PanelGroup group) const {
  for (std::size_t d = 0; d < docks_.size(); ++d) {
    if (groups_[d] == group && !docks_[d]->isHidden()) return true;
  }
  return false;
}

void PanelStrip::open(const QString& title) {
  QDockWidget* const dock = find(title);
  if (dock == nullptr) return;
  dock->show();
  take_place(dock);
  dock->raise();
}

void PanelStrip::open_if_unfolded(const QString& title) {
  const QDockWidget* const dock = find(title);
  if (dock != nullptr && is_open(group_of(dock))) open(title);
}

void PanelStrip::toggle_all() {
  keep();
  std::vector<QDockWidget*> open_now;
  std::copy_if(docks_.begin(), docks_.end(), std::back_inserter(open_now),
               [](const QDockWidget* dock) { return !dock->isHidden(); });
  if (open_now.empty()) {
    if (folded_.empty()) folded_ = {docks_.front()};
    for (QDockWidget* dock : folded_) open(dock->objectName());
    return;
  }
  folded_ = open_now;
  for (QDockWidget* dock : open_now) dock->hide();
}

void PanelStrip::fit_to(QSize window) {
  if (kept_) return;
  const auto fit = [&](PanelGroup group, QSize least) {
    if (is_open(group) == fits(least, window)) return;
    const auto first = std::find(groups_.begin(), groups_.end(), group);
    if (first == groups_.end()) return;
    if (fits(least, window)) {
      return open(docks_[static_cast<std::size_t>(first - groups_.begin())]->objectName());
    }
    for (std::size_t d = 0; d < docks_.size(); ++d) {
      if (groups_[d] == group) docks_[d]->hide();
    }
  };
  fit(PanelGroup::below, least_for_below);
  fit(PanelGroup::beside, least_for_beside);
  fit(PanelGroup::legend, least_for_legend);
}

}  // namespace penstock
