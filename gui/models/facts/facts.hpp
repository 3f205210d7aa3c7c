#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/models/drawing/lane_rows.hpp"
#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/view/op_steps.hpp"

namespace penstock {

/// Something that is known: "waited for", "1SEND_B0", and the op that it leads to, if one.
struct Fact {
  std::string name;
  std::string text;
  ShownOp op{};
  bool brief = true;  // also beside the pointer, where there is little room
};

/// What is known of something on the lanes, for a person.
struct Facts {
  std::string title;
  std::vector<Fact> all{};
  std::string line{};  // all that fits in one; empty: the title

  const std::string& in_one_line() const { return line.empty() ? title : line; }
};

/// The runs on an axis, as they are seen.
struct SeenRuns {
  std::vector<const PaintedRun*> runs;
  bool frozen = false;  // the second run is A
  // By run: by how much its tasks could end later, see `slack_of`; nullptr: not known.
  std::vector<std::shared_ptr<const std::vector<float>>> slack{};
  std::int64_t origin = 0;  // where the view begins
  double pixel = 1;         // the time of one

  std::uint8_t baseline() const { return static_cast<std::uint8_t>(lettered(0, frozen)); }
  /// " of B" where there are several runs.
  std::string of(std::uint8_t run) const;
  /// "rank 2", or its name; " of B" behind it where there are several runs.
  std::string rank_name(std::uint32_t rank, std::uint8_t run) const;
  /// A time in full; behind it, how far that is from the left edge of the view. `on_axis`: where it
  /// is drawn, if that is elsewhere.
  std::string moment(std::int64_t time, std::optional<std::int64_t> on_axis = {}) const;
  /// The same op in another run, or none.
  ShownOp same_op(const ShownOp& op, std::uint8_t run) const;
  OpSteps steps(std::uint8_t run) const { return {*runs[run]->run, *runs[run]->lanes}; }
};

/// A fact that is an op and its place.
Fact link_to(const SeenRuns& seen, std::string name, const ShownOp& op);

/// Where and when it ran, in all runs, its slack and bytes, what it waited for, and what reads it.
Facts facts_of_op(const SeenRuns& seen, const ShownOp& op);
/// What an op waited for, and that in turn: "waited 8 ms for 1SEND_B0, which was sent when 1B0 on
/// rank 1 ended; 1B0 ran after 1F3".
std::string why_then(const OpSteps& steps, TaskId task);

/// "warm-up, transfer": why a rank is idle in a gap, or in a piece of one.
std::string causes_text(const PaintedRun& run, const IdlePiece& piece);
/// Causes of an idle gap, and the op that it waits for.
Facts facts_of_idle(const SeenRuns& seen, const IdlePiece& piece, std::uint8_t run);
/// What a rank holds at a moment, since when and until when, and the ops at which that changes.
Facts facts_of_memory(const SeenRuns& seen, std::uint32_t rank, std::uint8_t run,
                      std::int64_t time);
/// The same of a step of it that is selected.
Facts facts_of_memory(const SeenRuns& seen, const Area& step);
/// The area that a step of a rank's memory takes, and the step that an area is; nullptr: it is
/// none, or memory is not known.
Area area_of(const HeldMemory& step, std::uint32_t rank, std::uint8_t run);
const HeldMemory* memory_of(const Area& area, const PaintedRun& run);
/// The op at which a rank's memory changes from a step to the next: what frees ends then, what
/// takes begins. no_task: none is known.
TaskId op_between(const PaintedRun& run, std::uint32_t rank, const HeldMemory& step);
/// What lies in a strip at a moment: an op, or none if it is narrower than a pixel.
Facts facts_at(const SeenRuns& seen, const LaneRow& row, const ShownOp& op, std::int64_t time);

}  // namespace penstock
