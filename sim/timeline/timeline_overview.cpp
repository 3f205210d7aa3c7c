#include "sim/timeline/timeline_overview.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace penstock {
namespace {

constexpr std::array kinds{OverviewKind::compute, OverviewKind::send, OverviewKind::receive,
                           OverviewKind::idle};

// With 64 ranks, so many that a bin is about a pixel where parts of a run begin to be read.
constexpr std::size_t most_cells = std::size_t{1} << 22;

/// Fewer for what is seen in low strips.
std::size_t most_bins(std::uint32_t ranks, OverviewKind kind) {
  constexpr std::array<std::size_t, 4> shares{1, 4, 4, 1};
  const std::size_t all = std::bit_floor(std::max<std::size_t>(most_cells / ranks, 1024));
  return std::min<std::size_t>(all, 65536) / shares[static_cast<std::size_t>(kind)];
}

}  // namespace

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
  std::sort(rows_.begin(), rows_.end(),
            [](const Row& a, const Row& b) { return a.category < b.category; });
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

OverviewMaker::OverviewMaker(const Plan& plan) : plan_(plan), facts_(plan.ranks) {
  for (RankFacts& facts : facts_) {
    facts[0] = -1;
    for (const OverviewKind kind : kinds) lanes_.emplace_back(most_bins(plan.ranks, kind));
  }
}

void OverviewMaker::add(std::uint32_t work, Time begin, Time end) {
  makespan_ = std::max(makespan_, end);
  const WorkClass& of = plan_.classes[work];
  const auto add_to = [&](std::uint32_t rank, OverviewKind kind) {
    lane_of(rank, kind).add(begin, end, static_cast<std::uint8_t>(of.pass));
  };
  if (plan_.is_link(of.resource)) {
    const Link& link = plan_.link(of.resource);
    if (is_rank(link.from)) add_to(index(link.from), OverviewKind::send);
    if (is_rank(link.to)) add_to(index(link.to), OverviewKind::receive);
    return;
  }
  RankFacts& facts = facts_[of.resource];
  if (facts[0] < 0) facts[0] = begin.picoseconds;
  // The second part of a fused cell runs inside the first.
  const std::int64_t from = std::max(begin.picoseconds, facts[1]);
  facts[2] += std::max<std::int64_t>(0, end.picoseconds - from);
  facts[1] = std::max(facts[1], end.picoseconds);
  ++facts[3];
  add_to(of.resource, OverviewKind::compute);
}

void OverviewMaker::add_idle(std::uint32_t rank, Time begin, Time end, std::uint8_t cause) {
  facts_[rank][std::size_t{4} + cause] += (end - begin).picoseconds;
  lane_of(rank, OverviewKind::idle).add(begin, end, cause);
}

TimelineOverview OverviewMaker::take() {
  TimelineOverview overview{.makespan = makespan_, .ranks = std::move(facts_), .lanes = {}};
  for (std::uint32_t rank = 0; rank < overview.ranks.size(); ++rank) {
    std::int64_t& start = overview.ranks[rank][0];
    start = std::max<std::int64_t>(0, start);
    for (const OverviewKind kind : kinds) {
      overview.lanes.push_back(lane_of(rank, kind).take(rank, kind));
    }
  }
  return overview;
}

}  // namespace penstock
