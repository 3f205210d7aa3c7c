#include "gui/views/canvas/canvas_drawing.hpp"

#include <QElapsedTimer>
#include <cmath>

namespace penstock {

void CanvasDrawing::draw(CanvasFrame& frame) {
  QElapsedTimer clock;
  clock.start();
  LaneScene scene;
  for (std::size_t r = 0; r < frame.runs.size(); ++r) scene.runs[r] = frame.runs[r].get();
  scene.rows = frame.rows;
  scene.top = -static_cast<int>(std::lround(frame.view.top * frame.ratio));
  scene.kept = frame.kept;
  scene.axis = frame.view.axis;
  scene.axis.picoseconds_per_pixel /= frame.ratio;
  scene.theme = frame.theme;
  scene.glyphs = frame.glyphs.get();
  scene.dimmed = frame.dims;
  scene.bright = frame.bright.tasks;
  scene.bright_run = frame.bright.run;
  if (frame.slack != nullptr) scene.slack = *frame.slack;
  const Pixels pixels{reinterpret_cast<std::uint32_t*>(frame.image.bits()), frame.image.width(),
                      frame.image.height(),
                      static_cast<std::size_t>(frame.image.bytesPerLine()) / 4};
  frame.counts = painter.draw(scene, pixels);
  frame.ms = static_cast<double>(clock.nsecsElapsed()) / 1e6;
}

}  // namespace penstock
