#pragma once

#include <QFont>
#include <QImage>
#include <utility>

#include "gui/views/canvas/canvas_scene.hpp"

namespace penstock {

/// What a canvas without a run says.
void paint_empty(const CanvasScene& scene, QPainter& painter);

/// Paints a picture of the lanes, moved and scaled unless it fits the scene.
void paint_frame(const CanvasScene& scene, const CanvasFrame& frame, bool fits, QPainter& painter);

/// Paints what is marked over the lanes: area, path, ops under the pointer and selected.
void paint_overlay(const CanvasScene& scene, QPainter& painter);

/// Paints the times of the pointer, of the marks and of the area, over lanes and ruler.
void paint_times(const CanvasScene& scene, QPainter& painter);

/// What is painted for an op under the pointer, in all runs.
QRect reach_of(const CanvasScene& scene, const ShownOp& op);

/// Ruler, map and names of the lanes. Kept as pictures: while the pointer moves, they stay.
class CanvasChrome : CanvasParts {
 public:
  explicit CanvasChrome(const CanvasScene& scene) : scene_(scene) {}
  void paint(QPainter& painter);

 private:
  /// What the pictures show.
  struct Pictures {
    CanvasView view;
    QSize size;
    double ratio = 0;
    std::uint64_t generation = 0;
    std::pair<std::uint32_t, std::uint8_t> lane;  // rank and run of the selected op
    QFont font;
    QImage header{}, gutter{};
    bool fits(const Pictures& wanted) const {
      return view == wanted.view && size == wanted.size && ratio == wanted.ratio &&
             generation == wanted.generation && lane == wanted.lane && font == wanted.font;
    }
  };
  void draw_chrome();
  void paint_header(QPainter& painter);
  void draw_map();
  void paint_map(QPainter& painter);

  const CanvasScene& scene_;
  Pictures pictures_;
  QImage map_;
  std::uint64_t map_generation_ = UINT64_MAX;
};

}  // namespace penstock
