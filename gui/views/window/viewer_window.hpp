#pragma once

#include <QAction>
#include <QMainWindow>
#include <QProgressBar>
#include <QTimer>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gui/views/panels/notice.hpp"
#include "gui/views/window/run_files.hpp"
#include "gui/views/window/run_panels.hpp"
#include "gui/views/window/run_ranks.hpp"
#include "gui/views/window/run_steps.hpp"

namespace penstock {

class ViewerWindow;

/// What the menu of the timeline is asked for; an action is offered on some of them.
enum MenuOn : std::uint8_t {
  on_nothing = 0,
  on_op = 1,
  on_gap = 2,
  on_area = 4,
  on_empty = 8,
  on_memory = 16,
  on_all = 31
};

/// Something that a person can do. Menus, keys, the palette of actions, the help sheet and the
/// tests are made from the one table of these.
struct ViewerAction {
  std::string_view id;
  std::string_view menu;
  std::string_view text;
  std::string_view keys;  // as QKeySequence reads them, several with a blank between; may be empty
  void (*run)(ViewerWindow& window);
  bool needs_run = true;  // disabled while nothing is open
  std::uint8_t menu_on = on_nothing;
};

/// By menu, in the order of the menus.
const std::vector<ViewerAction>& viewer_actions();

/// The window: it wires those that change and show the open runs, and gives them menus, keys and a
/// status bar.
class ViewerWindow : public QMainWindow {
 public:
  explicit ViewerWindow(ThemeName theme);
  /// Timelines tell it that they are hidden, as long as it is all there.
  ~ViewerWindow() override { hide(); }

  OpenRuns& runs() { return runs_; }
  RunChanges& changes() { return changes_; }
  RunComparison& comparison() { return comparison_; }
  RunFiles& files() { return files_; }
  RunSteps& steps() { return steps_; }
  RunRanks& ranks() { return ranks_; }
  RunPanels& panels() { return panels_; }

  OpenRun* now() { return runs_.now(); }
  TimelineCanvas* canvas() { return runs_.canvas(); }
  std::size_t count() const { return runs_.all().size(); }
  QAction* action(std::string_view id) const;
  QString message() const { return runs_.message(); }
  QString status() { return panels_.selection_line().text(); }
  ThemeName theme_name() const { return runs_.theme_name(); }
  void set_theme(ThemeName name);
  void cycle_theme();
  /// Takes up place, panels and marks of the last time, and remembers them when it is closed.
  void take_up();
  /// Whether any second thread works.
  bool busy() const { return runs_.busy(); }
  /// Waits for all second threads.
  void finish();

  void show_actions();
  void show_lanes();
  void show_help();
  /// Order and filter of the ranks, as a menu at the pointer.
  void show_rank_menu();
  /// The menu of the timeline, at a place of the screen: what can be done with the selection.
  void show_menu(QPoint at);
  /// The status bar in full: what does not fit is cut off there.
  void show_whole_message();

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void closeEvent(QCloseEvent* event) override;

 private:
  void wire();
  void connect_canvas(TimelineCanvas& canvas);
  void build_status();
  void build_actions();
  void refresh();
  void refresh_busy();

  QTabWidget* tabs_;
  QProgressBar* busy_;  // something is worked on
  QTimer busy_soon_;
  TextLine* hover_;
  bool remembers_ = false;
  TextLine* message_;
  Notice* notice_;
  std::map<std::string, QAction*, std::less<>> actions_;
  OpenRuns runs_;
  RunChanges changes_;
  RunComparison comparison_;
  RunFiles files_;
  RunSteps steps_;
  RunRanks ranks_;
  RunPanels panels_;
};

}  // namespace penstock
