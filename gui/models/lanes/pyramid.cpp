#include "gui/models/lanes/pyramid.hpp"

#include <algorithm>
#include <bit>

namespace penstock {
namespace {

constexpr std::size_t boxes_per_bin = 16;
constexpr std::size_t fan_out = 4;

/// A power of two, so that levels of all tracks line up.
std::int64_t base_bin(const Track& track) {
  const std::int64_t span = track.end_at(track.size() - 1);
  const auto wanted = static_cast<std::uint64_t>(std::max<std::int64_t>(
      1, span / static_cast<std::int64_t>(track.size() / boxes_per_bin + 1)));
  return static_cast<std::int64_t>(std::bit_ceil(wanted));
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
  for (const std::uint32_t tag : track.tag) seen[category(tag)] = true;
  std::array<std::size_t, most_categories> row{};
  for (std::size_t c = 0; c < most_categories; ++c) {
    row[c] = categories_.size();
    if (seen[c]) categories_.push_back(static_cast<std::uint8_t>(c));
  }
  row_of_box_.reserve(track.size());
  for (const std::uint32_t tag : track.tag) {
    row_of_box_.push_back(static_cast<std::uint8_t>(row[category(tag)]));
  }
  Level base{.bin = base_bin(track), .bins = 0, .busy = {}};
  base.bins = static_cast<std::size_t>((track.end_at(track.size() - 1) - 1) / base.bin + 1);
  base.busy.resize(base.bins * categories_.size());
  for (std::size_t box = 0; box < track.size(); ++box) {
    const std::size_t own = row_of_box_[box];
    for (std::int64_t at = track.begin_at(box); at < track.end_at(box);) {
      const std::int64_t bin = at / base.bin;
      const std::int64_t until = std::min(track.end_at(box), (bin + 1) * base.bin);
      base.busy[static_cast<std::size_t>(bin) * categories_.size() + own] += until - at;
      at = until;
    }
  }
  levels_.push_back(std::move(base));
}

void Pyramid::build_next() {
  const Level& below = levels_.back();
  const std::size_t rows = categories_.size();
  Level level{.bin = below.bin * static_cast<std::int64_t>(fan_out),
              .bins = (below.bins + fan_out - 1) / fan_out,
              .busy = {}};
  level.busy.resize(level.bins * rows);
  for (std::size_t bin = 0; bin < below.bins; ++bin) {
    for (std::size_t row = 0; row < rows; ++row) {
      level.busy[bin / fan_out * rows + row] += below.busy[bin * rows + row];
    }
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
  std::size_t sum = row_of_box_.capacity();
  for (const Level& level : levels_) sum += level.busy.capacity() * sizeof(std::int64_t);
  return sum;
}

}  // namespace penstock
