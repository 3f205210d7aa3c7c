#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gui/models/drawing/pixels.hpp"
#include "gui/models/lanes/pyramid.hpp"
#include "gui/models/view/time_axis.hpp"

namespace penstock {

/// The part of a picture that a track takes.
struct Strip {
  int top, height;
  bool flipped;  // shares hang from the top
  double mute;   // share of the way to the ground
};

/// Shares of the pixel columns of a strip, by row of a pyramid. Keeps its room.
class ShareColumns {
 public:
  void resize(int width);
  /// Nothing is known of any column.
  void forget() { rows_ = 0, any_ = false; }
  /// The columns of a pyramid; the colours are set by row.
  void start(const Pyramid& pyramid);
  void set_colour(std::size_t row, std::uint32_t colour) { colours_[row] = colour; }
  /// All shares are zero.
  void clear();
  bool any() const { return any_; }

  /// Adds a box between two positions, however narrow.
  void add(double from, double to, std::uint8_t row);
  /// Sets all shares to those of a level whose bins are no wider than a pixel.
  void set_level(const Pyramid::Level& level, const TimeAxis& axis);

  /// Draws busy shares from the bottom and idle shares above them. A column with any busy time has
  /// at least one coloured pixel. Returns the number of columns with anything.
  static std::uint64_t draw(const ShareColumns& busy, const ShareColumns& idle, const Strip& strip,
                            const Pixels& pixels);

 private:
  /// The pixels of a column of a strip, counted from the side where shares stand.
  struct Column {
    std::uint32_t* first;
    std::ptrdiff_t step;
    int seen_from, seen_until;  // those within the picture
  };
  float total(int x) const;
  void stack(int x, int base, int height, float total, const Column& column) const;
  template <class Cell>
  void set_cells(const Cell* cells, const Pyramid::Level& level, const TimeAxis& axis);

  int width_ = 0;
  std::size_t rows_ = 0;
  bool any_ = false;
  std::vector<float> shares_;  // by column, then row
  std::array<std::uint32_t, most_categories> colours_{};
};

}  // namespace penstock
