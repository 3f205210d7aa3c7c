#include "gui/models/tracks/track.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace penstock {
namespace {

constexpr std::size_t fan_out = 8;

/// Rounded down to five binary digits, so that tracks with about as many boxes have the same bins.
/// Up to 8 ms, as wide as 32 bits can hold: cells take half the room.
std::int64_t base_bin(const Track& track, std::int64_t boxes) {
  const std::int64_t span = track.end_at(track.size() - 1);
  const std::int64_t mean = span / static_cast<std::int64_t>(track.size());
  constexpr std::int64_t most = std::int64_t{1} << 56;  // so that no end of a bin overflows
  auto wanted = static_cast<std::uint64_t>(std::clamp<std::int64_t>(mean, 1, most) * boxes);
  if (wanted > UINT32_MAX && wanted / 2 <= UINT32_MAX) wanted = UINT32_MAX;
  const int digits = std::max(0, static_cast<int>(std::bit_width(wanted)) - 5);
  return static_cast<std::int64_t>(wanted >> digits << digits);
}

/// Zeros for all cells of a level.
void make_room(std::size_t cells, Pyramid::Level& level) {
  if (level.bin / level.unit <= UINT32_MAX) {
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

void StackedBoxes::add(std::int64_t begin, std::int64_t end, std::uint32_t tag) {
  const auto free = std::find_if(free_from_.begin(), free_from_.end(),
                                 [&](std::int64_t from) { return from <= begin; });
  const auto at = static_cast<std::size_t>(free - free_from_.begin());
  if (at == tracks_.size()) {
    tracks_.push_back({.times = times_});
    free_from_.push_back(0);
  }
  tracks_[at].add(begin, end, tag);
  free_from_[at] = end;
}

std::vector<Track> StackedBoxes::take() {
  for (Track& track : tracks_) track.shrink();
  return std::exchange(tracks_, {});
}

Pyramid Pyramid::without_levels(std::vector<std::uint8_t> categories) {
  Pyramid pyramid;
  pyramid.set_categories(std::move(categories));
  return pyramid;
}

Pyramid Pyramid::of_level(std::vector<std::uint8_t> categories, Level base) {
  Pyramid pyramid;
  pyramid.set_categories(std::move(categories));
  if (base.bins == 0) return pyramid;
  pyramid.levels_ = std::make_shared<std::vector<Level>>(1, std::move(base));
  while (pyramid.levels_->back().bins > fan_out) pyramid.build_next();
  return pyramid;
}

void Pyramid::set_categories(std::vector<std::uint8_t> categories) {
  row_of_category_.fill(left_out);
  for (std::size_t row = 0; row < categories.size(); ++row) {
    row_of_category_[categories[row]] = static_cast<std::uint8_t>(row);
  }
  categories_ = std::move(categories);
}

void Pyramid::build(const Track& track, std::vector<std::uint8_t>& of_box,
                    std::int64_t boxes_per_bin) {
  std::array<bool, UINT8_MAX + 1> seen{};
  for (const std::uint8_t own : of_box) seen[own] = true;
  std::vector<std::uint8_t> present;
  for (std::size_t c = 0; c < most_categories; ++c) {
    if (seen[c]) present.push_back(static_cast<std::uint8_t>(c));
  }
  set_categories(std::move(present));
  for (std::uint8_t& own : of_box) own = row_of(own);
  Level base{.bin = base_bin(track, boxes_per_bin)};
  base.bins = static_cast<std::size_t>((track.end_at(track.size() - 1) - 1) / base.bin + 1);
  make_room(base.bins * categories_.size(), base);
  if (base.wide.empty()) {
    fill_base(track, of_box, base.bin, base.narrow);
  } else {
    fill_base(track, of_box, base.bin, base.wide);
  }
  levels_ = std::make_shared<std::vector<Level>>(1, std::move(base));
  while (levels_->back().bins > fan_out) build_next();
}

template <class Cell>
void Pyramid::fill_base(const Track& track, const std::vector<std::uint8_t>& row_of_box,
                        std::int64_t width, std::vector<Cell>& cells) const {
  std::int64_t bin = 0;
  std::int64_t bin_end = width;
  const std::uint8_t* next_row = row_of_box.data();
  track.for_each([&](std::int64_t at, std::int64_t end, std::uint32_t) {
    const std::size_t own = *next_row++;
    if (own == left_out) return;
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
  });
}

void Pyramid::build_next() {
  const Level& below = levels_->back();
  const std::size_t rows = categories_.size();
  Level level{.bin = below.bin * static_cast<std::int64_t>(fan_out),
              .unit = below.unit,
              .bins = (below.bins + fan_out - 1) / fan_out};
  make_room(level.bins * rows, level);
  if (level.wide.empty()) {
    add_up(below.narrow, below.bins, rows, level.narrow);
  } else if (below.wide.empty()) {
    add_up(below.narrow, below.bins, rows, level.wide);
  } else {
    add_up(below.wide, below.bins, rows, level.wide);
  }
  levels_->push_back(std::move(level));
}

const Pyramid::Level* Pyramid::level_for(double picoseconds) const {
  const Level* best = nullptr;
  for (const Level& level : levels()) {
    if (static_cast<double>(level.bin) <= picoseconds) best = &level;
  }
  return best;
}

std::size_t Pyramid::bytes() const {
  std::size_t sum = 0;
  for (const Level& level : levels()) {
    sum += level.narrow.capacity() * sizeof(std::uint32_t);
    sum += level.wide.capacity() * sizeof(std::int64_t);
  }
  return sum;
}

}  // namespace penstock
