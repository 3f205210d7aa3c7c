#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gui/models/tracks/track.hpp"

namespace penstock {

/// The most categories that boxes can be coloured by.
constexpr std::size_t most_categories = 16;

/// The busy time of a track by category, in bins of several widths: each level has bins eight times
/// as wide as the one below. All sums are exact, in picoseconds.
class Pyramid {
 public:
  struct Level {
    std::int64_t bin = 0;  // its width
    std::size_t bins = 0;
    // By bin, then by row of `categories`; in the second if a bin is longer than 32 bits can say.
    std::vector<std::uint32_t> narrow;
    std::vector<std::int64_t> wide;

    std::size_t cells() const { return narrow.size() + wide.size(); }
    std::int64_t busy(std::size_t cell) const {
      return wide.empty() ? static_cast<std::int64_t>(narrow[cell]) : wide[cell];
    }
  };

  /// The category and the row of boxes that are not counted.
  static constexpr std::uint8_t left_out = UINT8_MAX;

  Pyramid() = default;
  /// `category` gives that of a tag, below `most_categories` or `left_out`. The narrowest bins have
  /// about `boxes_per_bin`. With fewer, boxes are drawn one by one sooner, and bins take more room.
  template <class Category>
  Pyramid(const Track& track, Category category, std::int64_t boxes_per_bin = 4) {
    if (track.size() == 0) return;
    std::vector<std::uint8_t> of_box(track.size());
    for (std::size_t box = 0; box < of_box.size(); ++box) of_box[box] = category(track.tag[box]);
    build(track, of_box, boxes_per_bin);
  }
  /// No levels: all boxes are drawn one by one. For runs that change while a hand moves.
  static Pyramid without_levels(std::vector<std::uint8_t> categories);

  /// The categories that the track has; a row of a bin holds one time for each.
  const std::vector<std::uint8_t>& categories() const { return categories_; }
  /// The row of a category; `left_out` if the track has none of it.
  std::uint8_t row_of(std::uint8_t category) const {
    return category < most_categories ? row_of_category_[category] : left_out;
  }
  const std::vector<Level>& levels() const { return levels_; }
  /// The widest level with bins no wider than this; nullptr if there is none.
  const Level* level_for(double picoseconds) const;
  std::size_t bytes() const;

 private:
  void set_categories(std::vector<std::uint8_t> categories);
  void build(const Track& track, std::vector<std::uint8_t>& category_of_box,
             std::int64_t boxes_per_bin);
  void build_next();
  template <class Cell>
  void fill_base(const Track& track, const std::vector<std::uint8_t>& row_of_box, std::int64_t bin,
                 std::vector<Cell>& cells) const;

  std::vector<std::uint8_t> categories_;
  std::array<std::uint8_t, most_categories> row_of_category_{};
  std::vector<Level> levels_;
};

}  // namespace penstock
