#include <QFileDialog>
#include <algorithm>

#include "gui/models/run/open_files.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/window/viewer_window.hpp"
#include "sim/base/error.hpp"

namespace penstock {

bool ViewerWindow::has_second() {
  if (now()->other) return true;
  show_message("There is no B: Ctrl+D freezes one");
  return false;
}

void ViewerWindow::freeze_reference() {
  OpenRun& open = *now();
  if (open.run->brief) finish();
  open.other = open.run;
  refresh_pair(open, true);
  refresh_panels();
  show_message("Frozen as B: changes are shown against it");
}

void ViewerWindow::drop_reference() {
  OpenRun& open = *now();
  blink_.stop();
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
  raise_dock("Comparison");
}

void ViewerWindow::compare_dialog() {
  const QString path = QFileDialog::getOpenFileName(this, "Compare with", {}, "Runs (*)");
  if (!path.isEmpty()) compare_with(path);
}

void ViewerWindow::swap_runs() {
  OpenRun& open = *now();
  if (!has_second()) return;
  std::swap(open.run, open.other);
  open.canvas->show_runs(painted(open.run, open.canvas->first()->by), nullptr, true);
  open.base = open.run->scenario;
  what_if_->show_scenario(open.base);
  replace_run(open.run, true);
}

void ViewerWindow::pair_style(PairStyle style) {
  OpenRun& open = *now();
  if (!has_second()) return;
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
  if (!has_second()) return;
  constexpr std::array<const char*, 4> words{"start", "first op", "makespan: B is scaled",
                                             "iteration"};
  const std::size_t next = (static_cast<std::size_t>(open.alignment) + 1) % words.size();
  open.alignment = static_cast<PairAlignment>(next);
  open.anchor.reset();
  try {
    refresh_pair(open, true);
  } catch (const InputError& error) {
    open.alignment = PairAlignment::start;
    refresh_pair(open, true);
    return show_message(QString::fromUtf8(error.what()) + "; aligned by start");
  }
  refresh_panels();
  QString how = words[next];
  if (open.alignment == PairAlignment::iteration) {
    how += QString(" %1").arg(open.pair->second->timeline.iteration);
  }
  show_message("Aligned by " + how);
}

/// With B aligned by iteration, both go on.
void ViewerWindow::step_iteration(bool forward) {
  OpenRun& open = *now();
  if (open.run->iterations == nullptr) return show_message("This run is one iteration");
  const std::vector<std::uint32_t>& numbers = open.run->iterations->numbers;
  const auto at = std::find(numbers.begin(), numbers.end(), open.run->timeline.iteration);
  const bool is_last = forward ? at + 1 >= numbers.end() : at == numbers.begin();
  if (is_last) return show_message(forward ? "This is the last iteration" : "This is the first");
  replace_run(at_iteration(*open.run, forward ? *(at + 1) : *(at - 1)), true);
  show_message(QString("Iteration %1, of %2 to %3")
                   .arg(now()->run->timeline.iteration)
                   .arg(numbers.front())
                   .arg(numbers.back()));
}

void ViewerWindow::align_by_op() {
  OpenRun& open = *now();
  if (!has_second()) return;
  if (open.canvas->selected() == no_task) return show_message("Select an op to align by");
  const std::optional<TaskId> before = open.anchor;
  open.anchor = open.canvas->selected();
  try {
    refresh_pair(open, true);
  } catch (const InputError& error) {
    open.anchor = before;
    refresh_pair(open, true);
    return show_message(QString::fromUtf8(error.what()));
  }
  refresh_panels();
  show_message("Aligned by " + qt_text(task_text(open.run->plan, *open.anchor)));
}

/// Shows A and B in turn.
void ViewerWindow::blink() {
  if (!has_second()) return;
  if (blink_.isActive()) {
    blink_.stop();
    return pair_style(PairStyle::above);
  }
  blink_.start(600);
  pair_style(PairStyle::only_second);
  show_message("A and B in turn; K ends it");
}

void ViewerWindow::first_difference() {
  OpenRun& open = *now();
  if (!open.pair) return show_message("There is no B: Ctrl+D freezes one");
  if (!open.pair->first) return show_message("The runs do not differ");
  select(*open.pair->first);
}

}  // namespace penstock
