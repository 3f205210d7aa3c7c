#include "gui/models/drawing/idle_shares.hpp"

#include <algorithm>

namespace penstock {
namespace {

using Shares = std::vector<std::array<float, idle_cause_count>>;

/// Adds stretches of idle time to columns.
class ShareAdder {
 public:
  ShareAdder(const PaintedRun& run, Shares& shares)
      : shares_(shares),
        per_picosecond_(static_cast<double>(shares.size()) /
                        static_cast<double>(std::max<std::int64_t>(1, run.lanes->span))),
        per_rank_(1 / static_cast<double>(run.lanes->ranks.size())) {}

  void add(std::int64_t begin, std::int64_t length, std::size_t cause) {
    const double from = static_cast<double>(begin) * per_picosecond_;
    const double to = from + static_cast<double>(length) * per_picosecond_;
    const auto first = static_cast<std::size_t>(from);
    if (first < shares_.size() && to <= static_cast<double>(first + 1)) {
      shares_[first][cause] += static_cast<float>((to - from) * per_rank_);
      return;
    }
    for (std::size_t x = first; x < shares_.size(); ++x) {
      const auto left = static_cast<double>(x);
      if (left >= to) return;
      const double part = std::min(to, left + 1) - std::max(from, left);
      shares_[x][cause] += static_cast<float>(part * per_rank_);
    }
  }
  double picoseconds_per_column() const { return 1 / per_picosecond_; }

 private:
  Shares& shares_;
  double per_picosecond_;
  double per_rank_;
};

/// The time of a bin may lie anywhere in it: it is put at its begin.
void add_level(const Pyramid& pyramid, const Pyramid::Level& level, ShareAdder& adder) {
  const std::size_t rows = pyramid.categories().size();
  for (std::size_t bin = 0; bin < level.bins; ++bin) {
    for (std::size_t row = 0; row < rows; ++row) {
      const std::int64_t idle = level.busy(bin * rows + row);
      if (idle == 0) continue;
      adder.add(level.bin * static_cast<std::int64_t>(bin), idle, pyramid.categories()[row]);
    }
  }
}

/// Waiting at the ends of a rank is in no pyramid.
void add_ends(const Track& idle, ShareAdder& adder) {
  for (std::size_t piece = 0; piece < idle.size();
       piece += std::max<std::size_t>(1, idle.size() - 1)) {
    if (idle_category(idle.tag[piece]) != Pyramid::left_out) continue;
    const std::int64_t begin = idle.begin_at(piece);
    adder.add(begin, idle.end_at(piece) - begin,
              static_cast<std::size_t>(cause_of(idle.tag[piece])));
  }
}

}  // namespace

Shares idle_over_time(const PaintedRun& run, int columns) {
  Shares shares(static_cast<std::size_t>(columns));
  ShareAdder adder(run, shares);
  for (std::size_t r = 0; r < run.pyramids.size(); ++r) {
    const Pyramid& pyramid = run.pyramids[r].idle;
    const Track& idle = run.lanes->ranks[r].idle;
    if (const auto* level = pyramid.level_for(adder.picoseconds_per_column())) {
      add_level(pyramid, *level, adder);
      add_ends(idle, adder);
      continue;
    }
    idle.for_each([&](std::int64_t begin, std::int64_t end, std::uint32_t tag) {
      adder.add(begin, end - begin, static_cast<std::size_t>(cause_of(tag)));
    });
  }
  return shares;
}

}  // namespace penstock
