#include <algorithm>

#include "experiments/files/table.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/window/viewer_window.hpp"

namespace penstock {
namespace {

OpSteps steps_of(const OpenRun& open) {
  return {open.run->plan, open.run->timeline, *open.canvas->first()->lanes};
}

}  // namespace

void ViewerWindow::step_in_lane(bool forward) {
  OpenRun& open = *now();
  const TaskId from = open.canvas->selected();
  const std::int64_t left = open.canvas->view().axis.origin;
  select(from == no_task ? steps_of(open).on_rank(0, left) : steps_of(open).in_lane(from, forward));
}

void ViewerWindow::step_to_cause() {
  if (canvas()->selected() == no_task) return step_in_lane(true);
  select(steps_of(*now()).cause(canvas()->selected()));
}

void ViewerWindow::step_to_effect() {
  if (canvas()->selected() == no_task) return step_in_lane(true);
  select(steps_of(*now()).effect(canvas()->selected()));
}

void ViewerWindow::step_in_microbatch(bool forward) {
  if (canvas()->selected() == no_task) return step_in_lane(true);
  select(steps_of(*now()).in_microbatch(canvas()->selected(), forward));
}

void ViewerWindow::step_rank(bool down) {
  OpenRun& open = *now();
  const TaskId from = open.canvas->selected();
  if (from == no_task) return step_in_lane(true);
  const Timeline& timeline = open.run->timeline;
  const std::uint32_t rank = open.canvas->rank_at(open.canvas->place_of_task(from).center().y());
  if (!down && rank == 0) return;
  const std::int64_t middle =
      (timeline.begin[from].picoseconds + timeline.end[from].picoseconds) / 2;
  select(steps_of(open).on_rank(down ? rank + 1 : rank - 1, middle));
}

void ViewerWindow::step_idle(bool forward) {
  OpenRun& open = *now();
  if (open.idle.empty()) open.idle = longest_idle(*open.canvas->first()->lanes, 10000);
  if (open.idle.empty()) return show_message("No rank is ever idle");
  if (!open.idle_at) {
    open.idle_at = 0;
  } else if (forward) {
    open.idle_at = std::min(*open.idle_at + 1, open.idle.size() - 1);
  } else if (*open.idle_at > 0) {
    open.idle_at = *open.idle_at - 1;
  }
  const IdlePiece& piece = open.idle[*open.idle_at];
  open.canvas->select(no_task, false);
  open.canvas->set_area(Area{piece.begin, piece.end, piece.rank, piece.rank + 1});
  const std::int64_t around = (piece.end - piece.begin) * 2;
  open.canvas->fit_stretch(piece.begin - around, piece.end + around);
  show_message(QString("bubble %1 of %2: rank %3, %4, %5")
                   .arg(*open.idle_at + 1)
                   .arg(open.idle.size())
                   .arg(piece.rank)
                   .arg(qt_text(short_time(piece.end - piece.begin)), name(piece.cause)));
}

void ViewerWindow::start_search() {
  search_->setFocus();
  search_->selectAll();
}

void ViewerWindow::run_search() {
  OpenRun* const open = now();
  if (open == nullptr) return;
  if (search_->text().trimmed().isEmpty()) return clear_all();
  const OpQuery query = read_query(search_->text().toStdString());
  std::vector<TaskId> found = find_ops(query, open->run->plan, open->run->timeline);
  if (found == open->found && !found.empty()) return step_found(true);
  open->found = std::move(found);
  open->found_at = 0;
  if (open->found.empty()) {
    open->canvas->set_bright({}, false);
    return show_message("No op fits");
  }
  open->canvas->set_bright(open->found, true);
  select(open->found.front());
  const bool one = open->found.size() == 1;
  show_message(qt_text(counted(open->found.size(), "op")) + (one ? " fits" : " fit"));
}

void ViewerWindow::step_found(bool forward) {
  OpenRun& open = *now();
  if (open.found.empty()) return show_message("Search first: /");
  const std::size_t count = open.found.size();
  open.found_at = (open.found_at + (forward ? 1 : count - 1)) % count;
  select(open.found[open.found_at]);
  show_message(QString("match %1 of %2").arg(open.found_at + 1).arg(count));
}

void ViewerWindow::fit_selection() {
  OpenRun& open = *now();
  if (open.canvas->area()) {
    return open.canvas->fit_stretch(open.canvas->area()->begin, open.canvas->area()->end);
  }
  const TaskId task = open.canvas->selected();
  if (task == no_task) return show_message("Select an op or drag over an area first");
  open.canvas->fit_stretch(open.run->timeline.begin[task].picoseconds,
                           open.run->timeline.end[task].picoseconds);
}

void ViewerWindow::follow_microbatch() {
  OpenRun& open = *now();
  const TaskId task = open.canvas->selected();
  if (task == no_task || !open.canvas->bright().empty()) return open.canvas->set_bright({}, false);
  OpQuery query;
  query.microbatch = index(open.run->plan.microbatch[task]);
  open.canvas->set_bright(find_ops(query, open.run->plan, open.run->timeline), true);
}

void ViewerWindow::toggle_path() {
  OpenRun& open = *now();
  if (!open.canvas->path().empty()) return open.canvas->set_path({});
  open.canvas->set_path(tasks_of(open.run->report.critical_path));
}

void ViewerWindow::area_from_selection() {
  OpenRun& open = *now();
  const TaskId task = open.canvas->selected();
  if (task == no_task) return show_message("Select an op first");
  const Area area{open.run->timeline.begin[task].picoseconds,
                  open.run->timeline.end[task].picoseconds, 0, open.run->plan.ranks};
  open.canvas->select(no_task, false);
  open.canvas->set_area(area);
  refresh_ops();
}

void ViewerWindow::add_mark() {
  OpenRun& open = *now();
  const TaskId task = open.canvas->selected();
  std::vector<std::int64_t> marks = open.canvas->marks();
  marks.push_back(task != no_task
                      ? open.run->timeline.begin[task].picoseconds
                      : open.canvas->view().axis.time_at(open.canvas->lanes_width() / 2));
  std::sort(marks.begin(), marks.end());
  open.canvas->set_marks(std::move(marks));
}

void ViewerWindow::clear_all() {
  OpenRun& open = *now();
  open.found.clear();
  open.idle_at.reset();
  open.canvas->set_bright({}, false);
  open.canvas->set_marks({});
  open.canvas->set_path({});
  open.canvas->set_slack(nullptr);
  open.canvas->set_area(std::nullopt);
  open.canvas->select(no_task, false);
  open.canvas->setFocus();
  show_message({});
}

void ViewerWindow::go_back(bool forward) {
  if (forward) {
    canvas()->history().forward();
  } else {
    canvas()->history().back();
  }
  canvas()->view_changed();
}

void ViewerWindow::toggle_docks() {
  const bool any = std::any_of(docks_.begin(), docks_.end(),
                               [](const QDockWidget* dock) { return !dock->isHidden(); });
  for (QDockWidget* dock : docks_) dock->setVisible(!any);
}

}  // namespace penstock
