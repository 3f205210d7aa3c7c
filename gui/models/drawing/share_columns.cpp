#include "gui/models/drawing/share_columns.hpp"

#include <algorithm>
#include <cmath>

namespace penstock {

void ShareColumns::resize(int width) {
  width_ = width;
  shares_.resize(static_cast<std::size_t>(width) * most_categories);
}

void ShareColumns::start(const Pyramid& pyramid) {
  rows_ = pyramid.categories().size();
  any_ = false;
}

void ShareColumns::clear() {
  const auto all = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(width_) * rows_);
  std::fill(shares_.begin(), shares_.begin() + all, 0.0F);
}

void ShareColumns::add(double from, double to, std::uint8_t row) {
  constexpr double least = 1e-6;  // so that no box vanishes
  const int first = std::max(0, static_cast<int>(from));
  float* share = shares_.data() + static_cast<std::size_t>(first) * rows_ + row;
  any_ = true;
  if (to <= first + 1 && first < width_) {
    *share += static_cast<float>(std::max(to - std::max(from, 0.0), least));
    return;
  }
  for (int x = first; x < width_ && x < to; ++x, share += rows_) {
    const double part = std::min(to, x + 1.0) - std::max(from, static_cast<double>(x));
    *share += static_cast<float>(std::max(part, least));
  }
}

template <class Cell>
void ShareColumns::set_cells(const Cell* cells, const Pyramid::Level& level, const TimeAxis& axis) {
  const auto bin = static_cast<double>(level.bin);
  const double first_bin = static_cast<double>(axis.origin) / bin;
  const double bins_per_pixel = axis.picoseconds_per_pixel / bin;
  const auto bins = static_cast<std::int64_t>(level.bins);
  // Windows are made of whole bins, so that columns do not change while the view moves. From the
  // floor on, positions are positive and conversion rounds down.
  const double floor = std::floor(first_bin);
  const double past = first_bin - floor;
  const auto start = static_cast<std::int64_t>(floor);
  const float per_bin = 1.0F / static_cast<float>(bin);
  std::int64_t from = start;
  float* share = shares_.data();
  for (int x = 0; x < width_; ++x, share += rows_) {
    const std::int64_t until = start + static_cast<std::int64_t>(past + (x + 1) * bins_per_pixel);
    const std::int64_t to = std::max(until, from + 1);
    const std::int64_t low = std::clamp<std::int64_t>(from, 0, bins);
    const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(to, low, bins) - low);
    const float scale = per_bin / static_cast<float>(to - from);
    const Cell* cell = cells + static_cast<std::size_t>(low) * rows_;
    from = until;
    for (std::size_t row = 0; row < rows_; ++row, ++cell) {
      std::int64_t sum = 0;
      for (std::size_t b = 0; b < count; ++b) sum += static_cast<std::int64_t>(cell[b * rows_]);
      share[row] = static_cast<float>(sum) * scale;
    }
  }
}

void ShareColumns::set_level(const Pyramid::Level& level, const TimeAxis& axis) {
  any_ = true;
  if (level.wide.empty()) {
    set_cells(level.narrow.data(), level, axis);
  } else {
    set_cells(level.wide.data(), level, axis);
  }
}

inline float ShareColumns::total(int x) const {
  if (!any_) return 0;
  const float* const share = shares_.data() + static_cast<std::size_t>(x) * rows_;
  float sum = 0;
  for (std::size_t row = 0; row < rows_; ++row) sum += share[row];
  return sum;
}

/// Fills pixels by share, from `base` on.
inline void ShareColumns::stack(int x, int base, int height, float total,
                                const Column& column) const {
  const float* const share = shares_.data() + static_cast<std::size_t>(x) * rows_;
  const float scale = static_cast<float>(height) / total;
  float sum = 0;
  int done = base;
  for (std::size_t row = 0; row < rows_; ++row) {
    if (share[row] == 0) continue;
    sum += share[row];
    const int until = base + std::min(height, static_cast<int>(sum * scale + 0.5F));
    const int end = std::min(until, column.seen_until);
    for (int i = std::max(done, column.seen_from); i < end; ++i) {
      column.first[i * column.step] = colours_[row];
    }
    done = std::max(done, until);
  }
}

std::uint64_t ShareColumns::draw(const ShareColumns& busy, const ShareColumns& idle,
                                 const Strip& strip, const Pixels& pixels) {
  if (!busy.any_ && !idle.any_) return 0;
  const int bottom = strip.top + strip.height;
  const int above = std::max(0, -strip.top);
  const int below = std::max(0, bottom - pixels.height);
  const auto stride = static_cast<std::ptrdiff_t>(pixels.stride);
  Column column{.first = pixels.first + stride * (strip.flipped ? strip.top : bottom - 1),
                .step = strip.flipped ? stride : -stride,
                .seen_from = strip.flipped ? above : below,
                .seen_until = strip.height - (strip.flipped ? below : above)};
  const auto high = static_cast<float>(strip.height);
  std::uint64_t drawn = 0;
  for (int x = 0; x < pixels.width; ++x, ++column.first) {
    const float used = busy.total(x);
    const float unused = idle.total(x);
    if (used == 0 && unused == 0) continue;
    int height = std::min(strip.height, static_cast<int>(used * high + 0.5F));
    if (used > 0) height = std::max(1, height);
    ++drawn;
    if (unused > 0) idle.stack(x, height, strip.height - height, unused, column);
    if (used > 0) busy.stack(x, 0, height, used, column);
  }
  return drawn;
}

}  // namespace penstock
