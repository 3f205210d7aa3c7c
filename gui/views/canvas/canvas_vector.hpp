#pragma once

#include <QImage>
#include <QPainter>

#include "gui/views/canvas/canvas_scene.hpp"

namespace penstock {

/// Whether a painter writes a vector picture.
bool is_vector(const QPainter& painter);

/// Paints the lanes of a frame as boxes, lines and texts, in place of its image. Edges are as exact
/// as a quarter of a pixel where there are few boxes.
void paint_vector(const CanvasFrame& frame, QPainter& painter);

/// Paints an image as boxes of one colour each, a pixel of it as wide as `pixel`.
void paint_boxes(const QImage& image, QPointF at, double pixel, QPainter& painter);

}  // namespace penstock
