#include "gui/views/window/run_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gui/models/run/run_pair.hpp"
#include "gui/views/canvas/look.hpp"
#include "sim/base/error.hpp"

namespace penstock {

RunComparison::RunComparison(OpenRuns& runs, RunChanges& changes)
    : RunController(runs), changes_(changes) {
  QObject::connect(&blink_, &QTimer::timeout, &blink_, [this] {
    if (now() == nullptr || now()->others.empty()) return blink_.stop();
    const LaneChoice& choice = canvas()->choice();
    const bool was_last =
        choice.style == PairStyle::only_other && choice.other >= now()->others.size();
    was_last ? pair_style(PairStyle::only_first) : show_other_alone();
  });
}

bool RunComparison::has_second() {
  if (!now()->others.empty()) return true;
  show_message("There is no B: Ctrl+D freezes this run as A, Ctrl+Shift+O opens one as B");
  return false;
}

void RunComparison::freeze_reference() {
  runs_.freeze(*now(), saying("Frozen as A: changes make B, which is held against it"));
}

void RunComparison::drop_reference() {
  blink_.stop();
  runs_.change_shown(*now(), [](ShownWith& with) {
    with.others.clear();
    with.frozen = false;
  });
}

void RunComparison::hold_against(OpenRun& open, std::vector<ViewedRunPtr> others, bool frozen,
                                 const QString& message) {
  if (others.size() >= most_runs) {
    throw UsageError(fmt::format("{} runs are more than fit on one axis: at most {}",
                                 others.size() + 1, most_runs));
  }
  runs_.change_shown(
      open,
      [&](ShownWith& with) {
        with.others = std::move(others);
        with.frozen = frozen;
      },
      [this, message](OpenRun& held, const QString& problem) {
        show_message(problem.isEmpty() ? message : problem);
        if (!problem.isEmpty()) return;
        TimelineCanvas& shown = *held.canvas;
        shown.change_choice([](LaneChoice& choice) { choice.style = PairStyle::above; });
        shown.leave_out_what_does_not_fit();
        shown.fit();
        on_held();
      });
}

void RunComparison::stack_tabs() {
  if (runs_.all().size() < 2) return show_message("Open another run first: each tab is one");
  std::vector<ViewedRunPtr> others;
  for (const OpenRun& each : runs_.all()) {
    if (each.canvas != canvas()) others.push_back(each.run);
  }
  hold_against(*now(), std::move(others), false,
               QString("%1 runs on one axis; Ctrl+Shift+D drops them").arg(runs_.all().size()));
}

void RunComparison::swap_runs() {
  OpenRun& open = *now();
  if (!has_second()) return;
  const ViewedRunPtr other = open.others.front();
  runs_.change_shown(
      open,
      [&](ShownWith& with) {
        with.others.front() = open.run;
        with.anchor.reset();
      },
      [this](OpenRun& swapped, const QString& problem) {
        problem.isEmpty() ? changes_.follow_swap(swapped) : show_message(problem);
      },
      [other] { return other; });
}

void RunComparison::pair_style(PairStyle style) {
  if (!has_second()) return;
  canvas()->change_choice([&](LaneChoice& choice) { choice.style = style; });
  const QString other = QString("only ") + QChar(letter_of_run(canvas()->choice().other));
  show_message("Shown: " + (style == PairStyle::only_other ? other : qt_text(name(style))));
}

void RunComparison::show_other_alone() {
  if (!has_second()) return;
  LaneChoice choice = canvas()->choice();
  const bool next = choice.style == PairStyle::only_other && choice.other < now()->others.size();
  choice.other = next ? static_cast<std::uint8_t>(choice.other + 1) : 1;
  canvas()->set_choice(choice);
  pair_style(PairStyle::only_other);
}

void RunComparison::cycle_pair_style() {
  const PairStyle now_shown = canvas()->choice().style;
  if (now_shown == PairStyle::ghost) return pair_style(PairStyle::above);
  pair_style(now_shown == PairStyle::above ? PairStyle::mirrored : PairStyle::ghost);
}

void RunComparison::cycle_alignment() {
  if (has_second()) align(*now(), (static_cast<std::size_t>(now()->alignment) + 1) % 4);
}

void RunComparison::align(OpenRun& open, std::size_t alignment, const QString& after) {
  runs_.change_shown(
      open,
      [&](ShownWith& with) {
        with.alignment = static_cast<PairAlignment>(alignment);
        with.anchor.reset();
      },
      [this, after, alignment](OpenRun& aligned, const QString& problem) {
        constexpr std::array<const char*, 4> words{
            "start", "first op", "makespan, to which the other is scaled", "iteration"};
        if (!problem.isEmpty() && alignment > 0) {
          return align(aligned, 0, problem + "; aligned by start");
        }
        QString how = words[alignment];
        if (aligned.alignment == PairAlignment::iteration && !aligned.pairs.empty()) {
          const bool both = aligned.run->iterations && aligned.others.front()->iterations;
          if (!both) return align(aligned, 0, "One of the runs is one iteration; aligned by start");
          how += QString(" %1").arg(aligned.pairs.front().second->timeline.iteration);
        }
        show_message(after.isEmpty() ? "Aligned by " + how : after);
      });
}

void RunComparison::align_by_op() {
  OpenRun& open = *now();
  if (!has_second()) return;
  const ShownOp& op = open.canvas->selected();
  if (op.is_none()) return show_message("Select an op to align by");
  const auto here = same_ops(open.canvas->run(op.run).run->plan, {op.task}, open.run->plan);
  if (here.empty()) return show_message("Select an op of both runs to align by");
  runs_.change_shown(
      open, [&](ShownWith& with) { with.anchor = here.front(); },
      saying("Aligned by " + qt_text(task_text(open.run->plan, here.front()))));
}

void RunComparison::blink() {
  if (!has_second()) return;
  if (blink_.isActive()) {
    blink_.stop();
    return pair_style(PairStyle::above);
  }
  blink_.start(600);
  show_other_alone();
  show_message("A and the others in turn; K ends it");
}

void RunComparison::first_difference() {
  OpenRun& open = *now();
  if (!has_second()) return;
  const std::optional<TaskId> first = open.pairs.front().first;
  if (!first) return show_message("A and B do not differ");
  runs_.select(*first);
}

void RunComparison::step_iteration(bool forward) {
  OpenRun& open = *now();
  if (open.run->iterations == nullptr) return show_message("This run is one iteration");
  const std::vector<std::uint32_t>& numbers = open.run->iterations->numbers;
  const auto at = std::find(numbers.begin(), numbers.end(), open.run->timeline.iteration);
  const bool is_last = forward ? at + 1 >= numbers.end() : at == numbers.begin();
  if (is_last) return show_message(forward ? "This is the last iteration" : "This is the first");
  const std::uint32_t number = forward ? *(at + 1) : *(at - 1);
  runs_.replace(
      open, [run = open.run, number] { return at_iteration(*run, number); },
      saying(QString("Iteration %1, of %2 to %3")
                 .arg(number)
                 .arg(numbers.front())
                 .arg(numbers.back())));
}

}  // namespace penstock
