#pragma once

#include <QPainter>

#include "gui/views/canvas/canvas_scene.hpp"

namespace penstock {

/// The names of the lanes, and beside those of ranks what they hold, how long they are idle and how
/// much memory they need: as much of it as a lane is high.
class CanvasGutter : CanvasParts {
 public:
  CanvasGutter(const CanvasScene& scene, QPainter& painter);
  void paint();

 private:
  void paint_row(const LaneRow& row);
  void paint_rank(const LaneRow& row, QRectF room);
  void paint_use(const RankSummary& facts, QRectF line, bool with_memory);
  void paint_bar(double share, QRectF room);
  QString name_of(const LaneRow& row) const;
  QString rank_number(const LaneRow& row) const;
  bool is_there(const LaneRow& row) const;
  QString rank_name(const LaneRow& row) const;

  const CanvasScene& scene_;
  QPainter& painter_;
  double line_ = 0;       // the height of one
  double free_from_ = 0;  // below what is written
};

/// How many ranks are shown, and in which order: in the corner above the names.
void paint_corner(const CanvasScene& scene, QPainter& painter);

/// All ranks by their idle share, and those in sight: a bar to scroll with.
void paint_overview(const CanvasScene& scene, QPainter& painter);

/// The rank and run of the selected op.
std::pair<std::uint32_t, std::uint8_t> selected_lane(const CanvasScene& scene);

}  // namespace penstock
