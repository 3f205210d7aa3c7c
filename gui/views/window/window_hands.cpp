#include <algorithm>

#include "experiments/input/files/table.hpp"
#include "gui/models/change/moves.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/window/viewer_window.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_undone = 50;

ViewedRunPtr run_of(std::variant<ViewedRunPtr, MoveRefused> moved) {
  if (const auto* refused = std::get_if<MoveRefused>(&moved)) {
    throw InputError("Not moved: " + refused->text);
  }
  return std::get<ViewedRunPtr>(std::move(moved));
}

}  // namespace

void ViewerWindow::connect_canvas(TimelineCanvas& canvas) {
  canvas.on_selection = [this] { refresh_selection(); };
  canvas.on_hover = [this](const QString& text) { hover_->set_text(text); };
  // Another tab may come in front while a hand drags.
  canvas.on_grab = [this, &canvas] {
    if (OpenRun* const open = shown_by(&canvas)) grab_op(*open);
  };
  canvas.on_carry = [this, &canvas](std::int64_t time, bool released) {
    if (OpenRun* const open = shown_by(&canvas)) carry(*open, time, released);
  };
  canvas.on_boundary = [this, &canvas](std::uint32_t rank, int layers, bool released) {
    if (OpenRun* const open = shown_by(&canvas)) move_boundary(*open, rank, layers, released);
  };
}

// ---- undoing ----

void ViewerWindow::remember(OpenRun& open) {
  open.past.push_back({open.run, open.base});
  if (open.past.size() > most_undone) open.past.erase(open.past.begin());
  open.future.clear();
}

void ViewerWindow::undo(bool forward) {
  OpenRun& open = *now();
  std::vector<RunBefore>& from = forward ? open.future : open.past;
  std::vector<RunBefore>& to = forward ? open.past : open.future;
  if (from.empty()) return show_message(forward ? "Nothing was undone" : "Nothing was changed");
  to.push_back({open.run, open.base});
  const RunBefore before = std::move(from.back());
  from.pop_back();
  changing_.cancel();
  open.base = before.base;
  what_if_->show_scenario(open.base);
  replace_run(open, before.run);
  if (before.run->brief) rest_.start();
  show_message(forward ? "Done again" : "Undone");
}

// ---- moving ops ----

void ViewerWindow::move_op(bool later) {
  OpenRun& open = *now();
  const ShownOp& op = open.canvas->selected();
  if (op.is_none()) return show_message("Select an op first");
  if (op.run != 0) return show_message("Not moved: this run is only looked at; X swaps A and B");
  auto moved = with_moved_op(*open.run, op.task, later);
  if (const auto* refused = std::get_if<MoveRefused>(&moved)) {
    return show_message("Not moved: " + QString::fromStdString(refused->text));
  }
  remember(open);
  replace_run(open, std::get<ViewedRunPtr>(moved));
  show_message(later ? "Moved one place later" : "Moved one place earlier");
}

void ViewerWindow::grab_op(OpenRun& open) {
  complete_now(open);
  open.grabbed = {open.run, open.base};
  open.carried = open.canvas->selected().task;
}

/// Puts the op that is dragged at a moment of the run as it was when the drag began.
void ViewerWindow::carry(OpenRun& open, std::int64_t time, bool released) {
  const ViewedRunPtr from = open.grabbed.run;
  if (from == nullptr || open.carried == no_task) return;
  change_run(
      open,
      [from, task = open.carried, time] {
        const bool changes = from->layout != nullptr;
        return run_of(with_op_at(*from, task, changes ? place_at(*from, task, time) : 0));
      },
      Origin::canvas);
  if (!released) return;
  changing_.finish();
  const bool moved = open.run != from && message().isEmpty();
  if (moved) {
    open.past.push_back(open.grabbed);
    open.future.clear();
    show_message("Moved; Ctrl+Z undoes it");
  } else if (open.run != from) {
    replace_run(open, from);
  }
  open.grabbed = {};
  open.carried = no_task;
}

// ---- moving layers ----

void ViewerWindow::move_boundary(OpenRun& open, std::uint32_t rank, int layers, bool released) {
  if (open.grabbed.run == nullptr) {
    complete_now(open);
    open.grabbed = {open.run, open.base};
  }
  const ViewedRunPtr from = open.grabbed.run;
  change_run(
      open,
      [from, rank, layers] {
        return viewed_after(with_moved_boundary(*from, rank, layers), *from);
      },
      Origin::canvas);
  if (!released) return;
  changing_.finish();
  const bool refused = !message().isEmpty();
  const int gained = refused ? 0 : layers_on(*open.run, rank) - layers_on(*from, rank);
  if (gained != 0) {
    open.past.push_back(open.grabbed);
    open.future.clear();
    open.base = open.run->scenario;
    what_if_->show_scenario(open.base);
    show_message(QString("%1 moved %2 rank %3; Ctrl+Z undoes it")
                     .arg(qt_text(counted(static_cast<std::uint64_t>(std::abs(gained)), "layer")))
                     .arg(gained > 0 ? "to" : "from")
                     .arg(rank));
  } else {
    if (open.run != from) replace_run(open, from);
    if (!refused && layers != 0) show_message("Not moved: each stage keeps a layer");
  }
  open.grabbed = {};
}

// ---- lanes ----

void ViewerWindow::show_slack(OpenRun& open) {
  open.canvas->set_slack(
      std::make_shared<const std::vector<float>>(slack_of(open.run->plan, open.run->timeline)));
}

void ViewerWindow::toggle_slack() {
  OpenRun& open = *now();
  if (open.canvas->shows_slack()) return open.canvas->set_slack(nullptr);
  show_slack(open);
  show_message("Pale ops have slack; those that set the step time are in full colour");
}

void ViewerWindow::pin_lane() {
  OpenRun& open = *now();
  const ShownOp& op = open.canvas->selected();
  std::uint32_t rank = 0;
  if (!op.is_none()) {
    rank = rank_of_task(open.canvas->run(op.run).run->plan, op.task);
  } else if (open.canvas->area()) {
    rank = open.canvas->area()->first_rank;
  } else {
    return show_message("Select an op of the lane first");
  }
  LaneChoice choice = open.canvas->choice();
  const auto pinned = std::find(choice.pinned.begin(), choice.pinned.end(), rank);
  const bool was_pinned = pinned != choice.pinned.end();
  if (was_pinned) {
    choice.pinned.erase(pinned);
  } else {
    choice.pinned.push_back(rank);
  }
  open.canvas->set_choice(choice);
  show_message(
      QString(was_pinned ? "rank %1 stands in its place" : "rank %1 stands on top").arg(rank));
}

}  // namespace penstock
