#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gui/models/drawing/painted_run.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

enum class LaneKind : std::uint8_t { compute, send, receive, memory, difference, link };

/// Runs on one axis: A, and up to seven that it is held against.
constexpr std::size_t most_runs = 8;
/// The place of a run among the letters, and back. A is what the others are held against: the first
/// run, or the second if that was frozen; then the first, which changes, is B.
constexpr std::size_t lettered(std::size_t run, bool frozen) {
  return frozen && run < 2 ? 1 - run : run;
}
/// "A" for run 0, "B" for run 1, …, unless the second was frozen.
constexpr char letter_of_run(std::size_t run, bool frozen = false) {
  return static_cast<char>('A' + lettered(run, frozen));
}

/// How runs stand on one axis.
enum class PairStyle : std::uint8_t { ghost, above, mirrored, only_first, only_other };
constexpr std::size_t pair_style_count = 5;
/// "ghost", "above", "mirrored", "only A", "only another".
std::string_view name(PairStyle style);

/// A strip of the canvas. Positions in pixels from the top of all strips.
struct LaneRow {
  int top = 0;
  int height = 0;
  LaneKind kind = LaneKind::compute;
  std::uint32_t rank = 0;  // or the number of a link
  std::uint8_t run = 0;    // of differences: the run that is held against A
  bool ghost = false;      // a thin strip over the row of the other run
  bool flipped = false;    // its shares hang from the top
  bool pinned = false;     // stays while the others scroll
  bool heat = false;       // idle time alone, by share and cause
};

/// Below this height, in pixels, a strip of ops shows nothing but stripes: it is one of heat.
constexpr int least_drawn_height = 6;

/// Which strips there are.
struct LaneChoice {
  std::uint32_t ranks = 0;
  bool transfers = true;  // a strip of those that the rank sends
  bool receives = false;  // another one of those that it receives
  bool memory = false;
  bool links = false;  // below the ranks
  std::uint32_t link_count = 0;
  std::uint8_t runs = 1;
  PairStyle style = PairStyle::ghost;
  bool frozen = false;                  // the second run is A, and the first is B
  std::uint8_t other = 1;               // the place among the letters that `only_other` shows
  std::vector<std::uint32_t> pinned{};  // ranks that stand above the others
  std::vector<std::uint32_t> order{};   // of the others, if not all of them by number
  bool heat = false;                    // strips of ranks are of heat however high they are
  bool stripes = false;                 // or never, where they can be drawn otherwise
  int room = 0;                         // pixels that strips of heat fill, if there are more
  friend bool operator==(const LaneChoice&, const LaneChoice&) = default;
};

bool is_pinned(const LaneChoice& choice, std::uint32_t rank);
/// The ranks that are shown, top to bottom.
std::vector<std::uint32_t> shown_ranks(const LaneChoice& choice);
/// Whether the ranks are not simply all of them by number.
inline bool is_ordered(const LaneChoice& choice) {
  return !choice.order.empty() || !choice.pinned.empty();
}

/// The strips of all ranks, top to bottom; a rank's compute strip has this height. Strips of heat
/// stand alone, and low ones without a gap; where they leave some of the room empty, they are
/// higher.
std::vector<LaneRow> lane_rows(const LaneChoice& choice, int lane_height);
/// The room of the pinned strips above the others; 0 if there are none or only such.
int pinned_height(const std::vector<LaneRow>& rows);
/// The end of the last strip.
int height_of(const std::vector<LaneRow>& rows);
/// The largest height, from 1 to 120, with which the strips of some ranks, and of all links, fit
/// into a room; 1 if none does.
int fitting_lane_height(const LaneChoice& choice, std::size_t ranks, int room);

/// The tracks of ops that a strip shows of a run; nullptr: it shows something else.
const std::vector<Track>* tracks_in(const LaneRow& row, const PaintedRun& run);

/// The op of a run at a moment, `y` pixels below the top of a strip; no_task: none.
TaskId op_in(const LaneRow& row, const PaintedRun& run, double y, std::int64_t time);

/// Whether a strip is one of those in which the tasks of a resource stand.
bool shows(const LaneRow& row, std::uint32_t resource, const Plan& plan);

/// The strip of one kind of a rank, or of a link, of a run; nullptr: there is none.
const LaneRow* row_with(const std::vector<LaneRow>& rows, LaneKind kind, std::uint32_t rank,
                        std::uint8_t run);
/// The strip in which a task of a run stands: a transfer in that of its sender, else of its link,
/// else of its rank; nullptr: the run has none there.
const LaneRow* row_of(const std::vector<LaneRow>& rows, const PaintedRun& run, std::uint8_t number,
                      TaskId task);

/// An op of one of the runs on an axis; a task alone is one of the first run.
struct ShownOp {
  TaskId task;
  std::uint8_t run;
  constexpr ShownOp(TaskId of = no_task, std::uint8_t in = 0) : task(of), run(in) {}
  constexpr bool is_none() const { return task == no_task; }
  friend bool operator==(const ShownOp&, const ShownOp&) = default;
};

/// Ops of one of the runs on an axis.
struct ShownOps {
  std::vector<TaskId> tasks{};
  std::uint8_t run = 0;
  bool empty() const { return tasks.empty(); }
  std::size_t size() const { return tasks.size(); }
  friend bool operator==(const ShownOps&, const ShownOps&) = default;
};

}  // namespace penstock
