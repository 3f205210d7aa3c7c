#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/show/pictures/page.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "experiments/show/pictures/plots/plots.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double map_width = 760;
constexpr double usual_cell_height = 34;
constexpr double least_cell = 4;
constexpr double map_label_row = 34;  // above the cells
constexpr double map_axis_rows = 30;  // below them, without labels of columns
constexpr double label_height = 14;
constexpr double label_gap = 8;       // between those of columns
constexpr double map_scale_gap = 18;  // above the legend
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

bool are_numbers(const std::vector<std::string>& labels) {
  return std::all_of(labels.begin(), labels.end(),
                     [](const std::string& label) { return plain_number(label).has_value(); });
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
    left_ = margin_of(page_) +
            std::min(widest_text(page_.canvas, map_.rows, tick_style), page_.width / 3) + map_gap;
    width_ = (page_.width - margin_of(page_) - left_) / static_cast<double>(map_.columns.size());
    if (width_ < least_cell) {
      throw UsageError(fmt::format("{} columns of cells do not fit; give a larger --width",
                                   map_.columns.size()));
    }
    const double widest = widest_text(page_.canvas, map_.columns, tick_style);
    turned_ = widest + label_gap > width_ && !are_numbers(map_.columns);
    label_room_ = turned_ ? std::min(widest, page_.width / 3) : label_height;
    top_ = top + map_label_row;
    scale_height_ = legend_height(page_.canvas, inner_width(page_), scale());
    const double foot =
        map_axis_rows + label_room_ + map_scale_gap + scale_height_ + margin_of(page_);
    const auto rows = static_cast<double>(map_.rows.size());
    if (page_.height == 0) page_.height = top_ + rows * usual_cell_height + foot;
    check_height(page_, top_ + rows * least_cell + foot);
    height_ = (page_.height - foot - top_) / rows;
    numbered_ = numbers_fit();
  }

  /// Whether all cells have room for their numbers.
  bool numbers_fit() const {
    if (height_ < label_height) return false;
    for (const auto& row : map_.cells) {
      for (const auto& value : row) {
        if (!value) continue;
        if (page_.canvas.text_width(value_text(map_, *value), tick_style) + 4 > width_)
          return false;
      }
    }
    return true;
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
    if (!numbered_) return;
    TextStyle style = aligned(tick_style, Align::centre);
    style.colour = text_on(ground);
    page_.canvas.text({box.x + box.width / 2, box.y + box.height / 2}, value_text(map_, *value),
                      style);
  }

  void draw_axes() const {
    const double bottom = top_ + height_ * static_cast<double>(map_.rows.size());
    draw_column_labels(bottom);
    draw_row_labels();
    page_.canvas.text({margin_of(page_), top_ - 16}, map_.y_label, label_style);
    page_.canvas.text_within(inner_width(page_),
                             {(left_ + page_.width) / 2, bottom + label_room_ + 20}, map_.x_label,
                             aligned(label_style, Align::centre));
  }

  /// Numbers of every second, third … column where they would touch; words are turned, none is left
  /// out.
  void draw_column_labels(double bottom) const {
    TextStyle style = aligned(tick_style, turned_ ? Align::right : Align::centre);
    style.upward = turned_;
    if (turned_) style.size = std::min(style.size, width_);
    const auto step =
        turned_ ? 1
                : static_cast<std::size_t>(std::ceil(
                      (widest_text(page_.canvas, map_.columns, tick_style) + label_gap) / width_));
    for (std::size_t i = 0; i < map_.columns.size(); i += step) {
      const Rectangle box = place(0, i);
      page_.canvas.text_within(turned_ ? label_room_ : step * width_,
                               {box.x + box.width / 2, bottom + (turned_ ? 6 : 13)},
                               map_.columns[i], style);
    }
  }

  void draw_row_labels() const {
    TextStyle style = aligned(tick_style, Align::right);
    const bool words = !are_numbers(map_.rows);
    if (words) style.size = std::min(style.size, height_);
    const auto step = words ? 1 : static_cast<std::size_t>(std::ceil(label_height / height_));
    for (std::size_t i = 0; i < map_.rows.size(); i += step) {
      const Rectangle box = place(i, 0);
      page_.canvas.text_within(page_.width / 3, {left_ - map_gap, box.y + box.height / 2},
                               map_.rows[i], style);
    }
  }

  /// A row of colours from the least to the most value.
  std::vector<LegendEntry> scale() const {
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
      entries.push_back(
          legend_entry({.colours = {idle_ground}, .hatch = idle_hatch},
                       map_.findings.empty() ? "no result" : "no result or a problem"));
    }
    return entries;
  }

  void draw_scale() const {
    const double top = page_.height - margin_of(page_) - scale_height_;
    draw_legend(page_.canvas, {margin_of(page_), top + legend_row / 2}, inner_width(page_),
                scale());
  }

  const HeatMap& map_;
  MapRange range_;
  Page& page_;
  double left_ = 0, top_ = 0;      // of the cells
  double width_ = 0, height_ = 0;  // of a cell
  double scale_height_ = 0;        // of the legend
  double label_room_ = 0;          // height of the labels of columns
  bool turned_ = false;            // whether these read upwards
  bool numbered_ = false;          // whether cells have numbers
};

}  // namespace

std::string draw_heat_map(PictureFormat format, const HeatMap& map) {
  Page page = open_page(map.options, map_width);
  MapDrawing(map, page).draw();
  return render(format, page);
}

}  // namespace penstock
