#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gui/models/tracks/pyramid.hpp"
#include "gui/models/view/time_axis.hpp"

namespace penstock {

/// The bins of a level that each pixel column covers. Kept while lanes have the same bins.
class ColumnWindows {
 public:
  void set(const TimeAxis& axis, std::int64_t bin, int width);
  // By column: the first bin, the end of the bins, and the column's share of a picosecond.
  const std::uint32_t* first() const { return first_.data(); }
  const std::uint32_t* end() const { return end_.data(); }
  const float* scale() const { return scale_.data(); }

 private:
  TimeAxis axis_;
  std::int64_t bin_ = 0;
  std::vector<std::uint32_t> first_, end_;
  std::vector<float> scale_;
};

/// Shares of the pixel columns of a strip, by row of a pyramid. Keeps its room.
class ShareColumns {
 public:
  void resize(int width);
  /// Nothing is known of any column.
  void forget() { rows_ = 0, any_ = false; }
  /// The columns of a pyramid, all zero; the colours are set by row.
  void start(const Pyramid& pyramid);
  void set_colour(std::size_t row, std::uint32_t colour) { colours_[row] = colour; }
  std::uint32_t colour(std::size_t row) const { return colours_[row]; }
  bool any() const { return any_; }
  int width() const { return width_; }
  std::size_t rows() const { return any_ ? rows_ : 0; }
  const float* shares(std::size_t row) const { return shares_.data() + row * room(); }

  /// Adds a box between two positions, however narrow.
  void add(double from, double to, std::size_t row) {
    if (!any_) clear();
    const int first = std::max(0, static_cast<int>(from));
    float* const share = shares_.data() + row * room() + first;
    if (to <= first + 1 && first < width_) {
      *share += static_cast<float>(std::max(to - std::max(from, 0.0), least));
    } else if (from > 0 && to <= first + 2 && first + 1 < width_) {
      share[0] += static_cast<float>(first + 1 - from);
      share[1] += static_cast<float>(to - (first + 1));
    } else {
      add_wide(from, to, row);
    }
  }
  /// Sets all shares to those of a level whose bins are no wider than a pixel.
  void set_level(const Pyramid::Level& level, const TimeAxis& axis);

 private:
  static constexpr double least = 1e-6;  // so that no box vanishes

  std::size_t room() const { return static_cast<std::size_t>(width_); }
  template <std::size_t rows, class Cell>
  void set_rows(const Cell* cells, std::size_t bins);
  template <class Cell>
  void set_cells(const Cell* cells, std::size_t bins);
  void add_wide(double from, double to, std::size_t row);
  void clear();

  int width_ = 0;
  std::size_t rows_ = 0;
  bool any_ = false;
  std::vector<float> shares_;  // by row, then column
  std::array<std::uint32_t, most_categories> colours_{};
  ColumnWindows windows_;
};

}  // namespace penstock
