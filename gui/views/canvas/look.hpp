#pragma once

#include <QBrush>
#include <QColor>
#include <QFont>
#include <QPainter>
#include <QPalette>
#include <QString>
#include <string>
#include <string_view>

#include "gui/models/drawing/theme.hpp"
#include "gui/models/strips/glyphs.hpp"

namespace penstock {

inline QColor qt_colour(Colour colour) { return {colour.red, colour.green, colour.blue}; }
inline QString qt_text(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

/// Lines of a hatch, as the lanes have them.
QBrush hatch_brush(Hatch hatch, const QColor& lines);

/// A frame around a box, light within and dark without, so that it is seen on any colour.
void two_tone_frame(QPainter& painter, const QRectF& box, double width);

/// The palette of all widgets.
QPalette palette_of(const Theme& theme);

/// Sets style, palette and font of the application. No text is smaller than 9 pt.
void apply_theme(ThemeName name);

/// Of texts to read and write.
QFont fixed_font();

/// The theme that the system asks for.
ThemeName system_theme();

/// The letters of a font as masks, at a ratio of device pixels to points of the layout: ASCII, and
/// `more`.
Glyphs glyphs_of(const QFont& font, double ratio, const std::u32string& more = {});

}  // namespace penstock
