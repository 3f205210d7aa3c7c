#include "gui/views/window/viewer_window.hpp"

#include <QMenuBar>
#include <QMimeData>
#include <QStatusBar>
#include <QToolBar>
#include <algorithm>
#include <array>

#include "gui/views/canvas/look.hpp"
#include "gui/views/panels/tables.hpp"
#include "gui/views/window/window_memory.hpp"

namespace penstock {
namespace {

constexpr std::array<const char*, 7> moving_keys{"Left", "Right",  "Up",  "Down",
                                                 "Home", "PgDown", "PgUp"};

QList<QKeySequence> sequences(std::string_view keys) {
  QList<QKeySequence> all;
  for (const QString& key : qt_text(keys).split(' ', Qt::SkipEmptyParts)) {
    all << QKeySequence(key, QKeySequence::PortableText);
  }
  return all;
}

}  // namespace

ViewerWindow::ViewerWindow(ThemeName theme)
    : tabs_(new QTabWidget),
      busy_(new QProgressBar),
      hover_(new TextLine("What is under the pointer")),
      message_(new TextLine("Message")),
      notice_(new Notice),
      runs_(*tabs_, theme),
      changes_(runs_),
      comparison_(runs_, changes_),
      files_(*this, runs_, changes_, comparison_),
      steps_(runs_),
      ranks_(*this, runs_),
      panels_(*this, runs_, changes_) {
  install_canvas_access();
  setWindowTitle("Penstock");
  // What does not fit scrolls.
  setMinimumSize(320, 240);
  resize(1440, 900);
  setAcceptDrops(true);
  setDockOptions(AnimatedDocks | AllowTabbedDocks | AllowNestedDocks);
  tabs_->setTabsClosable(true);
  tabs_->setTabBarAutoHide(true);  // one run needs no tab
  tabs_->setDocumentMode(true);
  tabs_->setAccessibleName("Open runs");
  setCentralWidget(tabs_);
  build_status();
  build_actions();
  wire();
  refresh();
}

void ViewerWindow::wire() {
  connect(tabs_, &QTabWidget::currentChanged, this, [this] {
    changes_.show_tab();
    refresh();
  });
  connect(tabs_, &QTabWidget::tabCloseRequested, this, [this](int tab) {
    tabs_->setCurrentIndex(tab);
    runs_.close();
  });
  runs_.on_canvas = [this](TimelineCanvas& canvas) { connect_canvas(canvas); };
  runs_.on_change = [this] { refresh(); };
  runs_.on_selection = [this] { panels_.refresh_selection(); };
  runs_.on_busy = [this] { refresh_busy(); };
  runs_.on_look = [this] { panels_.refresh_legend(); };
  runs_.on_message = [this](const QString& text) { message_->set_text(text); };
  steps_.on_area = [this] { panels_.refresh_ops(); };
  comparison_.on_held = [this] { panels_.strip().open_if_unfolded("Comparison"); };
  files_.on_problem = [this](const QString& problem, const QString& remedy,
                             const std::function<void()>& mend) {
    notice_->show_problem(problem, remedy, mend);
  };
  notice_->on_other = [this] { files_.open_dialog(); };
  notice_->on_text = [this] { show_whole_message(); };
  files_.on_sweep = [this](const RowTable& rows) { panels_.show_sweep(rows); };
  panels_.on_search = [this](const QString& query) {
    steps_.search_field().setText(query);
    runs_.guarded([this] { steps_.run_search(); });
  };
  panels_.on_row = [this](std::size_t row) { files_.open_row(row); };
}

void ViewerWindow::connect_canvas(TimelineCanvas& canvas) {
  canvas.on_selection = [this] { panels_.refresh_selection(); };
  canvas.on_view = [this, &canvas] {
    if (OpenRun* const open = runs_.shown_by(&canvas)) runs_.follow_view(*open);
    if (&canvas == this->canvas()) panels_.refresh_heat();
  };
  canvas.on_menu = [this](QPoint at) { show_menu(at); };
  canvas.on_hover = [this](const QString& text) { hover_->set_text(text); };
  canvas.on_corner = [this] { show_rank_menu(); };
  // Another tab may come in front while a hand drags.
  canvas.on_grab = [this, &canvas] {
    if (OpenRun* const open = runs_.shown_by(&canvas)) changes_.grab_op(*open);
  };
  canvas.on_carry = [this, &canvas](std::int64_t time, bool released) {
    if (OpenRun* const open = runs_.shown_by(&canvas)) changes_.carry(*open, time, released);
  };
  canvas.on_boundary = [this, &canvas](std::uint32_t rank, int layers, bool released) {
    if (OpenRun* const open = runs_.shown_by(&canvas))
      changes_.move_boundary(*open, rank, layers, released);
  };
}

void ViewerWindow::build_status() {
  for (TextLine* line : {message_, &panels_.selection_line()}) {
    line->on_click = [this] { show_whole_message(); };
  }
  // What changes with every move of the pointer takes the room that is left, and moves nothing.
  hover_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  hover_->setMinimumWidth(120);
  statusBar()->setSizeGripEnabled(false);
  statusBar()->setContentsMargins(0, 0, 0, 0);
  busy_->setRange(0, 0);
  busy_->setMaximumWidth(60);
  busy_->setTextVisible(false);
  busy_->setAccessibleName("Working");
  busy_->setToolTip("Working in the background");
  busy_->hide();
  busy_soon_.setSingleShot(true);
  busy_soon_.setInterval(100);  // quick work shows no sign
  connect(&busy_soon_, &QTimer::timeout, busy_, [this] { busy_->show(); });
  statusBar()->addWidget(message_);
  statusBar()->addWidget(hover_, 1);
  statusBar()->addWidget(busy_);
  statusBar()->addWidget(&files_.progress());
  statusBar()->addWidget(&files_.cancel());
  statusBar()->addPermanentWidget(&panels_.selection_line());
}

void ViewerWindow::build_actions() {
  std::map<std::string_view, QMenu*> menus;
  for (const ViewerAction& entry : viewer_actions()) {
    QMenu*& menu = menus[entry.menu];
    if (menu == nullptr) menu = menuBar()->addMenu("&" + qt_text(entry.menu));
    auto* action = new QAction(qt_text(entry.text), this);
    action->setObjectName(qt_text(entry.id));
    action->setShortcuts(sequences(entry.keys));
    connect(action, &QAction::triggered, this,
            [this, run = entry.run] { runs_.guarded([&] { run(*this); }); });
    menu->addAction(action);
    // Lists and sliders keep the keys that move in them.
    const bool moves = std::any_of(moving_keys.begin(), moving_keys.end(), [&](const char* key) {
      return entry.keys.find(key) != std::string_view::npos;
    });
    if (moves) action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    QWidget* const home = moves ? static_cast<QWidget*>(tabs_) : this;
    home->addAction(action);
    actions_.emplace(entry.id, action);
    if (entry.id == "open") menu->addMenu(&files_.recent());
  }
  QMenu* const panels = menus["View"]->addMenu("Panels");
  for (QDockWidget* dock : panels_.strip().docks()) panels->addAction(dock->toggleViewAction());

  auto* bar = addToolBar("Tools");
  bar->setObjectName("Tools");
  bar->setMovable(false);
  bar->setContentsMargins(0, 0, 0, 0);
  bar->addWidget(&panels_.figures());
  bar->addWidget(&steps_.search_field());
  bar->addSeparator();
  for (const char* id : {"open", "fit", "back", "path", "memory", "freeze", "export_view"}) {
    bar->addAction(action(id));
  }
  addToolBarBreak();
  addToolBar(notice_);
}

QAction* ViewerWindow::action(std::string_view id) const { return actions_.find(id)->second; }

void ViewerWindow::refresh() {
  const OpenRun* const open = now();
  for (const ViewerAction& entry : viewer_actions()) {
    action(entry.id)->setEnabled(open != nullptr || !entry.needs_run);
  }
  setWindowTitle(open == nullptr ? QString("Penstock")
                                 : tabs_->tabText(tabs_->currentIndex()) + " – " +
                                       qt_text(open->run->title) + " – Penstock");
  changes_.show_text();
  panels_.refresh();
}

void ViewerWindow::refresh_busy() {
  panels_.refresh_stale();
  if (!busy()) {
    busy_soon_.stop();
    busy_->hide();
  } else if (busy_->isHidden() && !busy_soon_.isActive()) {
    busy_soon_.start();
  }
}

void ViewerWindow::finish() {
  files_.finish();
  changes_.finish();
  steps_.finish();
  panels_.finish();
  if (now() != nullptr) canvas()->finish();
}

void ViewerWindow::set_theme(ThemeName name) {
  apply_theme(name);
  runs_.set_theme(name);
  panels_.refresh_legend();
}

void ViewerWindow::cycle_theme() {
  set_theme(static_cast<ThemeName>((static_cast<std::size_t>(theme_name()) + 1) % theme_count));
}

void ViewerWindow::take_up() {
  remembers_ = true;
  runs_.keep_marks();
  if (take_up_window(*this)) panels_.strip().keep();
}

void ViewerWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  panels_.strip().fit_to(event->size());
}

void ViewerWindow::closeEvent(QCloseEvent* event) {
  if (remembers_) {
    remember_window(*this, theme_name());
    for (const OpenRun& open : runs_.all()) runs_.remember_marks_of(open);
  }
  QMainWindow::closeEvent(event);
}

void ViewerWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void ViewerWindow::dropEvent(QDropEvent* event) {
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) paths << url.toLocalFile();
  }
  if (paths.isEmpty()) return runs_.say("Only files of this machine open here");
  files_.open_files_later(paths);
}

}  // namespace penstock
