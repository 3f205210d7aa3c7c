#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gui/models/drawing/glyphs.hpp"
#include "gui/models/drawing/lane_rows.hpp"
#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/drawing/pixels.hpp"
#include "gui/models/drawing/share_columns.hpp"
#include "gui/models/drawing/theme.hpp"
#include "gui/models/view/time_axis.hpp"

namespace penstock {

/// What to draw. Positions are in pixels of the picture.
struct LaneScene {
  std::array<const PaintedRun*, 2> runs{};
  std::span<const LaneRow> rows;
  int top = 0;  // of the rows; negative after scrolling
  TimeAxis axis;
  const Theme* theme = nullptr;
  const Glyphs* glyphs = nullptr;  // nullptr: no labels
  bool dimmed = false;             // all but `bright`
  std::span<const TaskId> bright;  // tasks of the first run, by begin
  std::span<const float> slack;    // of the tasks of the first run; those with much are pale
};

/// How much was drawn.
struct PaintCounts {
  std::uint64_t rows = 0;
  std::uint64_t boxes = 0;  // rectangles and stacked columns
  std::uint64_t labels = 0;
};

/// Draws lanes. Keeps its room between frames, so that a frame allocates nothing.
///
/// A box of at least two pixels is a rectangle; narrower ones together are columns of stacked
/// shares: from the bottom the busy time by colour, above it the idle time by cause. A column with
/// any busy time has at least one coloured pixel.
class LanePainter {
 public:
  PaintCounts draw(const LaneScene& scene, const Pixels& pixels);

 private:
  void fill_ground();
  void draw_row(const LaneRow& row);
  bool is_drawn(const LaneRow& row) const;
  void draw_compute(const LaneRow& row, const PaintedRun& run, const Strip& strip);
  void draw_tracks(const std::vector<Track>& tracks, const std::vector<Pyramid>& pyramids,
                   const PaintedRun& run, const Strip& strip);
  void draw_idle(const Track& idle, const Pyramid& pyramid, const Strip& strip);
  void draw_idle_piece(const Track& idle, std::size_t piece, const Strip& strip);
  void draw_busy(const Track& track, const Pyramid& pyramid, const PaintedRun& run,
                 const Strip& strip);
  void draw_boxes(const Track& track, const Pyramid& pyramid, const PaintedRun& run,
                  const Strip& strip);
  void label(int left, int right, TaskId task, Colour ground, const PaintedRun& run,
             const Strip& strip);
  void draw_bright(const LaneRow& row, const PaintedRun& run, const Strip& strip);
  void draw_memory(const LaneRow& row, const PaintedRun& run, const Strip& strip);
  void draw_differences(const LaneRow& row, const PaintedRun& run, const Strip& strip);
  Colour colour_of(TaskId task, const PaintedRun& run) const;
  std::uint32_t muted(Colour colour, const Strip& strip) const;

  const LaneScene* scene_ = nullptr;
  Pixels pixels_;
  PaintCounts counts_;
  ShareColumns busy_;
  ShareColumns idle_;
  std::vector<float> extremes_;  // by column
};

}  // namespace penstock
