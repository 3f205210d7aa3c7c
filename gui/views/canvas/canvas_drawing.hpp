#pragma once

#include <QImage>
#include <memory>
#include <vector>

#include "gui/models/drawing/lane_painter.hpp"
#include "gui/models/drawing/lane_rows.hpp"
#include "gui/models/view/time_axis.hpp"

namespace penstock {

/// A picture of the lanes and what it shows.
struct CanvasFrame {
  std::vector<PaintedRunPtr> runs;  // A, B, …
  std::vector<LaneRow> rows;
  ShownOps bright;
  bool dims = false;
  std::shared_ptr<const std::vector<float>> slack;  // nullptr: not shown
  const Theme* theme = nullptr;
  std::shared_ptr<const Glyphs> glyphs;
  CanvasView view;
  double ratio = 1;
  int kept = 0;  // pixels of the image in which pinned lanes stay
  std::uint64_t generation = 0;
  QImage image;
  PaintCounts counts;
  double ms = 0;
};

/// The painter and its room; one thread at a time uses it.
struct CanvasDrawing {
  LanePainter painter;
  void draw(CanvasFrame& frame);
};

}  // namespace penstock
