#include "sim/timeline/timeline_overview.hpp"

#include <algorithm>
#include <bit>

namespace penstock {
namespace {

// With 64 ranks a bin is about a pixel wide at the zoom from which parts of a run are read.
constexpr std::size_t most_cells = std::size_t{1} << 22;

}  // namespace

/// Fewer for what is seen in low strips.
std::size_t most_bins(std::uint32_t ranks, OverviewKind kind) {
  constexpr std::array<std::size_t, 4> shares{1, 4, 4, 1};
  const std::size_t all = std::bit_floor(std::max<std::size_t>(most_cells / ranks, 1024));
  return std::min<std::size_t>(all, 65536) / shares[static_cast<std::size_t>(kind)];
}

std::vector<std::int64_t>& OverviewLaneMaker::row_of(std::uint8_t category) {
  for (Row& row : rows_) {
    if (row.category == category) return row.busy;
  }
  rows_.push_back({category, {}});
  return rows_.back().busy;
}

void OverviewLaneMaker::widen() {
  bin_ *= 2;
  for (Row& row : rows_) {
    for (std::size_t bin = 0; 2 * bin < row.busy.size(); ++bin) {
      const bool both = 2 * bin + 1 < row.busy.size();
      row.busy[bin] = row.busy[2 * bin] + (both ? row.busy[2 * bin + 1] : 0);
    }
    row.busy.resize((row.busy.size() + 1) / 2);
  }
}

void OverviewLaneMaker::add(Time begin, Time end, std::uint8_t category) {
  if (end <= begin) return;
  ++count_;
  end_ = std::max(end_, end.picoseconds);
  while ((end.picoseconds - 1) / bin_ >= static_cast<std::int64_t>(most_bins_)) widen();
  std::vector<std::int64_t>& busy = row_of(category);
  const auto last = static_cast<std::size_t>((end.picoseconds - 1) / bin_);
  if (busy.size() <= last) busy.resize(last + 1);
  std::int64_t at = begin.picoseconds;
  for (auto bin = static_cast<std::size_t>(at / bin_); bin <= last; ++bin) {
    const std::int64_t until = std::min(end.picoseconds, static_cast<std::int64_t>(bin + 1) * bin_);
    busy[bin] += until - at;
    at = until;
  }
}

OverviewLane OverviewLaneMaker::take(std::uint32_t rank, OverviewKind kind) {
  while (end_ / bin_ > static_cast<std::int64_t>(count_)) widen();
  OverviewLane lane{.rank = rank, .kind = kind, .bin = bin_, .categories = {}, .cells = {}};
  while (bin_ / lane.unit > UINT32_MAX) lane.unit *= 2;
  std::ranges::sort(rows_, {}, &Row::category);
  std::size_t bins = 0;
  for (const Row& row : rows_) {
    lane.categories.push_back(row.category);
    bins = std::max(bins, row.busy.size());
  }
  lane.cells.resize(bins * rows_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t bin = 0; bin < rows_[r].busy.size(); ++bin) {
      // Rounded up: whatever is there stays to be seen.
      const std::int64_t cell = (rows_[r].busy[bin] + lane.unit - 1) / lane.unit;
      lane.cells[bin * rows_.size() + r] = static_cast<std::uint32_t>(cell);
    }
    rows_[r].busy = {};
  }
  return lane;
}

}  // namespace penstock
