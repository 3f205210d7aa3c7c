#include <algorithm>

#include "gui/views/canvas/look.hpp"
#include "gui/views/window/viewer_window.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double quick_ms = 12;  // a change that takes less runs in the interface's thread

template <class Change>
std::vector<PaintedRunPtr> each_changed(const std::vector<PaintedRunPtr>& runs, Change change) {
  std::vector<PaintedRunPtr> all;
  for (const PaintedRunPtr& run : runs) all.push_back(change(*run));
  return all;
}

ShownWith shown_with(const OpenRun& open) {
  const LaneChoice& choice = open.canvas->choice();
  return {.others = open.others,
          .alignment = open.alignment,
          .anchor = open.anchor,
          .memory = choice.memory,
          .links = choice.links,
          .frozen = choice.frozen};
}

}  // namespace

void ViewerWindow::replace_run(OpenRun& open, ViewedRunPtr run) {
  const PaintedRunPtr before = open.canvas->first();
  open.anchor.reset();
  replace_run(open, on_one_axis(before->run == run ? before : painted(std::move(run), before->by),
                                shown_with(open)));
}

void ViewerWindow::replace_run(OpenRun& open, RunsOnAxis runs) {
  open.run = runs.first->run;
  open.idle.clear();
  open.idle_at.reset();
  open.found = {};
  const bool slack = open.canvas->shows_slack();
  show_on_axis(open, std::move(runs));
  if (slack) show_slack(open);
  open.run->brief ? refresh_selection() : refresh_panels();
}

void ViewerWindow::refresh_pair(OpenRun& open) {
  show_against(open, open.others, open.canvas->choice().frozen);
}

/// Leaves all as it was if the runs cannot be compared.
void ViewerWindow::show_against(OpenRun& open, std::vector<ViewedRunPtr> others, bool frozen) {
  ShownWith with = shown_with(open);
  with.others = std::move(others);
  with.frozen = frozen;
  RunsOnAxis runs = on_one_axis(open.canvas->first(), with);
  open.others = std::move(with.others);
  show_on_axis(open, std::move(runs));
}

void ViewerWindow::show_on_axis(OpenRun& open, RunsOnAxis runs) {
  const ShownOps path = open.canvas->path();
  open.pairs = std::move(runs.pairs);
  open.canvas->show_runs(std::move(runs.first), std::move(runs.others), true);
  const std::size_t count = open.canvas->runs();
  if (open.idle_run >= count) open.idle.clear();
  if (open.found.run >= count) open.found = {};
  if (!path.empty() && path.run < count) show_path(open, path.run);
}

void ViewerWindow::colour_by(ColourBy by) {
  OpenRun& open = *now();
  const auto change = [by](const PaintedRun& run) { return recoloured(run, by); };
  std::vector<PaintedRunPtr> others = each_changed(open.canvas->others(), change);
  open.canvas->show_runs(change(*open.canvas->first()), std::move(others), true);
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
  if (choice.memory && first->memory == nullptr) {
    const PaintedRunPtr with = with_memory(*first);
    if (with->memory->ranks.empty()) {
      return show_message("Nothing is known of this run's memory: its sizes are zero");
    }
    open.canvas->show_runs(with, each_changed(open.canvas->others(), with_memory), true);
  }
  open.canvas->set_choice(choice);
  refresh_legend();
}

void ViewerWindow::toggle_links() {
  OpenRun& open = *now();
  LaneChoice choice = open.canvas->choice();
  choice.links = !choice.links;
  if (choice.links) {
    const auto change = [&](const PaintedRun& run) { return with_links(run, open.run->plan); };
    const PaintedRunPtr with = change(*open.canvas->first());
    const bool any = std::any_of(with->links->begin(), with->links->end(),
                                 [](const PaintedLink& link) { return !link.tracks.empty(); });
    if (!any) return show_message("No transfer of this run occupies a link");
    open.canvas->show_runs(with, each_changed(open.canvas->others(), change), true);
  }
  open.canvas->set_choice(choice);
}

// ---- what if ----

void ViewerWindow::change_run(const OpenRun& open, std::function<ViewedRunPtr()> make,
                              Origin origin) {
  ShownWith with = shown_with(open);
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
          OpenRun* const shown = shown_by(canvas);
          if (shown == nullptr) return;
          if (shown == now()) show_change_problem(problem, origin);
          if (runs.first == nullptr) return;
          shown->anchor.reset();
          const ShownWith wanted = shown_with(*shown);
          replace_run(*shown, with == wanted ? runs : on_one_axis(runs.first, wanted));
          if (shown->run->brief) rest_.start();
        };
      },
      quick_ms);
}

void ViewerWindow::show_change_problem(const QString& problem, Origin origin) {
  if (origin == Origin::canvas) return show_message(problem);
  what_if_->show_problem(problem);
  if (origin == Origin::editor) scenario_panel_->show_fault(problem);
}

/// What was simulated briefly while the hand moved, whole.
void ViewerWindow::complete_run(const OpenRun& open) {
  if (!open.run->brief) return;
  change_run(
      open, [run = open.run] { return viewed(*run->scenario); }, Origin::knobs);
}

void ViewerWindow::complete_now(const OpenRun& open) {
  changing_.finish();
  complete_run(open);
  changing_.finish();
}

void ViewerWindow::hands_rest() {
  turning_ = false;
  if (now() != nullptr) complete_run(*now());
}

void ViewerWindow::turn_knobs() {
  OpenRun* const open = now();
  if (open == nullptr || !open->base) return;
  std::vector<std::string> settings;
  try {
    settings = what_if_->settings();
  } catch (const InputError& error) {
    return what_if_->show_problem(QString::fromUtf8(error.what()));
  }
  if (!turning_) remember(*open);
  turning_ = true;
  rest_.start();
  change_run(
      *open,
      [base = open->base, settings = std::move(settings), before = open->run] {
        return viewed_after(changed(*base, settings), *before);
      },
      Origin::knobs);
}

void ViewerWindow::set_scenario(const Scenario& scenario) {
  OpenRun* const open = now();
  if (open == nullptr || !open->run->scenario) return;
  remember(*open);
  open->base = std::make_shared<const Scenario>(scenario);
  what_if_->show_scenario(open->base);
  change_run(
      *open, [base = open->base] { return viewed(*base); }, Origin::editor);
}

}  // namespace penstock
