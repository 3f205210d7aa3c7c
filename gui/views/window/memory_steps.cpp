// Steps through what a rank holds over time.

#include "experiments/show/results/run_summary.hpp"
#include "gui/views/window/run_steps.hpp"

namespace penstock {

const MemoryLane& RunSteps::lane_of_memory() const {
  const Area& area = *canvas()->area();
  return canvas()->run(area.run).memory->ranks[area.first_rank];
}

/// The op at which the selected step of memory begins or ends.
ShownOp RunSteps::op_of_memory(bool at_end) const {
  const Area& area = *canvas()->area();
  const std::vector<HeldMemory>& held = lane_of_memory().held;
  const HeldMemory* const step = canvas()->selected_memory();
  if (step == (at_end ? &held.back() : &held.front())) return {};
  const HeldMemory& before = at_end ? *step : *(step - 1);
  return {op_between(canvas()->run(area.run), area.first_rank, before), area.run};
}

void RunSteps::show_op_of_memory(bool at_end) {
  const ShownOp op = op_of_memory(at_end);
  if (op.is_none()) return show_message("No op changes the memory there");
  runs_.select(op);
}

void RunSteps::select_memory(const HeldMemory& step, std::uint32_t rank, std::uint8_t run) {
  const Area area = area_of(step, rank, run);
  canvas()->set_area(area);
  canvas()->reveal(area);
}

/// The next or the previous step of memory.
void RunSteps::step_in_memory(bool forward) {
  const Area area = *canvas()->area();
  const std::vector<HeldMemory>& held = lane_of_memory().held;
  const HeldMemory* const step = canvas()->selected_memory();
  if (step == (forward ? &held.back() : &held.front())) return;
  select_memory(forward ? *(step + 1) : *(step - 1), area.first_rank, area.run);
}

/// When the selected op begins; without one, where its rank, or the first in sight, holds most.
void RunSteps::show_memory() {
  const ShownOp op = op_in_hand();
  const std::uint8_t run = op.is_none() ? canvas()->run_in_hand() : op.run;
  const PaintedRun& of = canvas()->run(run);
  std::uint32_t rank = canvas()->rank_at(TimelineCanvas::header);
  if (canvas()->area()) rank = canvas()->area()->first_rank;
  if (!op.is_none()) rank = rank_of_task(of.run->plan, op.task);
  const bool known = of.memory != nullptr && canvas()->choice().memory;
  if (!known) return show_message("Memory is not shown: N shows it");
  if (rank >= of.memory->ranks.size() || of.memory->ranks[rank].held.empty()) {
    return show_message("This rank holds nothing");
  }
  const MemoryLane& lane = of.memory->ranks[rank];
  const Time time = op.is_none() ? lane.peak.begin : of.run->timeline.begin[op.task];
  const HeldMemory* const step = lane.at(time);
  select_memory(step == nullptr ? lane.held.front() : *step, rank, run);
}

}  // namespace penstock
