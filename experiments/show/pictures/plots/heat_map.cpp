#include "experiments/show/pictures/plots/heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "experiments/show/pictures/legend.hpp"
#include "experiments/show/pictures/page.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double map_width = 760;
constexpr double usual_cell_height = 34;
constexpr double least_cell = 4;
constexpr double map_label_row = 34;   // above the cells
constexpr double map_axis_rows = 44;   // below them
constexpr double map_scale_rows = 40;  // legend
constexpr double map_gap = 10;
constexpr double map_rule = 1;  // between cells

/// The range of the values.
struct MapRange {
  double least = 0;
  double most = 0;
  double share(double value) const { return most > least ? (value - least) / (most - least) : 0; }
};

MapRange range_of_cells(const HeatMap& map) {
  std::vector<double> values;
  for (const auto& row : map.cells) {
    for (const auto& cell : row) {
      if (cell) values.push_back(*cell);
    }
  }
  if (values.empty()) return {};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {*least, *most};
}

std::string value_text(const HeatMap& map, double value) {
  return map.percent ? fmt::format("{:.1f}%", 100 * value) : fmt::format("{:.4g}", value);
}

/// Draws one heat map.
class MapDrawing {
 public:
  MapDrawing(const HeatMap& map, Page& page)
      : map_(map), range_(range_of_cells(map)), page_(page) {}

  void draw() {
    lay_out(draw_heading(page_, map_.options.title.value_or(map_.title), ""));
    for (std::size_t row = 0; row < map_.rows.size(); ++row) {
      for (std::size_t column = 0; column < map_.columns.size(); ++column) draw_cell(row, column);
    }
    draw_axes();
    draw_scale();
  }

 private:
  void lay_out(double top) {
    double widest = 0;
    for (const std::string& row : map_.rows) {
      widest = std::max(widest, page_.canvas.text_width(row, tick_style));
    }
    left_ = margin_of(page_) + std::min(widest, page_.width / 3) + map_gap;
    top_ = top + map_label_row;
    const double foot = map_axis_rows + map_scale_rows + margin_of(page_);
    const auto rows = static_cast<double>(map_.rows.size());
    if (page_.height == 0) page_.height = top_ + rows * usual_cell_height + foot;
    check_height(page_, top_ + rows * least_cell + foot);
    height_ = (page_.height - foot - top_) / rows;
    width_ = (page_.width - margin_of(page_) - left_) / static_cast<double>(map_.columns.size());
    if (width_ < least_cell) {
      throw UsageError(fmt::format("{} columns of cells do not fit; give a larger --width",
                                   map_.columns.size()));
    }
  }

  Rectangle place(std::size_t row, std::size_t column) const {
    const auto from_top = static_cast<double>(map_.rows.size() - 1 - row);
    return {left_ + static_cast<double>(column) * width_, top_ + from_top * height_,
            width_ - map_rule, height_ - map_rule};
  }

  void draw_cell(std::size_t row, std::size_t column) const {
    const Rectangle box = place(row, column);
    const auto& value = map_.cells[row][column];
    if (!value) {
      page_.canvas.fill(box, idle_ground);
      page_.canvas.hatch(std::array{box}, 6, 1, idle_hatch);
      return;
    }
    const Colour ground = share_colour(range_.share(*value));
    page_.canvas.fill(box, ground);
    const std::string text = value_text(map_, *value);
    TextStyle style = aligned(tick_style, Align::centre);
    style.colour = text_on(ground);
    const bool fits = page_.canvas.text_width(text, style) + 4 <= width_ && height_ >= 14;
    if (fits) page_.canvas.text({box.x + box.width / 2, box.y + box.height / 2}, text, style);
  }

  /// Labels of every cell, or of every second, third … where they would touch.
  void draw_axes() const {
    Canvas& canvas = page_.canvas;
    double widest = 0;
    for (const std::string& column : map_.columns) {
      widest = std::max(widest, canvas.text_width(column, tick_style));
    }
    const double bottom = top_ + height_ * static_cast<double>(map_.rows.size());
    const auto across = static_cast<std::size_t>(std::ceil((widest + 8) / width_));
    const auto down = static_cast<std::size_t>(std::ceil(14 / height_));
    for (std::size_t i = 0; i < map_.columns.size(); i += across) {
      const Rectangle box = place(0, i);
      canvas.text({box.x + box.width / 2, bottom + 13}, map_.columns[i],
                  aligned(tick_style, Align::centre));
    }
    for (std::size_t i = 0; i < map_.rows.size(); i += down) {
      const Rectangle box = place(i, 0);
      canvas.text_within(page_.width / 3, {left_ - map_gap, box.y + box.height / 2}, map_.rows[i],
                         aligned(tick_style, Align::right));
    }
    canvas.text({margin_of(page_), top_ - 16}, map_.y_label, label_style);
    canvas.text_within(inner_width(page_), {(left_ + page_.width) / 2, bottom + 34}, map_.x_label,
                       aligned(label_style, Align::centre));
  }

  /// A row of colours from the least to the most value.
  void draw_scale() const {
    constexpr int steps = 7;
    std::vector<LegendEntry> entries;
    Swatch colours;
    for (int i = 0; i < steps; ++i) colours.colours.push_back(share_colour(i / (steps - 1.0)));
    entries.push_back(legend_entry(
        colours, fmt::format("{}, {} to {}", map_.value_label, value_text(map_, range_.least),
                             value_text(map_, range_.most))));
    const bool any_missing = std::any_of(map_.cells.begin(), map_.cells.end(), [](const auto& row) {
      return std::any_of(row.begin(), row.end(), [](const auto& cell) { return !cell; });
    });
    if (any_missing) {
      entries.push_back(legend_entry({.colours = {idle_ground}, .hatch = idle_hatch}, "no result"));
    }
    draw_legend(page_.canvas, {margin_of(page_), page_.height - margin_of(page_) - legend_row / 2},
                inner_width(page_), entries);
  }

  const HeatMap& map_;
  MapRange range_;
  Page& page_;
  double left_ = 0, top_ = 0;      // of the cells
  double width_ = 0, height_ = 0;  // of a cell
};

}  // namespace

std::string draw_heat_map(PictureFormat format, const HeatMap& map) {
  Page page = open_page(map.options, map_width);
  MapDrawing(map, page).draw();
  return render(format, page);
}

}  // namespace penstock
