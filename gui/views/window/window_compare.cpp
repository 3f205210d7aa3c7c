#include <fmt/format.h>

#include <QFileDialog>
#include <algorithm>

#include "gui/models/run/run_pair.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/window/viewer_window.hpp"
#include "sim/base/error.hpp"

namespace penstock {

bool ViewerWindow::has_second() {
  if (!now()->others.empty()) return true;
  show_message("There is no B: Ctrl+D freezes this run as A, Ctrl+Shift+O opens one as B");
  return false;
}

void ViewerWindow::freeze_reference() {
  OpenRun& open = *now();
  complete_now(open);
  std::vector<ViewedRunPtr> others = open.others;
  if (others.empty()) others.emplace_back();
  others.front() = open.run;
  show_against(open, std::move(others), true);
  refresh_panels();
  show_message("Frozen as A: changes make B, which is held against it");
}

void ViewerWindow::drop_reference() {
  OpenRun& open = *now();
  blink_.stop();
  show_against(open, {}, false);
  refresh_panels();
}

/// Replaces the runs beside the open one.
void ViewerWindow::hold_against(std::vector<ViewedRunPtr> others, bool frozen) {
  OpenRun& open = *now();
  if (others.size() >= most_runs) {
    throw UsageError(fmt::format("{} runs are more than fit on one axis: at most {}",
                                 others.size() + 1, most_runs));
  }
  show_against(open, std::move(others), frozen);
  LaneChoice choice = open.canvas->choice();
  choice.style = PairStyle::above;
  open.canvas->set_choice(choice);
  open.canvas->leave_out_what_does_not_fit();
  refresh_panels();
  raise_dock("Comparison");
}

void ViewerWindow::compare_dialog() {
  const QStringList paths = QFileDialog::getOpenFileNames(this, "Compare with", {}, "Runs (*)");
  if (!paths.isEmpty()) compare_with(paths);
}

/// The run in front against those of all other tabs.
void ViewerWindow::stack_tabs() {
  if (runs_.size() < 2) return show_message("Open another run first: each tab is one");
  for (const OpenRun& each : runs_) complete_now(each);
  std::vector<ViewedRunPtr> others;
  for (const OpenRun& each : runs_) {
    if (each.canvas != canvas()) others.push_back(each.run);
  }
  hold_against(std::move(others), false);
  show_message(QString("%1 runs on one axis; Ctrl+Shift+D drops them").arg(runs_.size()));
}

void ViewerWindow::swap_runs() {
  OpenRun& open = *now();
  if (!has_second()) return;
  std::swap(open.run, open.others.front());
  open.base = open.run->scenario;
  what_if_->show_scenario(open.base);
  replace_run(open, open.run);
}

void ViewerWindow::pair_style(PairStyle style) {
  OpenRun& open = *now();
  if (!has_second()) return;
  LaneChoice choice = open.canvas->choice();
  choice.style = style;
  open.canvas->set_choice(choice);
  const QString other = QString("only ") + QChar(letter_of_run(choice.other));
  show_message("Shown: " + (style == PairStyle::only_other ? other : qt_text(name(style))));
}

/// B alone; once more, the next one.
void ViewerWindow::show_other_alone() {
  if (!has_second()) return;
  LaneChoice choice = canvas()->choice();
  const bool next = choice.style == PairStyle::only_other && choice.other < now()->others.size();
  choice.other = next ? static_cast<std::uint8_t>(choice.other + 1) : 1;
  canvas()->set_choice(choice);
  pair_style(PairStyle::only_other);
}

void ViewerWindow::cycle_pair_style() {
  const PairStyle now_shown = canvas()->choice().style;
  if (now_shown == PairStyle::ghost) return pair_style(PairStyle::above);
  pair_style(now_shown == PairStyle::above ? PairStyle::mirrored : PairStyle::ghost);
}

void ViewerWindow::cycle_alignment() {
  OpenRun& open = *now();
  if (!has_second()) return;
  constexpr std::array<const char*, 4> words{"start", "first op",
                                             "makespan, to which the other is scaled", "iteration"};
  const std::size_t next = (static_cast<std::size_t>(open.alignment) + 1) % words.size();
  open.alignment = static_cast<PairAlignment>(next);
  open.anchor.reset();
  try {
    refresh_pair(open);
  } catch (const InputError& error) {
    open.alignment = PairAlignment::start;
    refresh_pair(open);
    return show_message(QString::fromUtf8(error.what()) + "; aligned by start");
  }
  refresh_panels();
  QString how = words[next];
  if (open.alignment == PairAlignment::iteration) {
    how += QString(" %1").arg(open.pairs.front().second->timeline.iteration);
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
  replace_run(open, at_iteration(*open.run, forward ? *(at + 1) : *(at - 1)));
  show_message(QString("Iteration %1, of %2 to %3")
                   .arg(now()->run->timeline.iteration)
                   .arg(numbers.front())
                   .arg(numbers.back()));
}

void ViewerWindow::align_by_op() {
  OpenRun& open = *now();
  if (!has_second()) return;
  const ShownOp& op = open.canvas->selected();
  if (op.is_none()) return show_message("Select an op to align by");
  const auto here = same_ops(open.canvas->run(op.run).run->plan, {op.task}, open.run->plan);
  if (here.empty()) return show_message("Select an op of both runs to align by");
  const std::optional<TaskId> before = open.anchor;
  open.anchor = here.front();
  try {
    refresh_pair(open);
  } catch (const InputError& error) {
    open.anchor = before;
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
  show_other_alone();
  show_message("A and the others in turn; K ends it");
}

void ViewerWindow::first_difference() {
  OpenRun& open = *now();
  if (!has_second()) return;
  const std::optional<TaskId> first = open.pairs.front().first;
  if (!first) return show_message("A and B do not differ");
  select(*first);
}

/// The report of each pair. In each, the run that is held against A is called B.
QString ViewerWindow::comparison_text(const OpenRun& open) const {
  QStringList texts;
  for (std::size_t i = 0; i < open.pairs.size(); ++i) {
    const QString heading =
        i == 0 ? QString() : QString("%1 − A, below as B\n").arg(QChar(letter_of_run(i + 1)));
    texts << heading + QString::fromStdString(open.pairs[i].text);
  }
  return texts.join("\n");
}

}  // namespace penstock
