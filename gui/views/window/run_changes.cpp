#include "gui/views/window/run_changes.hpp"

#include <utility>

#include "experiments/input/files/table.hpp"
#include "gui/models/change/moves.hpp"
#include "gui/views/canvas/look.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_undone = 50;
constexpr std::size_t most_tasks = 12'000'000;  // of plans that are kept
constexpr const char* order_dropped = "The changed order was dropped; Ctrl+Z brings it back";

ViewedRunPtr run_of(std::variant<ViewedRunPtr, MoveRefused> moved) {
  if (const auto* refused = std::get_if<MoveRefused>(&moved)) {
    throw InputError("Not moved: " + refused->text);
  }
  return std::get<ViewedRunPtr>(std::move(moved));
}

RunBefore before_change(const ViewedRunPtr& run) {
  return {run->scenario, has_changed_order(*run) ? run->layout : nullptr,
          run->brief ? nullptr : run};
}

ViewedRunPtr brought_back(const RunBefore& before) {
  if (before.run != nullptr) return before.run;
  return before.layout != nullptr ? viewed(*before.layout, before.scenario)
                                  : viewed(before.scenario);
}

/// Lets runs go, the oldest first, until the others have room; then orders that hands made, and
/// runs without a scenario but the last one, with the steps that they belong to.
void keep_within(std::size_t bytes, std::vector<RunBefore>& past) {
  std::size_t sum = 0, recorded = 0;
  std::size_t first = 0;
  for (std::size_t step = past.size(); step-- > first;) {
    RunBefore& before = past[step];
    const std::size_t own = before.run == nullptr ? 0 : bytes_of(*before.run);
    if (before.scenario == nullptr) {
      if (recorded > 0 && recorded + own > bytes) first = step + 1;
      recorded += own;
      continue;
    }
    if (sum + own > bytes) before.run = nullptr;
    if (before.run != nullptr) sum += own;
    if (before.run == nullptr && before.layout != nullptr) sum += bytes_of(*before.layout);
    if (sum > bytes) first = step + 1;
  }
  past.erase(past.begin(), past.begin() + static_cast<std::ptrdiff_t>(first));
  if (past.size() > most_undone) past.erase(past.begin());
}

}  // namespace

RunChanges::RunChanges(OpenRuns& runs)
    : RunController(runs), what_if_(new WhatIfPanel), scenario_panel_(new ScenarioPanel) {
  what_if_->on_turn = [this] { turn_knobs(); };
  scenario_panel_->on_scenario = [this](std::shared_ptr<const Scenario> scenario) {
    set_scenario(std::move(scenario));
  };
  rest_.setSingleShot(true);
  rest_.setInterval(150);
  QObject::connect(&rest_, &QTimer::timeout, &rest_, [this] { hands_rest(); });
}

void RunChanges::show_tab() {
  turning_ = false;
  OpenRun* const open = now();
  if (open == nullptr) return what_if_->show_scenario(nullptr);
  begin_at(*open);
  if (open->run->brief) rest_.start();
}

void RunChanges::show_text() {
  OpenRun* const open = now();
  if (open == nullptr) what_if_->show_scenario(nullptr);
  if (open == nullptr) return scenario_panel_->show_scenario(nullptr);
  // While another run is made, the text is that of the run to come.
  scenario_panel_->show_scenario(runs_.is_stale(*open) ? open->changes.base : open->run->scenario);
}

void RunChanges::begin_at(OpenRun& open) { begin_at(open, open.run->scenario); }

/// Files are read anew: they may have changed.
void RunChanges::begin_at(OpenRun& open, std::shared_ptr<const Scenario> base) {
  drop_later(std::exchange(chain_, std::make_shared<Chain>(nullptr, most_tasks)));
  open.changes.base = std::move(base);
  what_if_->show_scenario(open.changes.base);
  what_if_->show_in_force(open.run->layout);
  if (open.run->unfinished) what_if_->show_problem(qt_text(open.run->unfinished->what()));
}

void RunChanges::finish() {
  runs_.finish();
  hands_rest();
  runs_.finish();
}

void RunChanges::change_run(OpenRun& open, std::function<ViewedRunPtr()> make, Origin origin,
                            Then then) {
  runs_.replace(open, std::move(make),
                [this, origin, then = std::move(then)](OpenRun& shown, const QString& problem) {
                  if (&shown == now()) {
                    const auto& unfinished = shown.run->unfinished;
                    const bool tells = problem.isEmpty() && unfinished;
                    show_change_problem(tells ? qt_text(unfinished->what()) : problem, origin);
                    what_if_->show_in_force(shown.run->layout);
                  }
                  if (shown.run->brief) rest_.start();
                  if (then) then(shown, problem);
                });
}

void RunChanges::show_change_problem(const QString& problem, Origin origin) {
  if (origin == Origin::canvas) return show_message(problem);
  if (origin == Origin::rest && problem.isEmpty()) return;
  what_if_->show_problem(problem);
  if (origin == Origin::editor) scenario_panel_->show_fault(problem);
}

void RunChanges::remember(OpenRun& open, RunBefore before) {
  open.changes.past.push_back(std::move(before));
  keep_within(most_bytes, open.changes.past);
  drop_later(std::exchange(open.changes.future, {}));
}

void RunChanges::turn_knobs() {
  OpenRun* const open = now();
  if (open == nullptr || !open->changes.base) return;
  std::vector<std::string> settings;
  try {
    settings = what_if_->settings();
  } catch (const InputError& error) {
    // In its turn: a change that was made before may still be shown.
    return change_run(
        *open, [error]() -> ViewedRunPtr { throw error; }, Origin::knobs);
  }
  if (!turning_) remember(*open, before_change(open->run));
  turning_ = true;
  rest_.start();
  change_run(
      *open,
      [chain = chain_, base = open->changes.base, settings = std::move(settings)] {
        return viewed_after(*chain, chain->changed(*base, settings));
      },
      Origin::knobs, saying_order_dropped(*open));
}

void RunChanges::set_scenario(std::shared_ptr<const Scenario> scenario) {
  OpenRun* const open = now();
  if (open == nullptr || !open->run->scenario) return;
  remember(*open, before_change(open->run));
  begin_at(*open, scenario);
  change_run(
      *open, [scenario] { return viewed(scenario); }, Origin::editor, saying_order_dropped(*open));
}

/// A scenario has no order that a hand made.
RunChanges::Then RunChanges::saying_order_dropped(const OpenRun& open) const {
  if (!has_changed_order(*open.run)) return {};
  return [this](OpenRun&, const QString& problem) {
    if (problem.isEmpty()) show_message(order_dropped);
  };
}

void RunChanges::read_again(OpenRun& open, std::function<ViewedRunPtr()> read) {
  change_run(open, std::move(read), Origin::canvas,
             [this, before = before_change(open.run)](OpenRun& changed, const QString& problem) {
               if (!problem.isEmpty()) return;
               remember(changed, before);
               if (&changed == now()) begin_at(changed);
               show_message("Read again; Ctrl+Z brings back the run before");
             });
}

void RunChanges::follow_swap(OpenRun& open) {
  if (open.swapped == open.others.front()) return;  // of two presses, shown at once
  ChangesOfRun changes;
  if (open.swapped == open.run) changes = std::move(open.changes_of_swapped);
  open.changes_of_swapped = std::exchange(open.changes, std::move(changes));
  open.swapped = open.others.front();
  if (&open == now()) begin_at(open);
}

void RunChanges::undo(bool forward) {
  OpenRun& open = *now();
  std::vector<RunBefore>& from = forward ? open.changes.future : open.changes.past;
  std::vector<RunBefore>& to = forward ? open.changes.past : open.changes.future;
  if (from.empty()) return show_message(forward ? "Nothing was undone" : "Nothing was changed");
  to.push_back(before_change(open.run));
  keep_within(most_bytes, to);
  const RunBefore before = std::move(from.back());
  from.pop_back();
  runs_.take_back(open);
  scenario_panel_->forget_text();
  begin_at(open, before.scenario);
  show_message(forward ? "Done again" : "Undone");
  change_run(
      open, [before] { return brought_back(before); }, Origin::knobs);
}

void RunChanges::move_op(bool later) {
  OpenRun& open = *now();
  const ShownOp& op = open.canvas->selected();
  if (op.is_none()) return show_message("Select an op first");
  if (op.run != 0) return show_message("Not moved: this run is only looked at; X swaps A and B");
  change_run(
      open,
      [from = open.run, task = op.task, later] {
        return run_of(with_moved_op(*from, task, later));
      },
      Origin::canvas,
      [this, later, before = before_change(open.run)](OpenRun& changed, const QString& problem) {
        if (!problem.isEmpty()) return;
        remember(changed, before);
        show_message(later ? "Moved one place later" : "Moved one place earlier");
      });
}

/// What was simulated briefly while the hand moved, whole. A run that is still to come rests later.
void RunChanges::hands_rest() {
  turning_ = false;
  OpenRun* const open = now();
  if (open == nullptr || !open->run->brief || runs_.makes_run(*open)) return;
  change_run(
      *open, [run = open->run] { return whole(run); }, Origin::rest);
}

void RunChanges::grab_op(OpenRun& open) {
  open.changes.grabbed = open.run;
  open.changes.carried = open.canvas->selected().task;
}

/// What was dragged stays where it was, if it is not `from` that is shown.
void RunChanges::end_drag(OpenRun& open, const ViewedRunPtr& from) {
  if (open.run == from) return;
  const QString why = runs_.message();
  change_run(
      open, [from] { return from; }, Origin::canvas,
      [this, why](OpenRun&, const QString&) { show_message(why); });
}

/// Puts the op that is dragged at a moment of the run as it was when the drag began.
void RunChanges::carry(OpenRun& open, std::int64_t time, bool released) {
  const ViewedRunPtr from = open.changes.grabbed;
  if (from == nullptr || open.changes.carried == no_task) return;
  change_run(
      open,
      [from, task = open.changes.carried, time] {
        const bool changes = from->layout != nullptr;
        return run_of(with_op_at(*from, task, changes ? place_at(*from, task, time) : 0));
      },
      Origin::canvas,
      [this, from, released](OpenRun& changed, const QString& problem) {
        if (!released) return;
        if (!problem.isEmpty()) return end_drag(changed, from);
        remember(changed, before_change(from));
        show_message("Moved; Ctrl+Z undoes it");
      });
  if (!released) return;
  open.changes.grabbed = nullptr;
  open.changes.carried = no_task;
}

void RunChanges::move_boundary(OpenRun& open, std::uint32_t rank, int layers, bool released) {
  if (open.changes.grabbed == nullptr) open.changes.grabbed = open.run;
  const ViewedRunPtr from = open.changes.grabbed;
  change_run(
      open,
      [chain = chain_, from, rank, layers] {
        return viewed_after(*chain, with_moved_boundary(*chain, *from, rank, layers));
      },
      Origin::canvas,
      [this, from, rank, layers, released](OpenRun& changed, const QString& problem) {
        if (!released) return;
        const bool refused = !problem.isEmpty();
        const int gained = refused ? 0 : layers_on(*changed.run, rank) - layers_on(*from, rank);
        if (gained == 0) {
          if (!refused && layers != 0) show_message("Not moved: each stage keeps a layer");
          return end_drag(changed, from);
        }
        remember(changed, before_change(from));
        begin_at(changed);
        show_message(
            QString("%1 moved %2 rank %3; Ctrl+Z undoes it%4")
                .arg(qt_text(counted(static_cast<std::uint64_t>(std::abs(gained)), "layer")))
                .arg(gained > 0 ? "to" : "from")
                .arg(rank)
                .arg(has_changed_order(*from) ? "; the changed order was dropped" : ""));
      });
  if (released) open.changes.grabbed = nullptr;
}

}  // namespace penstock
