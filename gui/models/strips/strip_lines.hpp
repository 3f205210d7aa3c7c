#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "experiments/show/pictures/palette.hpp"
#include "gui/models/tracks/track.hpp"
#include "gui/models/view/time_axis.hpp"

// For loops over whole rows: compiled once more for wider vectors, which are taken where the
// processor has them. Results are the same. Sanitizers cannot choose that early.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PENSTOCK_WIDE_VECTORS [[gnu::target_clones("avx2", "default")]]
#else
#define PENSTOCK_WIDE_VECTORS
#endif

namespace penstock {

/// 0xffRRGGBB.
constexpr std::uint32_t packed(Colour colour) {
  return 0xff00'0000U | static_cast<std::uint32_t>(colour.red) << 16 |
         static_cast<std::uint32_t>(colour.green) << 8 | colour.blue;
}

/// A picture in memory that someone else owns, row by row.
struct Pixels {
  std::uint32_t* first = nullptr;
  int width = 0;
  int height = 0;
  std::size_t stride = 0;  // pixels from one row to the next

  std::uint32_t* row(int y) const { return first + static_cast<std::size_t>(y) * stride; }
  /// The part of the box that lies within the picture; ends are not part of it.
  void fill(int left, int top, int right, int bottom, std::uint32_t colour) const {
    left = std::max(left, 0);
    right = std::min(right, width);
    if (right <= left) return;
    for (int y = std::max(top, 0); y < std::min(bottom, height); ++y) {
      std::fill(row(y) + left, row(y) + right, colour);
    }
  }
};

/// The bins of a level that each pixel column covers. Kept while lanes have the same bins.
class ColumnWindows {
 public:
  void set(const TimeAxis& axis, const Pyramid::Level& level, int width);
  // By column: the first bin, the end of the bins, and the column's share of a picosecond.
  const std::uint32_t* first() const { return first_.data(); }
  const std::uint32_t* end() const { return end_.data(); }
  const float* scale() const { return scale_.data(); }

 private:
  TimeAxis axis_;
  std::int64_t bin_ = 0;
  std::int64_t unit_ = 1;
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
  /// Sets all shares to those of a level.
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

/// The part of a picture that a track takes.
struct Strip {
  int top, height;
  bool flipped;  // shares hang from the top
  double mute;   // share of the way to the ground
};

/// A strip of lanes before it is drawn. Boxes fill its height, so they are known from one line of
/// pixels; columns of shares are put over them row by row. Keeps its room.
class StripLines {
 public:
  void resize(int width);
  /// Everything has this colour.
  void start(std::uint32_t colour);
  /// The part of a box that lies within the picture.
  void fill(int left, int right, std::uint32_t colour);
  /// The same with lines over it.
  void hatch(int left, int right, std::uint32_t ground, std::uint32_t line, Hatch hatch);

  /// Draws the boxes, over them busy shares from the bottom and idle shares above these. A column
  /// with any busy time has at least one coloured pixel. Returns the number of columns with
  /// anything.
  std::uint64_t draw(const ShareColumns& busy, const ShareColumns& idle, const Strip& strip,
                     const Pixels& pixels);

 private:
  /// Up to where a colour reaches, by column, counted from the side where shares stand.
  struct Reach {
    std::uint32_t colour = 0;
    int lowest = 0;  // of the columns with anything
    int highest = 0;
    std::vector<int> until;
  };

  /// A part of a line of pixels with lines over it.
  struct Hatched {
    int left, right;
    Hatch hatch;
  };

  void draw_boxes(const Strip& strip, const Pixels& pixels, int left, int right) const;
  void put_lines(const Hatched& piece, int y, int left, int right, std::uint32_t* row) const;
  void find_heights(const ShareColumns& busy, const ShareColumns& idle, int height);
  void find_reaches(const ShareColumns& shares, bool above, int height);
  bool is_hidden(const Reach& reach) const;
  void put_shares(const Strip& strip, const Pixels& pixels) const;
  void put_row(int height, std::uint32_t* row) const;
  void put_sparse_row(int height, std::uint32_t* row) const;

  std::vector<std::uint32_t> ground_, lines_;  // between the lines of a hatch, and on them
  std::vector<Hatched> hatched_;
  // By column: all busy and idle shares, pixels of busy time, pixels per share.
  std::vector<float> used_, unused_, scale_, sum_;
  std::vector<int> tall_;
  std::vector<Reach> reaches_;
  std::size_t count_ = 0;  // of these that are in use
  // The columns with anything lie between these.
  std::size_t left_ = 0;
  std::size_t right_ = 0;
  std::vector<std::uint32_t> columns_;  // those with anything
};

}  // namespace penstock
