#include "experiments/pictures/page.hpp"

namespace penstock {
namespace {

constexpr double title_row = 24;
constexpr double subtitle_row = 20;
constexpr TextStyle title_style{16, ink, Align::left, true};
constexpr TextStyle subtitle_style{12, faint_ink};

}  // namespace

double heading_bottom(const std::string& title, const std::string& subtitle) {
  return page_margin + (title.empty() ? 0 : title_row) + (subtitle.empty() ? 0 : subtitle_row);
}

void draw_heading(Canvas& canvas, double width, const std::string& title,
                  const std::string& subtitle) {
  const double room = width - 2 * page_margin;
  const double title_bottom = heading_bottom(title, "");
  canvas.text_within(room, {page_margin, page_margin + title_style.size / 2}, title, title_style);
  canvas.text_within(room, {page_margin, title_bottom + subtitle_row / 2}, subtitle,
                     subtitle_style);
}

}  // namespace penstock
