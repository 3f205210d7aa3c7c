#include "gui/views/window/run_changes.hpp"

#include "experiments/input/files/table.hpp"
#include "gui/models/change/moves.hpp"
#include "gui/views/canvas/look.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double quick_ms = 12;  // a change that takes less runs in the interface's thread
constexpr std::size_t most_undone = 50;
constexpr std::size_t most_tasks = 12'000'000;  // of plans that are kept

ViewedRunPtr run_of(std::variant<ViewedRunPtr, MoveRefused> moved) {
  if (const auto* refused = std::get_if<MoveRefused>(&moved)) {
    throw InputError("Not moved: " + refused->text);
  }
  return std::get<ViewedRunPtr>(std::move(moved));
}

}  // namespace

RunChanges::RunChanges(OpenRuns& runs)
    : RunController(runs), what_if_(new WhatIfPanel), scenario_panel_(new ScenarioPanel) {
  what_if_->on_turn = [this] { turn_knobs(); };
  scenario_panel_->on_scenario = [this](const Scenario& scenario) { set_scenario(scenario); };
  rest_.setSingleShot(true);
  rest_.setInterval(150);
  QObject::connect(&rest_, &QTimer::timeout, &rest_, [this] { hands_rest(); });
}

RunChanges::~RunChanges() {
  changing_.cancel();
  changing_.finish();
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
  scenario_panel_->show_scenario(open == nullptr ? nullptr : open->run->scenario.get());
}

void RunChanges::begin_at(OpenRun& open) { begin_at(open, open.run->scenario); }

/// Files are read anew: they may have changed.
void RunChanges::begin_at(OpenRun& open, std::shared_ptr<const Scenario> base) {
  chain_ = std::make_shared<Chain>(nullptr, most_tasks);
  open.changes.base = std::move(base);
  what_if_->show_scenario(open.changes.base);
}

void RunChanges::finish() {
  changing_.finish();
  hands_rest();
  changing_.finish();
}

void RunChanges::change_run(const OpenRun& open, std::function<ViewedRunPtr()> make,
                            Origin origin) {
  ShownWith with = OpenRuns::shown_with(open);
  with.anchor.reset();  // tasks may get other numbers
  changing_.request(
      [this, make = std::move(make), canvas = open.canvas, origin, with,
       before = open.canvas->first()]() -> Background::Done {
        RunsOnAxis runs;
        QString problem;
        try {
          runs = on_one_axis(painted_after(make(), *before), with);
        } catch (const std::exception& error) {
          problem = QString::fromUtf8(error.what());
        }
        return [this, runs, with, problem, canvas, origin] {
          OpenRun* const shown = runs_.shown_by(canvas);
          if (shown == nullptr) return;
          if (shown == now()) show_change_problem(problem, origin);
          if (runs.first == nullptr) return;
          shown->anchor.reset();
          const ShownWith wanted = OpenRuns::shown_with(*shown);
          runs_.replace(*shown, with == wanted ? runs : on_one_axis(runs.first, wanted));
          if (shown->run->brief) rest_.start();
        };
      },
      quick_ms);
}

void RunChanges::show_change_problem(const QString& problem, Origin origin) {
  if (origin == Origin::canvas) return show_message(problem);
  what_if_->show_problem(problem);
  if (origin == Origin::editor) scenario_panel_->show_fault(problem);
}

/// What was simulated briefly while the hand moved, whole.
void RunChanges::complete_run(const OpenRun& open) {
  if (!open.run->brief) return;
  change_run(
      open, [run = open.run] { return viewed(*run->scenario); }, Origin::knobs);
}

void RunChanges::remember(OpenRun& open, RunBefore before) {
  open.changes.past.push_back(std::move(before));
  if (open.changes.past.size() > most_undone) open.changes.past.erase(open.changes.past.begin());
  open.changes.future.clear();
}

void RunChanges::turn_knobs() {
  OpenRun* const open = now();
  if (open == nullptr || !open->changes.base) return;
  std::vector<std::string> settings;
  try {
    settings = what_if_->settings();
  } catch (const InputError& error) {
    return what_if_->show_problem(QString::fromUtf8(error.what()));
  }
  if (!turning_) remember(*open, {open->run, open->changes.base});
  turning_ = true;
  rest_.start();
  change_run(
      *open,
      [chain = chain_, base = open->changes.base, settings = std::move(settings)] {
        return viewed_after(*chain, chain->changed(*base, settings));
      },
      Origin::knobs);
}

void RunChanges::set_scenario(const Scenario& scenario) {
  OpenRun* const open = now();
  if (open == nullptr || !open->run->scenario) return;
  remember(*open, {open->run, open->changes.base});
  begin_at(*open, std::make_shared<const Scenario>(scenario));
  change_run(
      *open, [base = open->changes.base] { return viewed(*base); }, Origin::editor);
}

void RunChanges::undo(bool forward) {
  OpenRun& open = *now();
  std::vector<RunBefore>& from = forward ? open.changes.future : open.changes.past;
  std::vector<RunBefore>& to = forward ? open.changes.past : open.changes.future;
  if (from.empty()) return show_message(forward ? "Nothing was undone" : "Nothing was changed");
  to.push_back({open.run, open.changes.base});
  const RunBefore before = std::move(from.back());
  from.pop_back();
  changing_.cancel();
  begin_at(open, before.base);
  runs_.replace(open, before.run);
  if (before.run->brief) rest_.start();
  show_message(forward ? "Done again" : "Undone");
}

void RunChanges::move_op(bool later) {
  OpenRun& open = *now();
  const ShownOp& op = open.canvas->selected();
  if (op.is_none()) return show_message("Select an op first");
  if (op.run != 0) return show_message("Not moved: this run is only looked at; X swaps A and B");
  auto moved = with_moved_op(*open.run, op.task, later);
  if (const auto* refused = std::get_if<MoveRefused>(&moved)) {
    return show_message("Not moved: " + QString::fromStdString(refused->text));
  }
  remember(open, {open.run, open.changes.base});
  runs_.replace(open, std::get<ViewedRunPtr>(moved));
  show_message(later ? "Moved one place later" : "Moved one place earlier");
}

void RunChanges::hands_rest() {
  turning_ = false;
  if (now() != nullptr) complete_run(*now());
}

void RunChanges::complete_now(const OpenRun& open) {
  changing_.finish();
  complete_run(open);
  changing_.finish();
}

void RunChanges::grab_op(OpenRun& open) {
  complete_now(open);
  open.changes.grabbed = {open.run, open.changes.base};
  open.changes.carried = open.canvas->selected().task;
}

/// Puts the op that is dragged at a moment of the run as it was when the drag began.
void RunChanges::carry(OpenRun& open, std::int64_t time, bool released) {
  const ViewedRunPtr from = open.changes.grabbed.run;
  if (from == nullptr || open.changes.carried == no_task) return;
  change_run(
      open,
      [from, task = open.changes.carried, time] {
        const bool changes = from->layout != nullptr;
        return run_of(with_op_at(*from, task, changes ? place_at(*from, task, time) : 0));
      },
      Origin::canvas);
  if (!released) return;
  changing_.finish();
  const bool moved = open.run != from && runs_.message().isEmpty();
  if (moved) {
    remember(open, open.changes.grabbed);
    show_message("Moved; Ctrl+Z undoes it");
  } else if (open.run != from) {
    runs_.replace(open, from);
  }
  open.changes.grabbed = {};
  open.changes.carried = no_task;
}

void RunChanges::move_boundary(OpenRun& open, std::uint32_t rank, int layers, bool released) {
  if (open.changes.grabbed.run == nullptr) {
    complete_now(open);
    open.changes.grabbed = {open.run, open.changes.base};
  }
  const ViewedRunPtr from = open.changes.grabbed.run;
  change_run(
      open,
      [chain = chain_, from, rank, layers] {
        return viewed_after(*chain, with_moved_boundary(*chain, *from, rank, layers));
      },
      Origin::canvas);
  if (!released) return;
  changing_.finish();
  const bool refused = !runs_.message().isEmpty();
  const int gained = refused ? 0 : layers_on(*open.run, rank) - layers_on(*from, rank);
  if (gained != 0) {
    remember(open, open.changes.grabbed);
    begin_at(open);
    show_message(QString("%1 moved %2 rank %3; Ctrl+Z undoes it")
                     .arg(qt_text(counted(static_cast<std::uint64_t>(std::abs(gained)), "layer")))
                     .arg(gained > 0 ? "to" : "from")
                     .arg(rank));
  } else {
    if (open.run != from) runs_.replace(open, from);
    if (!refused && layers != 0) show_message("Not moved: each stage keeps a layer");
  }
  open.changes.grabbed = {};
}

}  // namespace penstock
