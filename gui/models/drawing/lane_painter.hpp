#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/models/drawing/lane_rows.hpp"
#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/drawing/theme.hpp"
#include "gui/models/strips/glyphs.hpp"
#include "gui/models/strips/strip_lines.hpp"
#include "gui/models/view/time_axis.hpp"

namespace penstock {

/// What a vector picture has in words and lines, where pixels have plain boxes.
struct LaneMarks {
  struct Label {
    int left, middle, width;
    std::string text;
    Colour colour;
  };
  struct Hatched {
    int left, top, right, bottom;
    Hatch hatch;
    std::uint32_t lines;
  };
  std::vector<Label> labels;
  std::vector<Hatched> hatched;
};

/// What to draw. Positions are in pixels of the picture.
struct LaneScene {
  std::array<const PaintedRun*, most_runs> runs{};  // A, B, …; nullptr: none
  std::span<const LaneRow> rows;
  int top = 0;   // of the rows; negative after scrolling
  int kept = 0;  // pixels at the top in which pinned rows stay; 0: all scroll
  TimeAxis axis;
  const Theme* theme = nullptr;
  const Glyphs* glyphs = nullptr;  // nullptr: no labels
  bool dimmed = false;             // all but `bright`
  std::span<const TaskId> bright;  // tasks of one run, by begin
  std::uint8_t bright_run = 0;
  LaneMarks* marks = nullptr;    // takes labels and hatches in place of the pixels
  std::span<const float> slack;  // of the tasks of the first run; those with much are pale

  /// A, which the others are held against: the first run, unless it is held against the second.
  std::size_t baseline() const { return runs[0]->against_a == nullptr ? 0 : 1; }
};

inline int nearest_pixel(double x) {
  return static_cast<int>(std::lround(std::clamp(x, -1e6, 1e6)));
}

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
/// any busy time has at least one coloured pixel. A strip of heat has the colours of its causes,
/// the stronger, the more of a column is idle. Where ranks have several stages, ticks in the corner
/// of an op count those before its own.
class LanePainter {
 public:
  PaintCounts draw(const LaneScene& scene, const Pixels& pixels);

 private:
  struct Label {
    int left, right;
    TaskId task;
    Colour ground;
  };

  /// Shares of idle time by column, and the sums of their colours.
  struct Heat {
    std::vector<float> share, red, green, blue;
    void add(std::size_t x, float more, Colour colour);
    void add(const float* more, Colour colour);
  };
  /// The left end of a label and the middle of its digits.
  struct Place {
    int left, middle;
  };

  void draw_rows(const Pixels& pixels, int top, bool pinned);
  bool is_among(const LaneRow& row, bool pinned) const;
  void fill_ground(bool pinned);
  void draw_row(const LaneRow& row);
  bool is_drawn(const LaneRow& row) const;
  void draw_compute(const LaneRow& row, const PaintedRun& run, const Strip& strip);
  void draw_tracks(const std::vector<Track>& tracks, const std::vector<Pyramid>& pyramids,
                   const PaintedRun& run, const Strip& strip, const Track* idle);
  void draw_idle(const Track& idle, const Pyramid& pyramid, const PaintedRun& run,
                 const Strip& strip);
  const Pyramid::Level* level_of(const Pyramid& pyramid, const PaintedRun& run) const;
  void draw_wide_idle(const Track& idle, const Strip& strip);
  void hatch(int left, int right, IdleCause cause, const Strip& strip);
  void draw_idle_piece(double from, double to, std::uint32_t tag, const Strip& strip);
  void draw_busy(const Track& track, const Pyramid& pyramid, const PaintedRun& run,
                 const Strip& strip);
  void draw_boxes(const Track& track, const Pyramid& pyramid, const PaintedRun& run,
                  const Strip& strip);
  void draw_box(double from, double to, TaskId task, const PaintedRun& run, const Strip& strip);
  void put_ticks(const Label& box, const PaintedRun& run, const Strip& strip);
  void label(const Label& label, const PaintedRun& run, const Strip& strip);
  void draw_bright(const LaneRow& row, const PaintedRun& run, const Strip& strip);
  void draw_memory(const LaneRow& row, const PaintedRun& run, const Strip& strip);
  void draw_heat(const LaneRow& row, const PaintedRun& run, const Strip& strip);
  void find_heat(const Track& idle, const Pyramid& pyramid);
  void add_heat_of_ends(const Track& idle);
  void draw_differences(const LaneRow& row, const PaintedRun& run, const Strip& strip);
  Colour colour_of(TaskId task, const PaintedRun& run) const;
  void uncover(const Strip& ghost);
  void put(Place at, int width, std::string_view text, Colour colour);
  std::uint32_t muted(Colour colour, const Strip& strip) const;
  std::uint32_t lane_colour() const { return packed(scene_->theme->lane); }

  const LaneScene* scene_ = nullptr;
  Pixels pixels_;
  int top_ = 0;          // of the rows
  int kept_ = 0;         // rows of pixels above these
  bool widens_ = false;  // a narrow transfer is as wide as a pixel, so that it is seen
  PaintCounts counts_;
  StripLines lines_;
  ShareColumns busy_;
  ShareColumns idle_;
  std::vector<std::uint8_t> row_of_class_;
  std::vector<Label> labels_;    // of a strip
  std::vector<Label> ticked_;    // its boxes with ticks
  std::vector<float> extremes_;  // by column
  Heat heat_;
};

}  // namespace penstock
