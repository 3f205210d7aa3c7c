#include "experiments/show/pictures/page.hpp"

#include <algorithm>

namespace penstock {
namespace {

constexpr double title_row = 24;
constexpr double subtitle_row = 20;
constexpr double further_row = 16;  // of the second and later lines
constexpr double note_row = 16;
constexpr double least_tick_distance = 48;
constexpr double tick_label_gap = 12;
constexpr TextStyle title_style{16, ink, Align::left, true};
constexpr TextStyle narrow_title_style{13, ink, Align::left, true};
constexpr TextStyle subtitle_style{12, faint_ink};
constexpr TextStyle narrow_subtitle_style{11, faint_ink};

bool is_narrow(const Page& page) { return page.width < 480; }

double draw_lines(Page& page, double top, double row, const std::string& text,
                  const TextStyle& style) {
  const double width = inner_width(page);
  double y = top + row / 2;
  for (const std::string& line : page.canvas.wrapped(text, width, style)) {
    page.canvas.text_within(width, {margin_of(page), y}, line, style);
    y += std::max(further_row, 1.25 * style.size);
  }
  return y == top + row / 2 ? top : y + row / 2 - std::max(further_row, 1.25 * style.size);
}

}  // namespace

double margin_of(const Page& page) { return is_narrow(page) ? 12 : page_margin; }

double inner_width(const Page& page) { return page.width - 2 * margin_of(page); }

double draw_heading(Page& page, const std::string& title, const std::string& subtitle) {
  const bool narrow = is_narrow(page);
  const double top = draw_lines(page, margin_of(page), title_row, title,
                                narrow ? narrow_title_style : title_style);
  return draw_lines(page, top, subtitle_row, subtitle,
                    narrow ? narrow_subtitle_style : subtitle_style);
}

double draw_notes(Page& page, double top, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) top = draw_lines(page, top, note_row, note, tick_style);
  return top;
}

bool labels_fit(Canvas& canvas, const std::vector<Tick>& ticks, double per_unit) {
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    const double widths = canvas.text_width(ticks[i - 1].text, tick_style) +
                          canvas.text_width(ticks[i].text, tick_style);
    if ((ticks[i].at - ticks[i - 1].at) * per_unit < widths / 2 + tick_label_gap) return false;
  }
  return true;
}

std::vector<Tick> fitting_ticks(Canvas& canvas, double end, double length) {
  for (int most = std::max(1, static_cast<int>(length / least_tick_distance));; --most) {
    std::vector<Tick> ticks = round_ticks(end, most);
    if (most == 1 || labels_fit(canvas, ticks, length / end)) return ticks;
  }
}

}  // namespace penstock
