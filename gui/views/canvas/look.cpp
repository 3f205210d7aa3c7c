#include "gui/views/canvas/look.hpp"

#include <QApplication>
#include <QFontDatabase>
#include <QFontMetrics>
#include <QImage>
#include <QStyleFactory>

namespace penstock {

QBrush hatch_brush(Hatch hatch, const QColor& lines) {
  QImage tile(hatch_pixels, hatch_pixels, QImage::Format_ARGB32_Premultiplied);
  tile.fill(Qt::transparent);
  for (int y = 0; y < hatch_pixels; ++y) {
    for (int x = 0; x < hatch_pixels; ++x) {
      if ((hatch_row(hatch, y) >> x & 1) != 0) tile.setPixelColor(x, y, lines);
    }
  }
  return QBrush(tile);
}

void two_tone_frame(QPainter& painter, const QRectF& box, double width) {
  painter.setBrush(Qt::NoBrush);
  const double half = width / 2;
  const auto ring = [&](double out, Colour tone) {
    painter.setPen(QPen(qt_colour(tone), width, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
    painter.drawRect(box.adjusted(-out, -out, out, out));
  };
  ring(-half, paper);
  ring(half, ink);
}

QPalette palette_of(const Theme& theme) {
  QPalette palette;
  const QColor letters = qt_colour(theme.ink);
  const QColor panel = qt_colour(theme.panel);
  palette.setColor(QPalette::Window, panel);
  // Outlines are darker than the window: where that is black, fields and handles stand out by
  // their ground.
  const bool on_black = panel == QColor(Qt::black);
  palette.setColor(QPalette::Base, qt_colour(mix(theme.ground, theme.ink, on_black ? 0.16 : 0)));
  palette.setColor(QPalette::AlternateBase, qt_colour(theme.lane));
  palette.setColor(QPalette::Button, qt_colour(mix(theme.panel, theme.ink, on_black ? 0.4 : 0)));
  palette.setColor(QPalette::ToolTipBase, panel);
  for (const auto role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText}) {
    palette.setColor(role, letters);
  }
  palette.setColor(QPalette::BrightText, qt_colour(theme.warning));
  palette.setColor(QPalette::PlaceholderText, qt_colour(theme.faint_ink));
  palette.setColor(QPalette::Highlight, qt_colour(theme.accent));
  palette.setColor(QPalette::HighlightedText, qt_colour(theme.ground));
  palette.setColor(QPalette::Link, qt_colour(theme.accent));
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, qt_colour(mix(theme.ink, theme.panel, 0.5)));
  }
  palette.setColor(QPalette::Light, qt_colour(mix(theme.panel, theme.ink, 0.06)));
  palette.setColor(QPalette::Midlight, qt_colour(mix(theme.panel, theme.ink, 0.1)));
  palette.setColor(QPalette::Mid, qt_colour(mix(theme.panel, theme.ink, 0.25)));
  palette.setColor(QPalette::Dark, qt_colour(mix(theme.panel, theme.ink, 0.35)));
  palette.setColor(QPalette::Shadow, qt_colour(mix(theme.panel, theme.ink, 0.5)));
  return palette;
}

void apply_theme(ThemeName name) {
  QApplication::setStyle(QStyleFactory::create("Fusion"));
  QApplication::setPalette(palette_of(theme(name)));
  QFont font = QApplication::font();
  font.setFamilies({"DejaVu Sans", font.family()});
  font.setPointSizeF(9.5);
  QApplication::setFont(font);
}

QFont fixed_font() {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  font.setFamilies({"DejaVu Sans Mono", font.family()});
  font.setPointSizeF(9.5);
  return font;
}

ThemeName system_theme() {
  return QApplication::palette().color(QPalette::Window).lightness() < 128 ? ThemeName::dark
                                                                           : ThemeName::light;
}

namespace {

Glyphs::Glyph glyph_of(char32_t letter, const QFont& font) {
  const QFontMetrics metrics(font);
  const QString text = QString::fromUcs4(&letter, 1);
  Glyphs::Glyph glyph{.width = metrics.horizontalAdvance(text)};
  QImage mask(std::max(1, glyph.width), metrics.height(), QImage::Format_ARGB32);
  mask.fill(Qt::transparent);
  QPainter painter(&mask);
  painter.setFont(font);
  painter.drawText(0, metrics.ascent(), text);
  painter.end();
  for (int y = 0; y < mask.height(); ++y) {
    for (int x = 0; x < glyph.width; ++x) {
      glyph.alpha.push_back(static_cast<std::uint8_t>(qAlpha(mask.pixel(x, y))));
    }
  }
  return glyph;
}

}  // namespace

Glyphs glyphs_of(const QFont& font, double ratio, const std::u32string& more) {
  QFont scaled = font;
  scaled.setPixelSize(static_cast<int>(QFontMetrics(font).height() * 0.8 * ratio));
  const QFontMetrics metrics(scaled);
  Glyphs glyphs;
  glyphs.height = metrics.height();
  const QRect digits = metrics.tightBoundingRect("0123456789");
  glyphs.digits_height = digits.height();
  glyphs.digits_top = metrics.ascent() + digits.top();
  for (char32_t c = 32; c < 127; ++c) glyphs.glyphs[c] = glyph_of(c, scaled);
  for (const char32_t c : more) glyphs.others.emplace(c, glyph_of(c, scaled));
  return glyphs;
}

}  // namespace penstock
