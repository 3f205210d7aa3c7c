#include "gui/models/strips/strip_lines.hpp"

#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

namespace penstock {
namespace {

void add_up(const ShareColumns& shares, std::vector<float>& sums) {
  std::fill(sums.begin(), sums.end(), 0.0F);
  for (std::size_t row = 0; row < shares.rows(); ++row) {
    const float* const own = shares.shares(row);
    for (std::size_t x = 0; x < sums.size(); ++x) sums[x] += own[x];
  }
}

/// Pixels of columns with these busy shares.
PENSTOCK_WIDE_VECTORS void find_tall(const float* used, int height, std::size_t columns,
                                     int* tall) {
  const auto high = static_cast<float>(height);
  for (std::size_t x = 0; x < columns; ++x) {
    const int share = std::min(height, static_cast<int>(used[x] * high + 0.5F));
    tall[x] = std::max(share, static_cast<int>(used[x] > 0));
  }
}

/// The columns of a colour: where it begins and may end at most, and what is below it.
struct Stacked {
  const float* own;
  const float* scale;
  float* sum;
  const int* from;  // nullptr: 0
  const int* most;  // nullptr: `height`
  int height;
};

/// Up to where a colour reaches; the lowest and the highest.
PENSTOCK_WIDE_VECTORS std::pair<int, int> find_until(const Stacked& stack, std::size_t left,
                                                     std::size_t right, int* until) {
  int highest = 0;
  int lowest = stack.height;
  for (std::size_t x = left; x < right; ++x) {
    stack.sum[x] += stack.own[x];
    const int from = stack.from == nullptr ? 0 : stack.from[x];
    const int most = stack.most == nullptr ? stack.height : stack.most[x];
    until[x] = std::min(most, from + static_cast<int>(stack.sum[x] * stack.scale[x] + 0.5F));
    highest = std::max(highest, until[x]);
    lowest = std::min(lowest, until[x]);
  }
  return {lowest, highest};
}

/// Colours the columns of a row that reach above a height.
PENSTOCK_WIDE_VECTORS void put_above(int height, const int* until, std::uint32_t colour,
                                     std::size_t left, std::size_t right, std::uint32_t* row) {
  for (std::size_t x = left; x < right; ++x) row[x] = height < until[x] ? colour : row[x];
}

}  // namespace

void StripLines::resize(int width) {
  const auto columns = static_cast<std::size_t>(width);
  if (ground_.size() == columns) return;
  ground_.resize(columns);
  lines_.resize(columns);
  for (auto* row : {&used_, &unused_, &scale_, &sum_}) row->resize(columns);
  tall_.resize(columns);
  columns_.reserve(columns);
  hatched_.reserve(columns);
  reaches_.resize(2 * most_categories);
  for (Reach& reach : reaches_) reach.until.resize(columns);
}

void StripLines::start(std::uint32_t colour) {
  std::fill(ground_.begin(), ground_.end(), colour);
  std::fill(lines_.begin(), lines_.end(), colour);
  hatched_.clear();
}

void StripLines::fill(int left, int right, std::uint32_t colour) {
  left = std::max(left, 0);
  right = std::min(right, static_cast<int>(ground_.size()));
  if (right <= left) return;
  std::fill(ground_.begin() + left, ground_.begin() + right, colour);
  std::fill(lines_.begin() + left, lines_.begin() + right, colour);
}

void StripLines::hatch(int left, int right, std::uint32_t ground, std::uint32_t line, Hatch hatch) {
  left = std::max(left, 0);
  right = std::min(right, static_cast<int>(ground_.size()));
  if (right <= left) return;
  std::fill(ground_.begin() + left, ground_.begin() + right, ground);
  std::fill(lines_.begin() + left, lines_.begin() + right, line);
  hatched_.push_back({left, right, hatch});
}

/// Between two columns. After as many rows as a hatch has, rows repeat.
void StripLines::draw_boxes(const Strip& strip, const Pixels& pixels, int left, int right) const {
  if (right <= left) return;
  const int first = std::max(strip.top, 0);
  const int end = std::min(strip.top + strip.height, pixels.height);
  const std::size_t bytes = static_cast<std::size_t>(right - left) * sizeof(std::uint32_t);
  for (int y = first; y < end; ++y) {
    std::uint32_t* const row = pixels.row(y);
    if (y >= first + hatch_pixels) {
      std::memcpy(row + left, pixels.row(y - hatch_pixels) + left, bytes);
      continue;
    }
    std::memcpy(row + left, ground_.data() + left, bytes);
    for (const Hatched& piece : hatched_) {
      put_lines(piece, y, std::max(left, piece.left), std::min(right, piece.right), row);
    }
  }
}

void StripLines::put_lines(const Hatched& piece, int y, int left, int right,
                           std::uint32_t* row) const {
  const unsigned bits = hatch_row(piece.hatch, y);
  for (int bit = 0; bit < hatch_pixels; ++bit) {
    if ((bits >> bit & 1) == 0) continue;
    const int behind = (left - bit + hatch_pixels) % hatch_pixels;
    for (int x = left + (hatch_pixels - behind) % hatch_pixels; x < right; x += hatch_pixels) {
      row[x] = lines_[static_cast<std::size_t>(x)];
    }
  }
}

void StripLines::find_heights(const ShareColumns& busy, const ShareColumns& idle, int height) {
  add_up(busy, used_);
  add_up(idle, unused_);
  find_tall(used_.data(), height, tall_.size(), tall_.data());
  left_ = 0;
  right_ = tall_.size();
  while (left_ < right_ && used_[left_] + unused_[left_] == 0) ++left_;
  while (right_ > left_ && used_[right_ - 1] + unused_[right_ - 1] == 0) --right_;
  columns_.clear();
  for (std::size_t x = left_; x < right_; ++x) {
    if (used_[x] + unused_[x] > 0) columns_.push_back(static_cast<std::uint32_t>(x));
  }
}

void StripLines::find_reaches(const ShareColumns& shares, bool above, int height) {
  const std::vector<float>& all = above ? unused_ : used_;
  constexpr float least = 1e-30F;  // there is nothing to divide where all is zero
  for (std::size_t x = left_; x < right_; ++x) {
    const int room = above ? height - tall_[x] : tall_[x];
    scale_[x] = static_cast<float>(room) / std::max(all[x], least);
    sum_[x] = 0;
  }
  for (std::size_t row = 0; row < shares.rows(); ++row) {
    Reach& reach = reaches_[count_];
    reach.colour = shares.colour(row);
    const Stacked stack{shares.shares(row),
                        scale_.data(),
                        sum_.data(),
                        above ? tall_.data() : nullptr,
                        above ? nullptr : tall_.data(),
                        height};
    std::tie(reach.lowest, reach.highest) = find_until(stack, left_, right_, reach.until.data());
    if (!is_hidden(reach)) ++count_;
  }
}

/// Whether a colour ends everywhere where the one before it does.
bool StripLines::is_hidden(const Reach& reach) const {
  if (count_ == 0) return reach.highest == 0;
  const auto from = reach.until.begin() + static_cast<std::ptrdiff_t>(left_);
  const auto end = reach.until.begin() + static_cast<std::ptrdiff_t>(right_);
  const auto before = reaches_[count_ - 1].until.begin() + static_cast<std::ptrdiff_t>(left_);
  return std::equal(from, end, before);
}

/// The pixels of all columns at a height above where shares stand.
void StripLines::put_row(int height, std::uint32_t* row) const {
  // Each colour reaches at least as far as those before it: the first one that is everywhere in
  // this row covers all behind it, and those before it go over it.
  std::size_t ground = 0;
  while (ground < count_ && reaches_[ground].lowest <= height) ++ground;
  if (ground < count_) std::fill(row + left_, row + right_, reaches_[ground].colour);
  for (std::size_t r = ground; r-- > 0;) {
    const Reach& reach = reaches_[r];
    if (height >= reach.highest) return;
    put_above(height, reach.until.data(), reach.colour, left_, right_, row);
  }
}

/// The same where only few columns have anything.
void StripLines::put_sparse_row(int height, std::uint32_t* row) const {
  for (std::size_t r = count_; r-- > 0;) {
    const Reach& reach = reaches_[r];
    if (height >= reach.highest) continue;
    for (const std::uint32_t x : columns_) {
      if (height < reach.until[x]) row[x] = reach.colour;
    }
  }
}

void StripLines::put_shares(const Strip& strip, const Pixels& pixels) const {
  const bool sparse = columns_.size() * 4 < right_ - left_;
  for (int y = 0; y < strip.height; ++y) {
    const int at = strip.flipped ? strip.top + y : strip.top + strip.height - 1 - y;
    if (at < 0 || at >= pixels.height) continue;
    if (sparse) {
      put_sparse_row(y, pixels.row(at));
    } else {
      put_row(y, pixels.row(at));
    }
  }
}

std::uint64_t StripLines::draw(const ShareColumns& busy, const ShareColumns& idle,
                               const Strip& strip, const Pixels& pixels) {
  const auto width = static_cast<int>(ground_.size());
  if (!busy.any() && !idle.any()) {
    draw_boxes(strip, pixels, 0, width);
    return 0;
  }
  count_ = 0;
  find_heights(busy, idle, strip.height);
  find_reaches(busy, false, strip.height);
  find_reaches(idle, true, strip.height);
  const bool covered = count_ > 0 && reaches_[count_ - 1].lowest == strip.height;
  if (covered) {
    draw_boxes(strip, pixels, 0, static_cast<int>(left_));
    draw_boxes(strip, pixels, static_cast<int>(right_), width);
  } else {
    draw_boxes(strip, pixels, 0, width);
  }
  put_shares(strip, pixels);
  return columns_.size();
}

void ColumnWindows::set(const TimeAxis& axis, const Pyramid::Level& level, int width) {
  const auto columns = static_cast<std::size_t>(width);
  const std::int64_t bin = level.bin;
  if (axis == axis_ && bin == bin_ && level.unit == unit_ && first_.size() == columns) return;
  axis_ = axis;
  bin_ = bin;
  unit_ = level.unit;
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
    const std::int64_t to = std::max(until, from + 1);  // of bins wider than a pixel, one
    first_[x] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(from, 0, last));
    end_[x] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(to, 0, last));
    scale_[x] =
        static_cast<float>(unit_) / (static_cast<float>(bin) * static_cast<float>(to - from));
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
  windows_.set(axis, level, width_);
  if (level.wide.empty()) {
    set_cells(level.narrow.data(), level.bins);
  } else {
    set_cells(level.wide.data(), level.bins);
  }
}

}  // namespace penstock
