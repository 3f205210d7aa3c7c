#include "gui/views/window/run_steps.hpp"

#include <QLocale>
#include <algorithm>

#include "experiments/input/files/table.hpp"
#include "gui/models/facts/facts.hpp"
#include "gui/models/run/slack.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_idle = 10000;  // gaps that are looked for

OpSteps steps_of(const OpenRun& open, std::uint8_t run) {
  const PaintedRun& of = open.canvas->run(run);
  return {*of.run, *of.lanes};
}

/// Behind what was found, where not all was looked through.
QString of_part(const OpenRun& open) {
  return open.run->file == nullptr ? QString() : QString(", in the part that is read");
}

/// The time of an op, on some ranks.
Area area_of(const OpenRun& open, const ShownOp& op, std::uint32_t first_rank,
             std::uint32_t end_rank) {
  const Timeline& timeline = open.canvas->run(op.run).run->timeline;
  return {timeline.begin[op.task].picoseconds, timeline.end[op.task].picoseconds, first_rank,
          end_rank, op.run};
}

}  // namespace

RunSteps::RunSteps(OpenRuns& runs)
    : RunController(runs), search_(new QLineEdit), looking_(tells_busy()) {
  search_->setPlaceholderText("Search: stage:3 kind:B mb:12 dur>2ms");
  search_->setAccessibleName("Search ops");
  search_->setClearButtonEnabled(true);
  search_->setMinimumWidth(22 * search_->fontMetrics().averageCharWidth());
  search_->setMaximumWidth(330);
  QObject::connect(search_, &QLineEdit::returnPressed, search_,
                   [this] { runs_.guarded([this] { run_search(); }); });
}

/// The selected op, or the one that the selected gap waits for, or that changed the memory.
ShownOp RunSteps::op_in_hand() const {
  if (!canvas()->selected().is_none()) return canvas()->selected();
  if (canvas()->selected_memory() != nullptr) return op_of_memory(false);
  const auto gap = canvas()->selected_gap();
  return gap ? ShownOp(gap->next, canvas()->area()->run) : ShownOp();
}

template <class Look, class Then>
void RunSteps::look(std::uint8_t run, Look look, Then then) {
  const TimelineCanvas* const shown = canvas();
  const PaintedRunPtr of = shown->shared_run(run);
  looking_.request(
      [this, shown, of, run, look, then]() -> Background::Done {
        auto found = std::make_shared<decltype(look(*of))>(look(*of));
        return [this, shown, of, run, found, then] {
          OpenRun* const open = runs_.shown_by(shown);
          if (open == nullptr || run >= shown->runs() || &shown->run(run) != of.get()) return;
          then(*open, std::move(*found));
        };
      },
      Background::patience_ms);
}

void RunSteps::step_in_lane(bool forward) {
  OpenRun& open = *now();
  if (open.canvas->selected_memory() != nullptr) return step_in_memory(forward);
  if (open.canvas->selected().is_none() && forward && !op_in_hand().is_none()) {
    return runs_.select(op_in_hand());
  }
  const ShownOp from = op_in_hand();
  if (!from.is_none()) {
    return runs_.select({steps_of(open, from.run).in_lane(from.task, forward), from.run});
  }
  const std::uint8_t run = open.canvas->run_in_hand();
  runs_.select({steps_of(open, run).on_rank(0, open.canvas->view().axis.origin), run});
}

/// Where a step leads from the selected op; without one, the first op in sight.
void RunSteps::step(const std::function<TaskId(const OpSteps&, TaskId)>& next) {
  const ShownOp from = op_in_hand();
  if (from.is_none()) return step_in_lane(true);
  runs_.select({next(steps_of(*now(), from.run), from.task), from.run});
}

void RunSteps::step_to_cause() {
  if (canvas()->selected_memory() != nullptr) return show_op_of_memory(false);
  step([](const OpSteps& steps, TaskId task) { return steps.cause(task); });
}

void RunSteps::step_to_effect() {
  if (canvas()->selected_memory() != nullptr) return show_op_of_memory(true);
  step([](const OpSteps& steps, TaskId task) { return steps.effect(task); });
}

void RunSteps::step_on_path(bool forward) {
  const ShownOp from = op_in_hand();
  const std::uint8_t run = from.is_none() ? canvas()->run_in_hand() : from.run;
  const Report& report = canvas()->run(run).run->report;
  const std::vector<PathStep>& path = report.critical_path;
  if (path.empty()) return show_message("The critical path of this run is not known");
  const auto place = from.is_none() ? std::nullopt : place_on_path(report, from.task);
  if (!from.is_none() && !place) return show_message("This op is not on the critical path");
  std::size_t next = place.value_or(0);
  if (place && forward) next = std::min(next + 1, path.size() - 1);
  if (place && !forward) next = next > 0 ? next - 1 : 0;
  runs_.select({path[next].task, run});
}

void RunSteps::step_in_microbatch(bool forward) {
  step([&](const OpSteps& steps, TaskId task) { return steps.in_microbatch(task, forward); });
}

void RunSteps::step_rank(bool down) {
  OpenRun& open = *now();
  const ShownOp from = open.canvas->selected();
  if (from.is_none()) return step_in_lane(true);
  const OpSteps steps = steps_of(open, from.run);
  const std::uint32_t rank = rank_of_task(steps.plan, from.task);
  const std::int64_t middle =
      (steps.timeline.begin[from.task].picoseconds + steps.timeline.end[from.task].picoseconds) / 2;
  runs_.select({steps.on_rank(open.canvas->rank_beside(rank, down), middle), from.run});
}

void RunSteps::step_idle(bool forward) {
  OpenRun& open = *now();
  const std::uint8_t run = open.canvas->run_in_hand();
  if (!open.steps.idle.empty() && open.steps.idle_run == run) return show_idle(forward);
  look(
      run, [](const PaintedRun& of) { return longest_gaps(*of.lanes, most_idle); },
      [this, run, forward](OpenRun& of, std::vector<IdlePiece> idle) {
        of.steps.idle = std::move(idle);
        of.steps.idle_run = run;
        of.steps.idle_at.reset();
        if (&of == now()) show_idle(forward);
      });
}

void RunSteps::show_idle(bool forward) {
  OpenRun& open = *now();
  const std::uint8_t run = open.steps.idle_run;
  if (open.steps.idle.empty()) return show_message("No rank is ever idle");
  if (!open.steps.idle_at) {
    open.steps.idle_at = 0;
  } else if (forward) {
    open.steps.idle_at = std::min(*open.steps.idle_at + 1, open.steps.idle.size() - 1);
  } else if (*open.steps.idle_at > 0) {
    open.steps.idle_at = *open.steps.idle_at - 1;
  }
  const IdlePiece piece = open.steps.idle[*open.steps.idle_at];
  const ViewedRun& of = *open.canvas->run(run).run;
  const Area area{piece.begin, piece.end, piece.rank, piece.rank + 1, run};
  open.canvas->set_area(area);
  open.canvas->fit_area(area, (piece.end - piece.begin) * 2);
  const std::size_t count = open.steps.idle.size();
  show_message(QString(count < most_idle ? "bubble %1 of %2: %3%4, %5, %6"
                                         : "bubble %1 of the %2 longest: %3%4, %5, %6")
                   .arg(*open.steps.idle_at + 1)
                   .arg(QLocale(QLocale::English).toString(static_cast<qulonglong>(count)))
                   .arg(qt_text(place_text(of.plan, piece.rank)), open.canvas->of_run(run),
                        qt_text(short_time(piece.end - piece.begin)),
                        qt_text(causes_text(open.canvas->run(run), piece))) +
               of_part(open));
}

void RunSteps::start_search() {
  search_->setFocus();
  search_->selectAll();
}

void RunSteps::run_search() {
  OpenRun* const open = now();
  if (open == nullptr) return;
  if (search_->text().trimmed().isEmpty()) return show_found(*open, {}, false);
  const OpQuery query = read_query(search_->text().toStdString());
  const std::uint8_t run = open->canvas->run_in_hand();
  look(
      run, [query](const PaintedRun& of) { return find_ops(query, *of.run); },
      [this, run](OpenRun& of, std::vector<TaskId> found) {
        show_found(of, {std::move(found), run});
      });
}

void RunSteps::show_found(OpenRun& open, ShownOps found, bool searched) {
  if (found == open.steps.found && !found.empty()) return step_found(true);
  open.steps.found = std::move(found);
  open.steps.found_at = 0;
  if (open.steps.found.empty()) {
    open.canvas->set_bright({}, false);
    return show_message(searched ? "No op fits" : "");
  }
  open.canvas->set_bright(open.steps.found, true);
  runs_.select({open.steps.found.tasks.front(), open.steps.found.run});
  const bool one = open.steps.found.size() == 1;
  show_message(qt_text(counted(open.steps.found.size(), "op")) + (one ? " fits" : " fit") +
               of_part(open));
}

void RunSteps::step_found(bool forward) {
  OpenRun& open = *now();
  if (open.steps.found.empty()) return show_message("Search first: /");
  const std::size_t count = open.steps.found.size();
  open.steps.found_at = (open.steps.found_at + (forward ? 1 : count - 1)) % count;
  runs_.select({open.steps.found.tasks[open.steps.found_at], open.steps.found.run});
  show_message(QString("match %1 of %2").arg(open.steps.found_at + 1).arg(count));
}

void RunSteps::fit_selection() {
  OpenRun& open = *now();
  if (open.canvas->area()) return open.canvas->fit_area(*open.canvas->area());
  const ShownOp& op = open.canvas->selected();
  if (op.is_none()) return show_message("Select an op or drag over an area first");
  const std::uint32_t rank = rank_of_task(open.canvas->run(op.run).run->plan, op.task);
  open.canvas->fit_area(area_of(open, op, rank, rank + 1));
}

void RunSteps::follow_microbatch() {
  OpenRun& open = *now();
  const ShownOp& op = open.canvas->selected();
  if (op.is_none() || !open.canvas->bright().empty()) return open.canvas->set_bright({}, false);
  const ViewedRun& run = *open.canvas->run(op.run).run;
  OpQuery query;
  query.microbatch = microbatch_of(run, op.task);
  look(
      op.run, [query](const PaintedRun& of) { return find_ops(query, *of.run); },
      [of = op.run](OpenRun& shown, std::vector<TaskId> found) {
        shown.canvas->set_bright({std::move(found), of}, true);
      });
}

void RunSteps::toggle_path() {
  OpenRun& open = *now();
  if (!open.canvas->path().empty()) return open.canvas->set_path({});
  if (open.run->report.critical_path.empty()) {
    return show_message("The critical path of this run is not known");
  }
  runs_.show_path(open, open.canvas->run_in_hand());
}

void RunSteps::area_from_selection() {
  OpenRun& open = *now();
  const ShownOp op = op_in_hand();
  if (op.is_none()) return show_message("Select an op first");
  Area area = open.canvas->area().value_or(area_of(open, op, 0, 1));
  area.among.clear();
  area.memory = false;
  area.first_rank = 0;
  area.end_rank = open.canvas->run(op.run).run->plan.ranks;
  open.canvas->set_area(area);
  if (on_area) on_area();
}

void RunSteps::add_mark() {
  OpenRun& open = *now();
  const TimeAxis& axis = open.canvas->view().axis;
  const ShownOp& op = open.canvas->selected();
  std::vector<std::int64_t> marks = open.canvas->marks();
  std::int64_t time = axis.time_at(open.canvas->lanes_width() / 2);
  if (const auto pointed = open.canvas->time_at_pointer()) {
    time = *pointed;
  } else if (!op.is_none()) {
    open.canvas->reveal(op);
    time = area_of(open, op, 0, 1).begin;
  }
  constexpr double reach = 4;
  const auto removed = std::remove_if(marks.begin(), marks.end(), [&](std::int64_t mark) {
    return std::abs(static_cast<double>(mark - time)) <= reach * axis.picoseconds_per_pixel;
  });
  const bool was_there = removed != marks.end();
  marks.erase(removed, marks.end());
  if (!was_there) marks.push_back(time);
  const QString where = qt_text(exact_time(time, axis.picoseconds_per_pixel));
  show_message((was_there ? "Mark removed at " : "Marked: ") + where);
  std::sort(marks.begin(), marks.end());
  open.canvas->set_marks(std::move(marks));
}

void RunSteps::clear_all() {
  OpenRun& open = *now();
  open.steps.found = {};
  open.steps.idle_at.reset();
  open.canvas->set_bright({}, false);
  open.canvas->set_marks({});
  open.canvas->set_path({});
  if (open.canvas->shows_slack()) toggle_slack();
  open.canvas->set_area(std::nullopt);
  open.canvas->select(no_task, false);
  open.canvas->setFocus();
  show_message({});
}

void RunSteps::go_back(bool forward) {
  if (forward) {
    canvas()->history().forward();
  } else {
    canvas()->history().back();
  }
  canvas()->view_changed();
}

void RunSteps::toggle_slack() {
  OpenRun& open = *now();
  const bool shown = open.canvas->shows_slack();
  const bool known = open.run->file != nullptr || has_slack(*open.run);
  if (!shown && !known) return show_message("The slack of this run is not known");
  runs_.change_shown(
      open, [shown](ShownWith& with) { with.slack = !shown; },
      [this, shown](OpenRun& of, const QString& problem) {
        if (!problem.isEmpty()) return show_message(problem);
        if (shown) return show_message({});
        show_message(knows_all_slack(*of.run)
                         ? "Pale ops have slack; those that set the step time are in full colour"
                         : "Pale ops have slack; none is certain of those in full colour");
        runs_.say_if_heat(*of.canvas);
      });
}

void RunSteps::pin_lane() {
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
  open.canvas->toggle_pin(rank);
  show_message(qt_text(place_text(open.run->plan, rank)) +
               (open.canvas->is_pinned(rank) ? " stands on top" : " stands in its place"));
}

}  // namespace penstock
