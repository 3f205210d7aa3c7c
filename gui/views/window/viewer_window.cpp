#include "gui/views/window/viewer_window.hpp"

#include <QMenuBar>
#include <QMimeData>
#include <QSettings>
#include <QStatusBar>
#include <QToolBar>
#include <algorithm>
#include <array>

#include "experiments/input/files/table.hpp"
#include "gui/models/run/open_files.hpp"
#include "gui/views/canvas/canvas.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/panels/tables.hpp"
#include "gui/views/window/viewer_action.hpp"
#include "sim/base/error.hpp"

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

/// Of what the ranks of an area do.
QString area_text(const Area& area, const PaintedRun& run) {
  const AreaUse use = use_of(area, *run.lanes, run.run->plan);
  const std::int64_t length = area.end - area.begin;
  const double all = static_cast<double>(length) * (area.end_rank - area.first_rank);
  QString text = QString("%1, %2, %3 % busy")
                     .arg(qt_text(short_time(length)), qt_text(counted(use.ops, "op")))
                     .arg(all > 0 ? 100 * static_cast<double>(use.busy) / all : 0, 0, 'f', 1);
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    if (use.by_cause[c] == 0) continue;
    text += QString(", %1 %2").arg(name(static_cast<IdleCause>(c)),
                                   qt_text(short_time(use.by_cause[c])));
  }
  return text;
}

}  // namespace

ViewerWindow::ViewerWindow(ThemeName theme)
    : theme_(theme), tabs_(new QTabWidget), opening_(this), changing_(this) {
  install_canvas_access();
  setWindowTitle("Penstock");
  // What does not fit scrolls.
  setMinimumSize(320, 240);
  resize(1440, 900);
  setAcceptDrops(true);
  setDockOptions(AnimatedDocks | AllowTabbedDocks | AllowNestedDocks);
  tabs_->setTabsClosable(true);
  tabs_->setDocumentMode(true);
  tabs_->setAccessibleName("Open runs");
  setCentralWidget(tabs_);
  connect(tabs_, &QTabWidget::currentChanged, this, [this] { show_tab(); });
  connect(tabs_, &QTabWidget::tabCloseRequested, this, [this](int tab) {
    tabs_->setCurrentIndex(tab);
    close_run();
  });
  build_status();
  build_docks();
  build_actions();
  rest_.setSingleShot(true);
  rest_.setInterval(150);
  connect(&blink_, &QTimer::timeout, this, [this] {
    if (now() == nullptr || now()->others.empty()) return blink_.stop();
    const LaneChoice& choice = canvas()->choice();
    const bool was_last =
        choice.style == PairStyle::only_other && choice.other >= now()->others.size();
    was_last ? pair_style(PairStyle::only_first) : show_other_alone();
  });
  connect(&rest_, &QTimer::timeout, this, [this] { hands_rest(); });
  auto* empty = new TimelineCanvas;
  empty->set_theme(theme_);
  tabs_->addTab(empty, "nothing open");
  tabs_->tabBar()->setVisible(false);
  refresh_panels();
}

ViewerWindow::~ViewerWindow() {
  if (cancelled_ != nullptr) *cancelled_ = true;
  opening_.cancel();
  changing_.cancel();
  opening_.finish();
  changing_.finish();
}

void ViewerWindow::build_status() {
  hover_ = new TextLine("What is under the pointer");
  use_ = new TextLine("Selection");
  message_ = new TextLine("Message");
  for (TextLine* line : {message_, use_}) line->on_click = [this] { show_whole_message(); };
  cancel_ = new QPushButton("Cancel");
  cancel_->hide();
  progress_ = new QProgressBar;
  progress_->setMaximumWidth(140);
  progress_->setAccessibleName("Opening");
  progress_->hide();
  // What changes with every move of the pointer takes the room that is left, and moves nothing.
  hover_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  hover_->setMinimumWidth(120);
  statusBar()->addWidget(message_);
  statusBar()->addWidget(hover_, 1);
  statusBar()->addWidget(progress_);
  statusBar()->addWidget(cancel_);
  statusBar()->addPermanentWidget(use_);
  connect(cancel_, &QPushButton::clicked, this, [this] { cancel_opening(); });
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
            [this, run = entry.run] { guarded([&] { run(*this); }); });
    menu->addAction(action);
    // Lists and sliders keep the keys that move in them.
    const bool moves = std::any_of(moving_keys.begin(), moving_keys.end(), [&](const char* key) {
      return entry.keys.find(key) != std::string_view::npos;
    });
    if (moves) action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    QWidget* const home = moves ? static_cast<QWidget*>(tabs_) : this;
    home->addAction(action);
    actions_.emplace(entry.id, action);
    if (entry.id == "open") recent_ = menu->addMenu("Open recent");
  }
  QMenu* const panels = menus["View"]->addMenu("Panels");
  for (QDockWidget* dock : docks_) panels->addAction(dock->toggleViewAction());
  show_recent();

  auto* bar = addToolBar("Tools");
  bar->setObjectName("Tools");
  bar->setMovable(false);
  for (const char* id : {"open", "fit", "back", "path", "memory", "freeze", "export_view"}) {
    bar->addAction(action(id));
  }
  search_ = new QLineEdit;
  search_->setPlaceholderText("Search: stage:3 kind:B mb:12 dur>2ms");
  search_->setAccessibleName("Search ops");
  search_->setClearButtonEnabled(true);
  search_->setMaximumWidth(330);
  bar->addSeparator();
  bar->addWidget(search_);
  connect(search_, &QLineEdit::returnPressed, this, [this] { guarded([this] { run_search(); }); });
}

QAction* ViewerWindow::action(std::string_view id) const { return actions_.find(id)->second; }

OpenRun* ViewerWindow::now() {
  const int tab = tabs_->currentIndex();
  if (tab < 0 || static_cast<std::size_t>(tab) >= runs_.size()) return nullptr;
  return &runs_[static_cast<std::size_t>(tab)];
}

OpenRun* ViewerWindow::shown_by(const TimelineCanvas* canvas) {
  const auto found = std::find_if(runs_.begin(), runs_.end(),
                                  [&](const OpenRun& open) { return open.canvas == canvas; });
  return found == runs_.end() ? nullptr : &*found;
}

TimelineCanvas* ViewerWindow::canvas() {
  OpenRun* const open = now();
  return open != nullptr ? open->canvas : static_cast<TimelineCanvas*>(tabs_->currentWidget());
}

void ViewerWindow::guarded(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    show_message(QString::fromUtf8(error.what()));
  }
}

void ViewerWindow::show_message(const QString& text) { message_->set_text(text); }

QString ViewerWindow::message() const { return message_->text(); }

void ViewerWindow::finish() {
  opening_.finish();
  changing_.finish();
  hands_rest();
  changing_.finish();
  if (now() != nullptr) canvas()->finish();
}

void ViewerWindow::set_theme(ThemeName name) {
  theme_ = name;
  apply_theme(name);
  for (int tab = 0; tab < tabs_->count(); ++tab) {
    static_cast<TimelineCanvas*>(tabs_->widget(tab))->set_theme(name);
  }
  refresh_legend();
}

void ViewerWindow::cycle_theme() {
  set_theme(static_cast<ThemeName>((static_cast<std::size_t>(theme_) + 1) % theme_count));
}

void ViewerWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void ViewerWindow::dropEvent(QDropEvent* event) {
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) paths << url.toLocalFile();
  }
  if (paths.isEmpty()) return show_message("Only files of this machine open here");
  open_files_later(paths);
}

/// The knobs of the tab that came in front begin at the run that it shows.
void ViewerWindow::show_tab() {
  if (what_if_ == nullptr) return;
  turning_ = false;
  OpenRun* const open = now();
  if (open != nullptr) {
    open->base = open->run->scenario;
    if (open->run->brief) rest_.start();
  }
  what_if_->show_scenario(open != nullptr ? open->base : nullptr);
  refresh_panels();
}

// ---- panels ----

void ViewerWindow::refresh_panels() {
  OpenRun* const open = now();
  refresh_actions();
  if (open == nullptr) {
    report_->clear();
    comparison_->clear();
    for (QTreeWidget* table : {idle_, path_, memory_, links_, ops_}) table->clear();
    what_if_->show_scenario(nullptr);
    scenario_panel_->show_scenario(nullptr);
    use_->set_text({});
    return;
  }
  const ViewedRun& run = *open->run;
  setWindowTitle(qt_text(run.title) + " – Penstock");
  report_->setPlainText(QString::fromStdString(run.text));
  fill_idle(*idle_, run);
  fill_path(*path_, run);
  fill_memory(*memory_, run);
  fill_links(*links_, run);
  refresh_ops();
  refresh_legend();
  comparison_->setPlainText(comparison_text(*open));
  if (!open->pairs.empty()) {
    residuals_->show_residuals(open->pairs.front().residuals, "No op in both");
  } else {
    residuals_->show_residuals({}, "No second run");
  }
  scenario_panel_->show_scenario(run.scenario.get());
  refresh_selection();
}

void ViewerWindow::refresh_legend() {
  if (now() == nullptr || !canvas()->first()) return;
  std::vector<PaintedRunPtr> runs{canvas()->first()};
  runs.insert(runs.end(), canvas()->others().begin(), canvas()->others().end());
  legend_->show_runs(runs, theme_, canvas()->choice().memory);
}

void ViewerWindow::refresh_ops() {
  const TimelineCanvas& shown = *now()->canvas;
  const ShownOp& op = shown.selected();
  ops_run_ = 0;
  std::uint32_t rank = 0;
  if (!op.is_none()) {
    ops_run_ = op.run;
    rank = rank_of_task(shown.run(op.run).run->plan, op.task);
  } else if (shown.area()) {
    ops_run_ = shown.area()->run;
    rank = shown.area()->first_rank;
  }
  fill_ops(*ops_, shown.run(ops_run_), rank, shown.area() ? shown.area()->begin : 0, 500);
}

void ViewerWindow::refresh_actions() {
  const bool open = now() != nullptr;
  for (const ViewerAction& entry : viewer_actions()) {
    action(entry.id)->setEnabled(open || !entry.needs_run);
  }
}

/// "B − A: time +0.5 ms …" for each run that is held against A.
QString ViewerWindow::difference_text(const OpenRun& open) const {
  const bool frozen = open.canvas->choice().frozen;
  const ViewedRun& a = frozen ? *open.others.front() : *open.run;
  QStringList parts;
  for (std::size_t place = 1; place <= open.others.size(); ++place) {
    const std::size_t number = lettered(place, frozen);
    const ViewedRun& run = number == 0 ? *open.run : *open.others[number - 1];
    parts << QString(QChar(letter_of_run(place))) +
                 " − A: " + qt_text(headline(a.report, run.report, a.brief || run.brief));
  }
  return parts.join("; ");
}

void ViewerWindow::refresh_selection() {
  OpenRun* const open = now();
  if (open == nullptr) return;
  const TimelineCanvas& shown = *open->canvas;
  const ShownOp& op = shown.selected();
  QString text = difference_text(*open);
  if (!op.is_none()) {
    const ViewedRun& run = *shown.run(op.run).run;
    text = qt_text(op_text(run.plan, run.timeline, op.task, shown.of_run(op.run).toStdString()));
    const TaskId cause = OpSteps{run.plan, run.timeline, *shown.run(op.run).lanes}.cause(op.task);
    if (cause != no_task) text += "; waited for " + qt_text(task_text(run.plan, cause));
  } else if (shown.area()) {
    text = area_text(*shown.area(), shown.run(shown.area()->run));
  }
  use_->set_text(text);
}

void ViewerWindow::select(ShownOp op) {
  if (now() == nullptr || op.is_none() || op.run >= canvas()->runs()) return;
  if (op.task < canvas()->run(op.run).run->plan.tasks()) canvas()->select(op, true);
}

}  // namespace penstock
