#include "gui/views/window/open_runs.hpp"

#include <QApplication>
#include <QFileInfo>
#include <algorithm>
#include <utility>

#include "gui/views/canvas/look.hpp"
#include "gui/views/window/window_memory.hpp"

namespace penstock {
namespace {

constexpr const char* only_parts =
    "Not of a run that is read in parts: its file is too large to be held";

bool is_part(const ViewedRunPtr& run) { return run->file != nullptr; }

/// What was made, or why it was not.
struct Outcome {
  ShownRuns made;
  QString problem;
};

}  // namespace

ShownWith OpenRuns::shown_with(const OpenRun& open) {
  const LaneChoice& choice = open.canvas->choice();
  return {.others = open.others,
          .alignment = open.alignment,
          .anchor = open.anchor,
          .memory = choice.memory,
          .links = choice.links,
          .frozen = choice.frozen,
          .by = open.canvas->first()->by,
          .slack = open.slack};
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

void OpenRuns::add(const PaintedRunPtr& painted) {
  OpenRun open;
  open.canvas = new TimelineCanvas;
  open.canvas->set_theme(theme_);
  if (on_canvas) on_canvas(*open.canvas);
  const ViewedRunPtr run = open.run = painted->run;
  open.changes.base = run->scenario;
  if (runs_.empty()) {
    QWidget* const empty = tabs_.widget(0);
    tabs_.removeTab(0);
    empty->deleteLater();
  }
  open.canvas->show_runs(painted, {}, false);
  if (keeps_marks_) open.canvas->set_marks(remembered_marks(QString::fromStdString(run->source)));
  TimelineCanvas* const canvas = open.canvas;
  runs_.push_back(std::move(open));
  const QString name = QFileInfo(QString::fromStdString(run->source)).fileName();
  const int tab = tabs_.addTab(canvas, name.isEmpty() ? qt_text(run->title) : name);
  tabs_.setTabToolTip(tab, QString::fromStdString(run->source));
  tabs_.setCurrentIndex(tab);
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
  const auto kept = std::make_shared<std::pair<OpenRun, RunsOnAxis>>(
      std::move(runs_[static_cast<std::size_t>(tab)]),
      RunsOnAxis{canvas()->first(), canvas()->others(), {}});
  QObject::connect(closed, &QObject::destroyed, [kept] { drop_later(std::move(*kept)); });
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

/// What is wished of a run, to be changed: as it is shown, if nothing else is wished yet.
ShownWith& OpenRuns::wished(OpenRun& open) {
  const bool waits = open.wish.due || (making_.busy() && making_of_ == open.canvas);
  if (!waits) open.wish.runs = {.with = shown_with(open)};
  return open.wish.runs.with;
}

void OpenRuns::replace(OpenRun& open, std::function<ViewedRunPtr()> make, WishOfRun::Then then) {
  // Tasks may get other numbers.
  change_shown(
      open, [](ShownWith& with) { with.anchor.reset(); }, std::move(then), std::move(make));
}

void OpenRuns::change_shown(OpenRun& open, const std::function<void(ShownWith&)>& change,
                            WishOfRun::Then then, std::function<ViewedRunPtr()> make) {
  const ShownWith before = wished(open);
  change(wished(open));
  const std::vector<ViewedRunPtr>& others = open.wish.runs.with.others;
  const bool of_part = std::any_of(others.begin(), others.end(), is_part);
  if ((is_part(open.run) && !make) || of_part) {
    open.wish.runs.with = before;
    return say(only_parts);
  }
  if (make) open.wish.runs.make = std::move(make);
  want(open, std::move(then));
}

void OpenRuns::freeze(OpenRun& open, WishOfRun::Then then) {
  if (is_part(open.run)) return say(only_parts);
  wished(open);
  open.wish.runs.freezes = true;
  want(open, std::move(then));
}

void OpenRuns::take_back(OpenRun& open) {
  ++open.wish.number;
  open.wish.runs = {.with = shown_with(open)};
  open.wish.then.clear();
  open.wish.due = false;
}

bool OpenRuns::makes_run(const OpenRun& open) const {
  const bool makes = making_.busy() && makes_run_ && making_of_ == open.canvas;
  return makes || (open.wish.due && open.wish.runs.make);
}

void OpenRuns::want(OpenRun& open, WishOfRun::Then then) {
  if (then) open.wish.then.push_back(std::move(then));
  open.wish.due = true;
  make_next();
}

ShownRuns OpenRuns::shown_now(const OpenRun& open) const {
  const CanvasMarks& marks = open.canvas->marked();
  return {.runs = {open.canvas->first(), open.canvas->others(), {}},
          .with = shown_with(open),
          .slack = marks.slack,
          .kept = {.selected = marks.selected, .bright = marks.bright}};
}

/// Makes what is wished of one of the open runs: all that was wished of it until now.
void OpenRuns::make_next() {
  if (making_.busy()) return;
  const auto due =
      std::find_if(runs_.begin(), runs_.end(), [](const OpenRun& open) { return open.wish.due; });
  if (due == runs_.end()) return;
  making_of_ = due->canvas;
  makes_run_ = static_cast<bool>(due->wish.runs.make) || due->wish.runs.freezes;
  due->wish.due = false;
  const WishedRuns wish = due->wish.runs;
  due->wish.runs.make = {};
  due->wish.runs.freezes = false;
  making_.request(
      [this, wish, before = shown_now(*due), then = std::exchange(due->wish.then, {}),
       canvas = due->canvas, number = due->wish.number]() mutable -> Background::Done {
        auto outcome = std::make_shared<Outcome>();
        try {
          outcome->made = made_of(wish, std::move(before));
        } catch (const std::exception& error) {
          outcome->problem = QString::fromUtf8(error.what());
        }
        return [this, outcome, then = std::move(then), canvas, number] {
          OpenRun* const open = shown_by(canvas);
          if (open != nullptr && number == open->wish.number) {
            if (outcome->problem.isEmpty()) show(*open, std::move(outcome->made));
            for (const WishOfRun::Then& each : then) {
              if (OpenRun* const shown = shown_by(canvas)) each(*shown, outcome->problem);
            }
          }
          make_next();
        };
      },
      Background::patience_ms);
}

void OpenRuns::show(OpenRun& open, ShownRuns made) {
  const ShownOps path = open.canvas->path();
  const bool other = open.run != made.runs.first->run;
  open.run = made.runs.first->run;
  open.others = std::move(made.with.others);
  open.alignment = made.with.alignment;
  open.anchor = made.with.anchor;
  open.slack = made.with.slack;
  if (made.paired) drop_later(std::exchange(open.pairs, std::move(made.runs.pairs)));
  if (other) drop_later(std::exchange(open.steps, {}));
  // Others may have come or gone: a number may then mean another run.
  const auto shown_at = [&](std::size_t number) {
    return number < open.canvas->runs() ? open.canvas->run(number).run : nullptr;
  };
  const ViewedRunPtr found_in = shown_at(open.steps.found.run);
  const ViewedRunPtr idle_in = shown_at(open.steps.idle_run);
  RunsOnAxis before{open.canvas->first(), open.canvas->others(), {}};
  open.canvas->show_runs(std::move(made.runs.first), std::move(made.runs.others), true, &made.kept);
  drop_later(std::move(before));
  open.canvas->change_choice([&](LaneChoice& choice) {
    choice.memory = made.with.memory;
    choice.links = made.with.links;
  });
  open.canvas->set_slack(std::move(made.slack));
  const std::size_t count = open.canvas->runs();
  if (shown_at(open.steps.idle_run) != idle_in) open.steps.idle.clear();
  if (shown_at(open.steps.found.run) != found_in) open.steps.found = {};
  if (!path.empty() && path.run < count) show_path(open, path.run);
  if (!other && !made.paired) return on_look();
  open.run->brief ? on_selection() : on_change();
}

void OpenRuns::finish() {
  // What is shown may wish for more.
  while (making_.busy() || reading_.busy()) {
    making_.finish();
    reading_.finish();
  }
}

void OpenRuns::follow_view(OpenRun& open) {
  if (!is_part(open.run) || reading_.busy()) return;  // once read, it looks again
  const TimeAxis& axis = open.canvas->view().axis;
  const std::int64_t begin = std::max<std::int64_t>(0, axis.origin);
  const std::int64_t end =
      std::min(open.run->span().picoseconds, axis.time_at(open.canvas->lanes_width()));
  if (end <= begin || covers(*open.run, begin, end)) return;
  const auto& file = open.run->file;
  const auto fits = [&](std::int64_t around) {
    const auto [first, last] = file->tasks_between({begin - around}, {end + around});
    return last - first <= most_in_part;
  };
  if (!fits(0)) return;
  std::int64_t around = end - begin;  // to pan in
  while (around > 0 && !fits(around)) around /= 2;
  // Never at once: who moves the view still uses the part that is shown.
  reading_.request(
      [this, file, canvas = open.canvas, before = open.canvas->first(), source = open.run->source,
       from = Time{begin - around}, until = Time{end + around}]() -> Background::Done {
        PaintedRunPtr part;
        QString problem;
        try {
          part = painted_part(viewed_part(file, source, from, until), before.get());
        } catch (const std::exception& error) {
          problem = qt_text(source) + ": " + QString::fromUtf8(error.what());
        }
        return [this, part, problem, canvas] {
          OpenRun* const shown = shown_by(canvas);
          if (!problem.isEmpty()) say(problem);
          if (shown == nullptr || part == nullptr) return;
          show_part(*shown, part);
          follow_view(*shown);
        };
      },
      0);
}

void OpenRuns::show_part(OpenRun& open, const PaintedRunPtr& part) {
  KeptOps kept{.selected = open.canvas->selected(), .bright = open.canvas->bright()};
  const std::uint64_t number = open.run->first_task + kept.selected.task;
  const std::uint64_t first = part->run->first_task;
  const bool is_there = number >= first && number - first < part->run->plan.tasks();
  if (!kept.selected.is_none() && is_there) {
    kept.now_selected = ShownOp(static_cast<TaskId>(number - first));
  }
  RunsOnAxis before{open.canvas->first(), {}, {}};
  open.run = part->run;
  open.steps = {};
  open.canvas->show_runs(part, {}, true, &kept);
  drop_later(std::move(before));
}

void OpenRuns::working(bool begins) {
  working_ += begins ? 1 : -1;
  if (on_busy) on_busy();
}

void OpenRuns::show_path(OpenRun& open, std::uint8_t run) {
  const Report& report = open.canvas->run(run).run->report;
  open.canvas->set_path({tasks_of(report.critical_path), run});
}

void OpenRuns::colour_by(ColourBy by) {
  change_shown(*now(), [by](ShownWith& with) { with.by = by; });
}

void OpenRuns::toggle_transfers() {
  canvas()->change_choice([](LaneChoice& choice) {
    const bool one = choice.transfers && !choice.receives;
    choice.transfers = one || !choice.transfers;
    choice.receives = one;
  });
  say_if_heat(*canvas());
}

void OpenRuns::toggle_memory() {
  change_shown(
      *now(), [](ShownWith& with) { with.memory = !with.memory; },
      [this](OpenRun& open, const QString&) {
        TimelineCanvas& shown = *open.canvas;
        const bool nothing = shown.choice().memory && shown.first()->memory->ranks.empty();
        if (!nothing) return say_if_heat(shown);
        shown.change_choice([](LaneChoice& choice) { choice.memory = false; });
        say("Nothing is known of this run's memory: its sizes are zero");
      });
}

void OpenRuns::toggle_links() {
  change_shown(
      *now(), [](ShownWith& with) { with.links = !with.links; },
      [this](OpenRun& open, const QString&) {
        if (!open.canvas->choice().links) return;
        const std::vector<PaintedLink>& links = *open.canvas->first()->links;
        if (std::any_of(links.begin(), links.end(),
                        [](const PaintedLink& link) { return !link.tracks.empty(); })) {
          return;
        }
        open.canvas->change_choice([](LaneChoice& choice) { choice.links = false; });
        say("No transfer of this run occupies a link");
      });
}

void OpenRuns::add_to_name(const QString& text) {
  tabs_.setTabText(tabs_.currentIndex(), tabs_.tabText(tabs_.currentIndex()) + text);
}

void OpenRuns::say(const QString& text) {
  message_ = text;
  if (on_message) on_message(text);
}

void OpenRuns::say_if_heat(const TimelineCanvas& shown) {
  const std::vector<LaneRow>& rows = shown.rows();
  if (rows.empty() || !rows.front().heat) return;
  say(shown.choice().heat ? "Only idle time is shown, as heat: H shows ops" : too_low_for_ops);
}

void OpenRuns::set_theme(ThemeName name) {
  theme_ = name;
  for (int tab = 0; tab < tabs_.count(); ++tab) {
    static_cast<TimelineCanvas*>(tabs_.widget(tab))->set_theme(name);
  }
}

}  // namespace penstock
