#include "gui/models/strips/share_columns.hpp"

#include <algorithm>
#include <cmath>

namespace penstock {

void ColumnWindows::set(const TimeAxis& axis, std::int64_t bin, int width) {
  const auto columns = static_cast<std::size_t>(width);
  if (axis == axis_ && bin == bin_ && first_.size() == columns) return;
  axis_ = axis;
  bin_ = bin;
  first_.resize(columns);
  end_.resize(columns);
  scale_.resize(columns);
  const double first_bin = static_cast<double>(axis.origin) / static_cast<double>(bin);
  const double bins_per_pixel = axis.picoseconds_per_pixel / static_cast<double>(bin);
  // Windows are made of whole bins, so that columns do not change while the view moves. From the
  // floor on, positions are positive and conversion rounds down.
  const double floor = std::floor(first_bin);
  const double past = first_bin - floor;
  const auto start = static_cast<std::int64_t>(floor);
  constexpr std::int64_t last = UINT32_MAX;
  std::int64_t from = start;
  for (std::size_t x = 0; x < columns; ++x) {
    const double position = past + static_cast<double>(x + 1) * bins_per_pixel;
    const std::int64_t until = start + static_cast<std::int64_t>(position);
    const std::int64_t to = std::max(until, from + 1);
    first_[x] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(from, 0, last));
    end_[x] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(to, 0, last));
    scale_[x] = 1.0F / (static_cast<float>(bin) * static_cast<float>(to - from));
    from = until;
  }
}

void ShareColumns::resize(int width) {
  width_ = width;
  shares_.resize(room() * most_categories);
}

void ShareColumns::start(const Pyramid& pyramid) {
  rows_ = pyramid.categories().size();
  any_ = false;
}

void ShareColumns::clear() {
  std::fill_n(shares_.begin(), room() * rows_, 0.0F);
  any_ = true;
}

void ShareColumns::add_wide(double from, double to, std::size_t row) {
  const int first = std::max(0, static_cast<int>(from));
  float* const share = shares_.data() + row * room();
  for (int x = first; x < width_ && x < to; ++x) {
    const double part = std::min(to, x + 1.0) - std::max(from, static_cast<double>(x));
    share[x] += static_cast<float>(std::max(part, least));
  }
}

template <std::size_t rows, class Cell>
void ShareColumns::set_rows(const Cell* cells, std::size_t bins) {
  const std::uint32_t* const first = windows_.first();
  const std::uint32_t* const end = windows_.end();
  const float* const scale = windows_.scale();
  std::array<float*, rows> shares;
  for (std::size_t row = 0; row < rows; ++row) shares[row] = shares_.data() + row * room();
  for (std::size_t x = 0; x < room(); ++x) {
    std::array<std::int64_t, rows> sums{};
    const std::size_t until = std::min<std::size_t>(end[x], bins);
    for (std::size_t bin = first[x]; bin < until; ++bin) {
      const Cell* const cell = cells + bin * rows;
      for (std::size_t row = 0; row < rows; ++row)
        sums[row] += static_cast<std::int64_t>(cell[row]);
    }
    for (std::size_t row = 0; row < rows; ++row) {
      shares[row][x] = static_cast<float>(sums[row]) * scale[x];
    }
  }
}

template <class Cell>
void ShareColumns::set_cells(const Cell* cells, std::size_t bins) {
  static_assert(most_categories == 16);
  using Set = void (ShareColumns::*)(const Cell*, std::size_t);
  constexpr std::array<Set, most_categories> sets{
      &ShareColumns::set_rows<1, Cell>,  &ShareColumns::set_rows<2, Cell>,
      &ShareColumns::set_rows<3, Cell>,  &ShareColumns::set_rows<4, Cell>,
      &ShareColumns::set_rows<5, Cell>,  &ShareColumns::set_rows<6, Cell>,
      &ShareColumns::set_rows<7, Cell>,  &ShareColumns::set_rows<8, Cell>,
      &ShareColumns::set_rows<9, Cell>,  &ShareColumns::set_rows<10, Cell>,
      &ShareColumns::set_rows<11, Cell>, &ShareColumns::set_rows<12, Cell>,
      &ShareColumns::set_rows<13, Cell>, &ShareColumns::set_rows<14, Cell>,
      &ShareColumns::set_rows<15, Cell>, &ShareColumns::set_rows<16, Cell>};
  if (rows_ > 0) (this->*sets[rows_ - 1])(cells, bins);
}

void ShareColumns::set_level(const Pyramid::Level& level, const TimeAxis& axis) {
  any_ = true;
  windows_.set(axis, level.bin, width_);
  if (level.wide.empty()) {
    set_cells(level.narrow.data(), level.bins);
  } else {
    set_cells(level.wide.data(), level.bins);
  }
}

}  // namespace penstock
