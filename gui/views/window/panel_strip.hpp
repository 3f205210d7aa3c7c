#pragma once

#include <QDockWidget>
#include <QMainWindow>
#include <QToolBar>
#include <QToolButton>
#include <set>
#include <vector>

namespace penstock {

/// Where a panel opens. Of each group, at most one docked panel is open.
enum class PanelGroup : std::uint8_t { below, beside, legend };

/// The panels of a window, folded to a strip of buttons along its lower edge: a button opens its
/// panel, and folds it again.
class PanelStrip : public QToolBar {
 public:
  explicit PanelStrip(QMainWindow& window);

  void add(const QString& title, QWidget* content, PanelGroup group);
  const std::vector<QDockWidget*>& docks() const { return docks_; }
  /// Opens a panel in the place of the one that its group shows.
  void open(const QString& title);
  /// The same, unless the group is folded.
  void open_if_unfolded(const QString& title);
  /// Folds all; or opens again what was open.
  void toggle_all();
  /// Opens what leaves most of a window of this size to the timeline, until a hand has folded or
  /// opened a panel.
  void fit_to(QSize window);
  /// Leaves the panels as they are now.
  void keep() { kept_ = true; }
  QToolButton* button_of(const QString& title) const;

 private:
  QDockWidget* find(const QString& title) const;
  PanelGroup group_of(const QDockWidget* dock) const;
  void take_place(QDockWidget* opened);
  bool is_open(PanelGroup group) const;

  QMainWindow& window_;
  std::vector<QDockWidget*> docks_;
  std::vector<PanelGroup> groups_;     // by dock
  std::vector<QToolButton*> buttons_;  // by dock
  std::vector<QDockWidget*> folded_;   // by `toggle_all`
  std::set<PanelGroup> sized_;
  bool kept_ = false;
};

}  // namespace penstock
