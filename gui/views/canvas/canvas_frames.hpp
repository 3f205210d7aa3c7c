#pragma once

#include <QImage>
#include <QObject>
#include <functional>
#include <memory>
#include <vector>

#include "gui/views/canvas/canvas_scene.hpp"

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

/// Pictures of the lanes of a scene: drawn at once if the last one was quick, else in a second
/// thread.
class CanvasFrames : public QObject {
 public:
  explicit CanvasFrames(const CanvasScene& scene);
  ~CanvasFrames() override;

  /// Sees to it that the last picture is, or soon will be, one of the scene as it is.
  void want();
  /// Waits for the second thread and draws the scene.
  void finish();
  /// The last picture; there is one once it was wanted.
  const CanvasFrame& last() const { return *frame_; }
  bool fits(const CanvasFrame& frame) const;

  std::function<void()> on_drawn;  // by the second thread

 private:
  std::shared_ptr<CanvasFrame> made() const;
  void start_worker();
  void take(std::shared_ptr<CanvasFrame> frame);

  const CanvasScene& scene_;
  std::shared_ptr<CanvasFrame> frame_;
  std::shared_ptr<CanvasDrawing> drawing_;
  bool at_work_ = false;
  std::uint64_t job_ = 0;
  double last_ms_ = 0;
  std::shared_ptr<const Glyphs> glyphs_;
  double glyphs_ratio_ = 0;
};

}  // namespace penstock
