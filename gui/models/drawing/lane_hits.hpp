#pragma once

#include <cstdint>
#include <vector>

#include "gui/models/drawing/lane_rows.hpp"
#include "gui/models/drawing/painted_run.hpp"

namespace penstock {

/// The tracks of ops that a strip shows of a run; nullptr: it shows something else.
const std::vector<Track>* tracks_in(const LaneRow& row, const PaintedRun& run);

/// The op of a run at a moment, `y` pixels below the top of a strip; no_task: none.
TaskId op_in(const LaneRow& row, const PaintedRun& run, double y, std::int64_t time);

/// The strip in which a task of a run stands: a transfer in that of its sender, else of its link,
/// else of its rank; nullptr: the run has none there.
const LaneRow* row_of(const std::vector<LaneRow>& rows, const PaintedRun& run, std::uint8_t number,
                      TaskId task);

}  // namespace penstock
