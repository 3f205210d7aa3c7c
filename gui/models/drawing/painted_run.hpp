#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/show/pictures/lanes/memory_lanes.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "gui/models/lanes/rank_facts.hpp"
#include "gui/models/lanes/run_lanes.hpp"
#include "gui/models/run/run_pair.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "gui/models/tracks/track.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// What the colour of an op says.
enum class ColourBy : std::uint8_t { pass, microbatch, stage, cause };
constexpr std::size_t colour_by_count = 4;
/// "pass", "microbatch", "stage", "cause of idle time".
std::string_view name(ColourBy by);

/// The colours of the ops of a run, those of the command line's pictures. The run must outlive it.
class Colouring {
 public:
  Colouring(const ViewedRun& run, ColourBy by);

  /// Below `most_categories`.
  std::uint8_t category(TaskId task) const {
    return by_ == ColourBy::microbatch ? category_of_microbatch(task)
                                       : category_of_class_[plan_.work[task]];
  }
  /// Of all tasks of a work class; not where microbatches are coloured.
  std::uint8_t category_of_class(std::size_t work) const { return category_of_class_[work]; }
  /// Those of all actions, or of all transfers.
  std::vector<std::uint8_t> categories(bool transfers) const;
  /// Of many ops together; chunks of a rank share one.
  Colour category_colour(std::uint8_t category, PictureTheme ground = PictureTheme::light) const;
  /// Of one op; chunks have shades.
  Colour colour(TaskId task, PictureTheme ground = PictureTheme::light) const;
  /// How many ticks an op has in its corner: the place of its stage among those of its rank, from
  /// 0. Only where colours are those of passes: their shades are near each other.
  int ticks(TaskId task) const { return ticks_[plan_.work[task]]; }
  /// The most that any has.
  int most_ticks() const {
    return ticks_.empty() ? 0 : *std::max_element(ticks_.begin(), ticks_.end());
  }
  /// Whether the rank of an op has others of other stages, so that a label has to name the stage.
  bool is_one_of_several(TaskId task) const { return several_[plan_.work[task]] != 0; }

 private:
  std::uint8_t category_of_microbatch(TaskId task) const;
  /// The lanes of a trace have names, and a colour for some names each.
  bool is_named() const { return !plan_.class_names.empty(); }

  const ViewedRun& run_;
  const Plan& plan_;
  ColourBy by_;
  std::array<std::vector<Colour>, 2> of_class_;  // by ground
  std::vector<std::uint8_t> category_of_class_;
  std::vector<std::uint8_t> several_;  // by class
  std::vector<int> ticks_;             // by class
};

/// The pyramids of the tracks of a rank.
struct RankPyramids {
  std::vector<Pyramid> compute, send, receive;
  Pyramid idle;
};

/// When a link is occupied.
struct PaintedLink {
  std::vector<Track> tracks;
  std::vector<Pyramid> pyramids;
};

/// The category of idle time in pyramids. Waiting at the ends of a rank is two pieces, which need
/// none.
constexpr std::uint8_t idle_category(std::uint32_t tag) {
  const IdleCause cause = cause_of(tag);
  const bool at_ends = cause == IdleCause::warmup || cause == IdleCause::drain;
  return at_ends ? Pyramid::left_out : static_cast<std::uint8_t>(cause);
}

/// Calls `visit(begin, end, tag)` for the pieces of idle time that are in no pyramid.
template <class Visitor>
void for_each_end(const Track& idle, Visitor visit) {
  for (std::size_t at = 0; at < idle.size(); at += std::max<std::size_t>(1, idle.size() - 1)) {
    if (idle_category(idle.tag[at]) != Pyramid::left_out) continue;
    visit(idle.begin_at(at), idle.end_at(at), idle.tag[at]);
  }
}

/// A run with all that is needed to draw it. Never changes, so that other threads may draw it.
struct PaintedRun {
  ViewedRunPtr run;
  std::shared_ptr<const RunLanes> lanes;
  Colouring colouring;
  ColourBy by;
  std::vector<RankPyramids> pyramids;
  std::shared_ptr<const RunMemory> memory;                // nullptr: not asked for
  std::shared_ptr<const std::vector<PaintedLink>> links;  // by link; nullptr: not asked for
  std::shared_ptr<const AgainstA> against_a;              // nullptr: it is A, or alone
  std::shared_ptr<const std::vector<RankSummary>> facts;  // by rank
  std::u32string letters;                                 // of its ops' names, beyond ASCII

  /// Of lanes and pyramids.
  std::size_t bytes() const { return lanes->bytes() + bytes_of_ranks(pyramids); }
};
using PaintedRunPtr = std::shared_ptr<const PaintedRun>;

/// With more than `most_steps` changes on a rank, those of each of as many stretches of time are
/// one, at their largest total. Empty if nothing is known of the memory.
RunMemory memory_of_run(const ViewedRun& run, std::size_t most_steps = 16384);

/// "F12", or "3F12" where the rank holds several stages. A transfer is called like the op whose
/// output it moves.
using LabelText = std::array<char, 48>;
std::string_view label_of(TaskId task, const PaintedRun& run, LabelText& text);

PaintedRunPtr painted(ViewedRunPtr run, ColourBy by);
/// A part of a large file, by pass; `before`: another part of it, whose pyramids serve again.
PaintedRunPtr painted_part(ViewedRunPtr run, const PaintedRun* before);
/// The same as `painted`; quicker for a run of the plan of another one.
PaintedRunPtr painted_after(ViewedRunPtr run, const PaintedRun& before);
/// The same run with other colours, memory lanes, or differences to A.
PaintedRunPtr recoloured(const PaintedRun& run, ColourBy by);
PaintedRunPtr with_memory(const PaintedRun& run);
/// With the use of links, in the order of those of a plan; links that the run lacks are empty.
PaintedRunPtr with_links(const PaintedRun& run, const Plan& order);
PaintedRunPtr with_differences(const PaintedRun& run, std::shared_ptr<const AgainstA> against_a);

/// The mean idle share of all ranks by cause in each of some columns over a whole run.
std::vector<std::array<float, idle_cause_count>> idle_over_time(const PaintedRun& run, int columns);

/// What a run is shown with.
struct ShownWith {
  std::vector<ViewedRunPtr> others;  // that it is held against, as opened
  PairAlignment alignment = PairAlignment::start;
  std::optional<TaskId> anchor;  // of the run: all are aligned by this op
  bool memory = false;
  bool links = false;
  bool frozen = false;  // the first of the others is A: the run is held against it
  ColourBy by = ColourBy::pass;
  bool slack = false;
  friend bool operator==(const ShownWith&, const ShownWith&) = default;
};

/// A run and those that it is held against, on its time axis.
struct RunsOnAxis {
  PaintedRunPtr first;
  std::vector<PaintedRunPtr> others;
  std::vector<RunPair> pairs;  // of each of them with the first; where the first of them is A, of
                               // the rest with that
};

/// Compares and paints, which may take long. Throws what `pair_of` throws.
RunsOnAxis on_one_axis(PaintedRunPtr first, const ShownWith& with);

}  // namespace penstock
