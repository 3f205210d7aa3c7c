#include "gui/views/window/open_runs.hpp"

#include <QApplication>
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QFileInfo>
#include <algorithm>
#include <utility>

#include "gui/views/canvas/look.hpp"
#include "gui/views/window/window_memory.hpp"

namespace penstock {
namespace {

template <class Change>
std::vector<PaintedRunPtr> each_changed(const std::vector<PaintedRunPtr>& runs, Change change) {
  std::vector<PaintedRunPtr> all;
  for (const PaintedRunPtr& run : runs) all.push_back(change(*run));
  return all;
}

}  // namespace

ShownWith OpenRuns::shown_with(const OpenRun& open) {
  const LaneChoice& choice = open.canvas->choice();
  return {.others = open.others,
          .alignment = open.alignment,
          .anchor = open.anchor,
          .memory = choice.memory,
          .links = choice.links,
          .frozen = choice.frozen};
}

OpenRuns::OpenRuns(QTabWidget& tabs, ThemeName theme) : tabs_(tabs), theme_(theme) { add_empty(); }

void OpenRuns::add_empty() {
  auto* empty = new TimelineCanvas;
  empty->set_theme(theme_);
  tabs_.addTab(empty, "nothing open");
}

OpenRun* OpenRuns::now() {
  const int tab = tabs_.currentIndex();
  if (tab < 0 || static_cast<std::size_t>(tab) >= runs_.size()) return nullptr;
  return &runs_[static_cast<std::size_t>(tab)];
}

OpenRun* OpenRuns::shown_by(const TimelineCanvas* canvas) {
  const auto found = std::find_if(runs_.begin(), runs_.end(),
                                  [&](const OpenRun& open) { return open.canvas == canvas; });
  return found == runs_.end() ? nullptr : &*found;
}

TimelineCanvas* OpenRuns::canvas() {
  OpenRun* const open = now();
  return open != nullptr ? open->canvas : static_cast<TimelineCanvas*>(tabs_.currentWidget());
}

void OpenRuns::guarded(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    say(QString::fromUtf8(error.what()));
  }
}

void OpenRuns::select(ShownOp op) {
  if (now() == nullptr || op.is_none() || op.run >= canvas()->runs()) return;
  if (op.task < canvas()->run(op.run).run->plan.tasks()) canvas()->select(op, true);
}

void OpenRuns::add(ViewedRunPtr run) {
  OpenRun open;
  open.canvas = new TimelineCanvas;
  open.canvas->set_theme(theme_);
  if (on_canvas) on_canvas(*open.canvas);
  open.run = run;
  open.changes.base = run->scenario;
  if (runs_.empty()) {
    QWidget* const empty = tabs_.widget(0);
    tabs_.removeTab(0);
    empty->deleteLater();
  }
  open.canvas->show_runs(painted(run, ColourBy::pass), {}, false);
  if (keeps_marks_) open.canvas->set_marks(remembered_marks(QString::fromStdString(run->source)));
  TimelineCanvas* const canvas = open.canvas;
  runs_.push_back(std::move(open));
  const QString name = QFileInfo(QString::fromStdString(run->source)).fileName();
  const int tab = tabs_.addTab(canvas, name.isEmpty() ? qt_text(run->title) : name);
  tabs_.setTabToolTip(tab, QString::fromStdString(run->source));
  tabs_.setCurrentIndex(tab);
  on_change();
  canvas->setFocus();
  QApplication::processEvents(QEventLoop::ExcludeUserInputEvents);
  canvas->leave_out_what_does_not_fit();
  canvas->fit();
}

void OpenRuns::close() {
  const int tab = tabs_.currentIndex();
  if (now() == nullptr) return;
  QWidget* const closed = tabs_.widget(tab);
  remember_marks_of(*now());
  runs_.erase(runs_.begin() + tab);
  if (runs_.empty()) add_empty();
  tabs_.removeTab(tab);
  closed->deleteLater();
  on_change();
}

void OpenRuns::remember_marks_of(const OpenRun& open) const {
  if (keeps_marks_) {
    remember_marks(QString::fromStdString(open.run->source), open.canvas->marks());
  }
}

void OpenRuns::replace(OpenRun& open, ViewedRunPtr run) {
  const PaintedRunPtr before = open.canvas->first();
  open.anchor.reset();
  replace(open, on_one_axis(before->run == run ? before : painted(std::move(run), before->by),
                            shown_with(open)));
}

void OpenRuns::replace(OpenRun& open, RunsOnAxis runs) {
  open.run = runs.first->run;
  open.steps = {};
  const bool slack = open.canvas->shows_slack();
  show_on_axis(open, std::move(runs));
  if (slack) show_slack(open);
  open.run->brief ? on_selection() : on_change();
}

void OpenRuns::refresh_pair(OpenRun& open) {
  show_against(open, open.others, open.canvas->choice().frozen);
}

/// Leaves all as it was if the runs cannot be compared.
void OpenRuns::show_against(OpenRun& open, std::vector<ViewedRunPtr> others, bool frozen) {
  ShownWith with = shown_with(open);
  with.others = std::move(others);
  with.frozen = frozen;
  RunsOnAxis runs = on_one_axis(open.canvas->first(), with);
  open.others = std::move(with.others);
  show_on_axis(open, std::move(runs));
}

void OpenRuns::show_on_axis(OpenRun& open, RunsOnAxis runs) {
  const ShownOps path = open.canvas->path();
  open.pairs = std::move(runs.pairs);
  open.canvas->show_runs(std::move(runs.first), std::move(runs.others), true);
  const std::size_t count = open.canvas->runs();
  if (open.steps.idle_run >= count) open.steps.idle.clear();
  if (open.steps.found.run >= count) open.steps.found = {};
  if (!path.empty() && path.run < count) show_path(open, path.run);
}

void OpenRuns::show_slack(OpenRun& open) {
  open.canvas->set_slack(
      std::make_shared<const std::vector<float>>(slack_of(open.run->plan, open.run->timeline)));
}

void OpenRuns::show_path(OpenRun& open, std::uint8_t run) {
  const Report& report = open.canvas->run(run).run->report;
  open.canvas->set_path({tasks_of(report.critical_path), run});
}

void OpenRuns::colour_by(ColourBy by) {
  OpenRun& open = *now();
  const auto change = [by](const PaintedRun& run) { return recoloured(run, by); };
  std::vector<PaintedRunPtr> others = each_changed(open.canvas->others(), change);
  open.canvas->show_runs(change(*open.canvas->first()), std::move(others), true);
  on_change();
}

void OpenRuns::toggle_transfers() {
  canvas()->change_choice([](LaneChoice& choice) {
    const bool one = choice.transfers && !choice.receives;
    choice.transfers = one || !choice.transfers;
    choice.receives = one;
  });
}

void OpenRuns::toggle_memory() {
  OpenRun& open = *now();
  LaneChoice choice = open.canvas->choice();
  choice.memory = !choice.memory;
  const PaintedRunPtr first = open.canvas->first();
  if (choice.memory && first->memory == nullptr) {
    const PaintedRunPtr with = with_memory(*first);
    if (with->memory->ranks.empty()) {
      return say("Nothing is known of this run's memory: its sizes are zero");
    }
    open.canvas->show_runs(with, each_changed(open.canvas->others(), with_memory), true);
  }
  open.canvas->set_choice(choice);
  on_look();
}

void OpenRuns::toggle_links() {
  OpenRun& open = *now();
  LaneChoice choice = open.canvas->choice();
  choice.links = !choice.links;
  if (choice.links) {
    const auto change = [&](const PaintedRun& run) { return with_links(run, open.run->plan); };
    const PaintedRunPtr with = change(*open.canvas->first());
    const bool any = std::any_of(with->links->begin(), with->links->end(),
                                 [](const PaintedLink& link) { return !link.tracks.empty(); });
    if (!any) return say("No transfer of this run occupies a link");
    open.canvas->show_runs(with, each_changed(open.canvas->others(), change), true);
  }
  open.canvas->set_choice(choice);
}

void OpenRuns::add_to_name(const QString& text) {
  tabs_.setTabText(tabs_.currentIndex(), tabs_.tabText(tabs_.currentIndex()) + text);
}

void OpenRuns::say(const QString& text) {
  message_ = text;
  if (on_message) on_message(text);
}

void OpenRuns::set_theme(ThemeName name) {
  theme_ = name;
  for (int tab = 0; tab < tabs_.count(); ++tab) {
    static_cast<TimelineCanvas*>(tabs_.widget(tab))->set_theme(name);
  }
}

Background::~Background() { pool_.waitForDone(); }

void Background::request(Work work, double at_once_below_ms) {
  if (!running_ && last_ms_ < at_once_below_ms) {
    QElapsedTimer clock;
    clock.start();
    const Done done = work();
    done();
    last_ms_ = static_cast<double>(clock.nsecsElapsed()) / 1e6;
  } else if (running_) {
    waiting_ = std::move(work);
  } else {
    start(std::move(work));
  }
}

void Background::start(Work work) {
  running_ = true;
  const std::uint64_t number = ++number_;
  pool_.start([this, work = std::move(work), number] {
    QElapsedTimer clock;
    clock.start();
    Done done = work();
    const double ms = static_cast<double>(clock.nsecsElapsed()) / 1e6;
    QMetaObject::invokeMethod(
        this, [this, done = std::move(done), number, ms] { ended(number, ms, done); },
        Qt::QueuedConnection);
  });
}

void Background::ended(std::uint64_t number, double ms, const Done& done) {
  running_ = false;
  last_ms_ = ms;
  if (number == number_) done();
  if (!running_ && waiting_) start(std::exchange(waiting_, {}));
}

void Background::cancel() {
  ++number_;
  waiting_ = {};
}

void Background::finish() {
  while (running_) {
    pool_.waitForDone();
    // No other events: they could open or close what is waited for.
    QCoreApplication::sendPostedEvents(this, QEvent::MetaCall);
  }
}

}  // namespace penstock
