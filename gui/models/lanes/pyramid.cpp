#include "gui/models/lanes/pyramid.hpp"

#include <algorithm>
#include <bit>

namespace penstock {
namespace {

constexpr std::int64_t boxes_per_bin = 4;
constexpr std::int64_t looked_up_per_bin = 8;  // of tracks without times of their own: to be small
constexpr std::size_t fan_out = 8;

/// Rounded down to five binary digits, so that tracks with about as many boxes have the same bins.
/// Up to 8 ms, as wide as 32 bits can hold: cells take half the room.
std::int64_t base_bin(const Track& track) {
  const std::int64_t span = track.end_at(track.size() - 1);
  const std::int64_t mean = span / static_cast<std::int64_t>(track.size());
  constexpr std::int64_t most = std::int64_t{1} << 56;  // so that no end of a bin overflows
  const std::int64_t boxes = track.times == nullptr ? boxes_per_bin : looked_up_per_bin;
  auto wanted = static_cast<std::uint64_t>(std::clamp<std::int64_t>(mean, 1, most) * boxes);
  if (wanted > UINT32_MAX && wanted / 2 <= UINT32_MAX) wanted = UINT32_MAX;
  const int digits = std::max(0, static_cast<int>(std::bit_width(wanted)) - 5);
  return static_cast<std::int64_t>(wanted >> digits << digits);
}

/// Zeros for all cells of a level.
void make_room(std::size_t cells, Pyramid::Level& level) {
  if (level.bin <= UINT32_MAX) {
    level.narrow.resize(cells);
  } else {
    level.wide.resize(cells);
  }
}

template <class From, class To>
void add_up(const std::vector<From>& below, std::size_t bins, std::size_t rows,
            std::vector<To>& cells) {
  for (std::size_t bin = 0; bin < bins; ++bin) {
    for (std::size_t row = 0; row < rows; ++row) {
      cells[bin / fan_out * rows + row] += static_cast<To>(below[bin * rows + row]);
    }
  }
}

}  // namespace

Pyramid::Pyramid(const Track& track, const std::function<std::uint8_t(std::uint32_t)>& category) {
  if (track.size() == 0) return;
  build_base(track, category);
  while (levels_.back().bins > fan_out) build_next();
}

void Pyramid::build_base(const Track& track,
                         const std::function<std::uint8_t(std::uint32_t)>& category) {
  std::array<bool, most_categories> seen{};
  std::vector<std::uint8_t> row_of_box;
  row_of_box.reserve(track.size());
  for (const std::uint32_t tag : track.tag) {
    const std::uint8_t own = category(tag);
    if (own != left_out) seen[own] = true;
    row_of_box.push_back(own);
  }
  row_of_category_.fill(left_out);
  for (std::size_t c = 0; c < most_categories; ++c) {
    if (!seen[c]) continue;
    row_of_category_[c] = static_cast<std::uint8_t>(categories_.size());
    categories_.push_back(static_cast<std::uint8_t>(c));
  }
  for (std::uint8_t& own : row_of_box) own = row_of(own);
  Level base{.bin = base_bin(track), .bins = 0, .narrow = {}, .wide = {}};
  base.bins = static_cast<std::size_t>((track.end_at(track.size() - 1) - 1) / base.bin + 1);
  make_room(base.bins * categories_.size(), base);
  if (base.wide.empty()) {
    fill_base(track, row_of_box, base.bin, base.narrow);
  } else {
    fill_base(track, row_of_box, base.bin, base.wide);
  }
  levels_.push_back(std::move(base));
}

template <class Cell>
void Pyramid::fill_base(const Track& track, const std::vector<std::uint8_t>& row_of_box,
                        std::int64_t width, std::vector<Cell>& cells) const {
  std::int64_t bin = 0;
  std::int64_t bin_end = width;
  for (std::size_t box = 0; box < track.size(); ++box) {
    const std::size_t own = row_of_box[box];
    if (own == left_out) continue;
    const std::int64_t end = track.end_at(box);
    std::int64_t at = track.begin_at(box);
    if (at >= bin_end) {
      bin = at / width;
      bin_end = (bin + 1) * width;
    }
    while (true) {
      const std::int64_t until = std::min(end, bin_end);
      cells[static_cast<std::size_t>(bin) * categories_.size() + own] +=
          static_cast<Cell>(until - at);
      if (end <= bin_end) break;
      at = until;
      ++bin;
      bin_end += width;
    }
  }
}

void Pyramid::build_next() {
  const Level& below = levels_.back();
  const std::size_t rows = categories_.size();
  Level level{.bin = below.bin * static_cast<std::int64_t>(fan_out),
              .bins = (below.bins + fan_out - 1) / fan_out,
              .narrow = {},
              .wide = {}};
  make_room(level.bins * rows, level);
  if (level.wide.empty()) {
    add_up(below.narrow, below.bins, rows, level.narrow);
  } else if (below.wide.empty()) {
    add_up(below.narrow, below.bins, rows, level.wide);
  } else {
    add_up(below.wide, below.bins, rows, level.wide);
  }
  levels_.push_back(std::move(level));
}

const Pyramid::Level* Pyramid::level_for(double picoseconds) const {
  const Level* best = nullptr;
  for (const Level& level : levels_) {
    if (static_cast<double>(level.bin) <= picoseconds) best = &level;
  }
  return best;
}

std::size_t Pyramid::bytes() const {
  std::size_t sum = 0;
  for (const Level& level : levels_) {
    sum += level.narrow.capacity() * sizeof(std::uint32_t);
    sum += level.wide.capacity() * sizeof(std::int64_t);
  }
  return sum;
}

}  // namespace penstock
