#include <QDockWidget>
#include <QFileDialog>
#include <algorithm>

#include "gui/models/change/order_move.hpp"
#include "gui/models/run/open_files.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/window/viewer_window.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double quick_ms = 12;  // a change that takes less runs in the interface's thread

}  // namespace

void ViewerWindow::replace_run(ViewedRunPtr run, bool keep_pair) {
  const PaintedRunPtr before = now()->canvas->first();
  replace_run(before->run == run ? before : painted(std::move(run), before->by), keep_pair);
}

void ViewerWindow::replace_run(PaintedRunPtr run, bool keep_pair) {
  OpenRun& open = *now();
  open.run = run->run;
  open.idle.clear();
  open.idle_at.reset();
  open.found.clear();
  if (!keep_pair) open.other.reset();
  const bool path = !open.canvas->path().empty();
  open.canvas->show_runs(run, nullptr, true);
  refresh_pair(open, true);
  if (path) open.canvas->set_path(tasks_of(open.run->report.critical_path));
  if (open.run->brief) return refresh_selection();
  refresh_panels();
}

void ViewerWindow::refresh_pair(OpenRun& open, bool keep_view) {
  PaintedRunPtr first = open.canvas->first();
  const bool path = !open.canvas->path().empty();
  if (open.canvas->choice().memory && first->memory == nullptr) first = with_memory(*first);
  PaintedRunPtr second;
  open.pair.reset();
  if (open.other) {
    open.pair = pair_of(open.run, open.other, open.alignment);
    first = with_differences(*first, open.pair->differences);
    second = painted(open.pair->second, first->by);
    if (open.canvas->choice().memory) second = with_memory(*second);
  }
  LaneChoice choice = open.canvas->choice();
  choice.differences = second != nullptr && choice.style != PairStyle::ghost;
  open.canvas->show_runs(first, second, keep_view);
  open.canvas->set_choice(choice);
  if (path) open.canvas->set_path(tasks_of(open.run->report.critical_path));
}

void ViewerWindow::colour_by(ColourBy by) {
  OpenRun& open = *now();
  const PaintedRunPtr second = open.canvas->second();
  open.canvas->show_runs(recoloured(*open.canvas->first(), by),
                         second ? recoloured(*second, by) : nullptr, true);
  refresh_panels();
}

void ViewerWindow::toggle_transfers() {
  LaneChoice choice = canvas()->choice();
  choice.transfers = !choice.transfers;
  canvas()->set_choice(choice);
}

void ViewerWindow::toggle_memory() {
  OpenRun& open = *now();
  LaneChoice choice = open.canvas->choice();
  choice.memory = !choice.memory;
  const PaintedRunPtr first = open.canvas->first();
  const PaintedRunPtr second = open.canvas->second();
  if (choice.memory && first->memory == nullptr) {
    const PaintedRunPtr with = with_memory(*first);
    if (with->memory->ranks.empty()) {
      return show_message("Nothing is known of this run's memory: its sizes are zero");
    }
    open.canvas->show_runs(with, second ? with_memory(*second) : nullptr, true);
    legend_->show_run(*with, theme_);
  }
  open.canvas->set_choice(choice);
}

// ---- what if ----

void ViewerWindow::change_run(std::function<ViewedRunPtr()> make, bool from_editor) {
  OpenRun* const open = now();
  TimelineCanvas* const canvas = open->canvas;
  changing_.request(
      [this, make = std::move(make), canvas, from_editor,
       before = canvas->first()]() -> Background::Done {
        PaintedRunPtr run;
        QString problem;
        try {
          run = painted_after(make(), *before);
        } catch (const std::exception& error) {
          problem = QString::fromUtf8(error.what());
        }
        return [this, run, problem, canvas, from_editor] {
          what_if_->show_problem(problem);
          if (from_editor) scenario_panel_->show_fault(problem);
          if (run == nullptr || now() == nullptr || now()->canvas != canvas) return;
          replace_run(run, true);
          if (run->run->brief) rest_.start();
        };
      },
      quick_ms);
}

/// What was simulated briefly while the hand moved, whole.
void ViewerWindow::complete_run() {
  OpenRun* const open = now();
  if (open == nullptr || !open->run->brief) return;
  change_run([run = open->run] { return viewed(*run->scenario); }, false);
}

void ViewerWindow::turn_knobs() {
  OpenRun* const open = now();
  if (open == nullptr || !open->base) return;
  change_run([base = open->base, settings = what_if_->settings(),
              before = open->run] { return viewed_after(changed(*base, settings), *before); },
             false);
}

void ViewerWindow::set_scenario(const Scenario& scenario) {
  OpenRun* const open = now();
  if (open == nullptr || !open->run->scenario) return;
  open->base = std::make_shared<const Scenario>(scenario);
  what_if_->show_scenario(open->base);
  change_run([base = open->base] { return viewed(*base); }, true);
}

void ViewerWindow::move_op(bool later) {
  OpenRun& open = *now();
  const TaskId task = open.canvas->selected();
  if (task == no_task) return show_message("Select an op first");
  const WorkClass work = open.run->plan.class_of(task);
  const Microbatch microbatch = open.run->plan.microbatch[task];
  auto moved = with_moved_op(*open.run, task, later);
  if (const auto* refused = std::get_if<MoveRefused>(&moved)) {
    return show_message("Not moved: " + QString::fromStdString(refused->text));
  }
  replace_run(std::get<ViewedRunPtr>(moved), true);
  OpQuery same;
  same.pass = work.pass;
  same.stage = index(work.stage);
  same.microbatch = index(microbatch);
  const auto found = find_ops(same, open.run->plan, open.run->timeline);
  if (!found.empty()) select(found.front());
  show_message(later ? "Moved one place later" : "Moved one place earlier");
}

// ---- two runs ----

void ViewerWindow::freeze_reference() {
  OpenRun& open = *now();
  open.other = open.run;
  refresh_pair(open, true);
  refresh_panels();
  show_message("Frozen as B: changes are shown against it");
}

void ViewerWindow::drop_reference() {
  OpenRun& open = *now();
  open.other.reset();
  refresh_pair(open, true);
  refresh_panels();
}

void ViewerWindow::compare_with(const QString& path) {
  OpenRun& open = *now();
  open.other = open_files({QFile::encodeName(path).toStdString()}).front();
  LaneChoice choice = open.canvas->choice();
  choice.style = PairStyle::above;
  open.canvas->set_choice(choice);
  refresh_pair(open, true);
  refresh_panels();
  for (QDockWidget* dock : docks_) {
    if (dock->objectName() == "Comparison") dock->raise();
  }
}

void ViewerWindow::compare_dialog() {
  const QString path = QFileDialog::getOpenFileName(this, "Compare with", {}, "Runs (*)");
  if (!path.isEmpty()) compare_with(path);
}

void ViewerWindow::swap_runs() {
  OpenRun& open = *now();
  if (!open.other) return show_message("There is no B: Ctrl+D freezes one");
  std::swap(open.run, open.other);
  open.canvas->show_runs(painted(open.run, open.canvas->first()->by), nullptr, true);
  open.base = open.run->scenario;
  what_if_->show_scenario(open.base);
  replace_run(open.run, true);
}

void ViewerWindow::pair_style(PairStyle style) {
  OpenRun& open = *now();
  if (!open.other) return show_message("There is no B: Ctrl+D freezes one");
  LaneChoice choice = open.canvas->choice();
  choice.style = style;
  choice.differences = style == PairStyle::above || style == PairStyle::mirrored;
  open.canvas->set_choice(choice);
  show_message("Shown: " + qt_text(name(style)));
}

void ViewerWindow::cycle_pair_style() {
  const PairStyle now_shown = canvas()->choice().style;
  if (now_shown == PairStyle::ghost) return pair_style(PairStyle::above);
  pair_style(now_shown == PairStyle::above ? PairStyle::mirrored : PairStyle::ghost);
}

void ViewerWindow::cycle_alignment() {
  OpenRun& open = *now();
  if (!open.other) return show_message("There is no B: Ctrl+D freezes one");
  constexpr std::array<const char*, 3> words{"start", "first op", "makespan: B is scaled"};
  const std::size_t next = (static_cast<std::size_t>(open.alignment) + 1) % words.size();
  open.alignment = static_cast<Alignment>(next);
  refresh_pair(open, true);
  refresh_panels();
  show_message(QString("Aligned by ") + words[next]);
}

void ViewerWindow::first_difference() {
  OpenRun& open = *now();
  if (!open.pair) return show_message("There is no B: Ctrl+D freezes one");
  if (!open.pair->first) return show_message("The runs do not differ");
  select(*open.pair->first);
}

}  // namespace penstock
