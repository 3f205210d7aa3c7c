#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "experiments/show/pictures/axis.hpp"
#include "experiments/show/pictures/page.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "experiments/show/pictures/plots/plots.hpp"
#include "sim/base/time.hpp"

namespace penstock {
namespace {

constexpr double cut_width = 900;
constexpr double highest_stage_row = 28;
constexpr double lowest_stage_row = 3;
constexpr double most_stage_rows = 1600;  // height of all rows
constexpr double bar_share = 0.72;        // of a row
constexpr double transfer_share = 0.24;   // of a bar, below its compute
constexpr double between_panels = 44;
constexpr double panel_head = 24;
constexpr double bar_axis_rows = 30;
constexpr double stage_name_gap = 10;

/// A unit of a panel, and what a value is divided by.
struct BarUnit {
  std::string name;
  double size = 1;
};

BarUnit time_unit(double longest_s) {
  const TimeUnit unit = unit_for(from_us(std::min(longest_s, 9e6) * 1e6));
  return {std::string(unit.name), static_cast<double>(unit.picoseconds) * 1e-12};
}

BarUnit memory_unit(double most) {
  constexpr std::array<const char*, 5> names{"B", "KiB", "MiB", "GiB", "TiB"};
  BarUnit unit{names[0], 1};
  for (std::size_t i = 1; i < names.size() && most >= unit.size * 1024; ++i) {
    unit = {names[i], unit.size * 1024};
  }
  return unit;
}

Colour forward_colour() { return pass_colour(Pass::forward); }
Colour backward_colour() { return pass_colour(Pass::backward); }
Colour transfer_colour() { return axis_line; }
Colour memory_colour() { return series_colour(2); }

/// One panel: bars from its left edge, over an axis.
struct BarPanel {
  Scale x;
  double top;
  double row;
  double rows;
  BarUnit unit;
};

class CutDrawing {
 public:
  CutDrawing(const CutPicture& cut, double top, Page& page) : cut_(cut), page_(page) {
    const auto stages = static_cast<double>(cut.stages.size());
    const double around = panel_head + bar_axis_rows + legend_row + page_margin;
    row_ = std::clamp(most_stage_rows / stages, lowest_stage_row, highest_stage_row);
    if (page.height > 0) {
      check_height(page, top + around + stages * 2);
      row_ = (page.height - top - around) / stages;
    } else {
      page.height = top + around + stages * row_;
    }
    const double left = margin_of(page) + name_room();
    const double width = (margin_of(page) + inner_width(page) - left - between_panels) / 2;
    time_ = panel(left, width, top + panel_head, longest(), time_unit(longest()));
    const double most = std::max(fullest(), cut.capacity_bytes.value_or(0));
    memory_ =
        panel(left + width + between_panels, width, top + panel_head, most, memory_unit(most));
  }

  void draw() {
    draw_axis(time_, fmt::format("compute of a microbatch, {}", time_.unit.name));
    draw_axis(memory_, fmt::format("memory, {}", memory_.unit.name));
    for (std::size_t s = 0; s < cut_.stages.size(); ++s) draw_stage(s);
    if (cut_.capacity_bytes) draw_capacity();
    const double bottom = time_.top + time_.rows + bar_axis_rows + legend_row / 2;
    draw_legend(page_.canvas, {margin_of(page_), bottom}, inner_width(page_), entries());
  }

 private:
  BarPanel panel(double left, double width, double top, double most, BarUnit unit) const {
    const double last = most > 0 ? most / unit.size : 1;
    return {{0, last, left, left + width},
            top,
            row_,
            row_ * static_cast<double>(cut_.stages.size()),
            std::move(unit)};
  }

  double longest() const {
    double most = 0;
    for (const CutBar& bar : cut_.stages) {
      most = std::max({most, bar.forward_s + bar.backward_s, bar.transfer_s});
    }
    return most;
  }

  double fullest() const {
    double most = 0;
    for (const CutBar& bar : cut_.stages) most = std::max(most, bar.memory_bytes);
    return most;
  }

  double name_room() {
    return std::max(page_.canvas.text_width("stage", tick_style),
                    widest_text(page_.canvas, cut_.stages, tick_style, &CutBar::name)) +
           stage_name_gap;
  }

  void draw_axis(const BarPanel& panel, const std::string& label) {
    Canvas& canvas = page_.canvas;
    const double bottom = panel.top + panel.rows;
    canvas.text_within(panel.x.to - panel.x.from, {panel.x.from, panel.top - panel_head / 2}, label,
                       label_style);
    for (const Tick& tick : fitting_ticks(canvas, panel.x.last, panel.x.to - panel.x.from)) {
      if (tick.at > panel.x.last) continue;
      const double x = page_.snapped(panel.x(tick.at));
      canvas.line({x, panel.top}, {x, bottom}, 1, grid_line);
      canvas.text({x, bottom + 13}, tick.text, aligned(tick_style, Align::centre));
    }
    canvas.line({panel.x.from, panel.top}, {panel.x.from, bottom}, 1, axis_line);
  }

  void draw_stage(std::size_t s) {
    const CutBar& bar = cut_.stages[s];
    const double top = time_.top + static_cast<double>(s) * row_ + row_ * (1 - bar_share) / 2;
    const double height = row_ * bar_share;
    const double compute = height * (1 - transfer_share);
    fill(time_, 0, bar.forward_s, top, compute, forward_colour());
    fill(time_, bar.forward_s, bar.forward_s + bar.backward_s, top, compute, backward_colour());
    fill(time_, 0, bar.transfer_s, top + compute, height - compute, transfer_colour());
    const bool over = cut_.capacity_bytes && bar.memory_bytes > *cut_.capacity_bytes;
    fill(memory_, 0, bar.memory_bytes, top, height, over ? peak_colour : memory_colour());
    if (s % lanes_per_label(row_, 14) != 0) return;
    page_.canvas.text({time_.x.from - stage_name_gap, top + height / 2}, bar.name,
                      aligned(tick_style, Align::right));
  }

  void fill(const BarPanel& panel, double from, double to, double top, double height,
            Colour colour) {
    const double left = panel.x(from / panel.unit.size);
    const double right = panel.x(to / panel.unit.size);
    if (right > left) page_.canvas.fill(Rectangle{left, top, right - left, height}, colour);
  }

  void draw_capacity() {
    const double x = page_.snapped(memory_.x(*cut_.capacity_bytes / memory_.unit.size));
    page_.canvas.line({x, memory_.top}, {x, memory_.top + memory_.rows}, 1.5, peak_colour);
  }

  std::vector<LegendEntry> entries() const {
    std::vector<LegendEntry> all{legend_entry({{forward_colour()}}, "forward"),
                                 legend_entry({{backward_colour()}}, "backward")};
    if (std::any_of(cut_.stages.begin(), cut_.stages.end(),
                    [](const CutBar& bar) { return bar.transfer_s > 0; })) {
      all.push_back(legend_entry({{transfer_colour()}}, "transfers to the next stage and back"));
    }
    all.push_back(legend_entry({{memory_colour()}}, "memory"));
    if (cut_.capacity_bytes) all.push_back(legend_entry({{peak_colour}}, "capacity"));
    return all;
  }

  const CutPicture& cut_;
  Page& page_;
  double row_ = highest_stage_row;
  BarPanel time_{};
  BarPanel memory_{};
};

}  // namespace

std::string draw_cut(PictureFormat format, const CutPicture& cut) {
  Page page = open_page(PictureOptions{}, cut_width);
  const double top = draw_heading(page, cut.title, cut.subtitle);
  CutDrawing(cut, top, page).draw();
  return render(format, page);
}

}  // namespace penstock
