#include "experiments/show/pictures/lanes/merge_short.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace penstock {
namespace {

/// Short cells that are drawn as one band.
class Band {
 public:
  bool empty() const { return areas_.empty(); }
  void add(const Cell& cell);
  /// Whether a visible gap separates the band from `cell`.
  bool apart_from(const Cell& cell, Time shortest) const { return cell.begin - end_ >= shortest; }
  /// Whether the band can end before `cell`: it is long enough and contains whole periods of a
  /// repeating pattern, so that bands of a steady state have equal shares.
  bool complete_before(const Cell& cell, Time shortest, int least) const;
  /// Includes the gap up to the next band.
  void extend_to(Time end) { end_ = end; }
  /// Extends this band by an adjacent one that looks the same.
  bool join(const Band& next);
  void draw(Lane& lane) const;

 private:
  double length() const { return static_cast<double>((end_ - begin_).picoseconds); }
  double share(CellKind kind) const;
  double& area(CellKind kind);

  Time begin_{};
  Time end_{};
  Cell first_{};
  bool alone_ = true;                               // contains only `first_`
  std::vector<std::pair<CellKind, double>> areas_;  // by kind, in picoseconds at full lane height
};

double& Band::area(CellKind kind) {
  const auto at = std::lower_bound(areas_.begin(), areas_.end(), kind,
                                   [](const auto& entry, CellKind k) { return entry.first < k; });
  if (at != areas_.end() && at->first == kind) return at->second;
  return areas_.insert(at, {kind, 0.0})->second;
}

double Band::share(CellKind kind) const {
  for (const auto& [other, area] : areas_) {
    if (other == kind) return area / length();
  }
  return 0;
}

void Band::add(const Cell& cell) {
  alone_ = empty();
  if (alone_) first_ = cell;
  begin_ = first_.begin;
  end_ = alone_ ? cell.end : std::max(end_, cell.end);
  area(cell.kind) +=
      static_cast<double>((cell.end - cell.begin).picoseconds) * (cell.bottom - cell.top);
}

bool Band::complete_before(const Cell& cell, Time shortest, int least) const {
  if (cell.begin < end_) return false;
  const std::int64_t times = (end_ - begin_).picoseconds / shortest.picoseconds;
  return times >= std::max(2 * least, 4) || (times >= least && cell.kind == first_.kind);
}

bool Band::join(const Band& next) {
  constexpr double unseen = 0.02;  // fraction of the lane height
  if (empty() || next.begin_ != end_) return false;
  for (const auto& [kind, area] : areas_) {
    if (std::abs(share(kind) - next.share(kind)) > unseen) return false;
  }
  for (const auto& [kind, area] : next.areas_) {
    if (std::abs(share(kind) - next.share(kind)) > unseen) return false;
  }
  for (const auto& [kind, more] : next.areas_) area(kind) += more;
  end_ = next.end_;
  alone_ = false;
  return true;
}

void Band::draw(Lane& lane) const {
  if (alone_ && !empty()) return lane.push_back(first_);
  double bottom = 1;
  for (const auto& [kind, area] : areas_) {
    const double top = std::max(0.0, bottom - area / length());
    lane.push_back({begin_, end_, kind, top, bottom, {}});
    bottom = top;
  }
}

/// Collects bands and merges equal neighbours.
class Merging {
 public:
  Merging(Time shortest, int least) : shortest_(shortest), least_(least) {}

  void add(const Cell& cell) {
    if (cell.end - cell.begin >= shortest_) {
      close_run();
      merged_.push_back(cell);
      return;
    }
    if (!band_.empty() && band_.apart_from(cell, shortest_)) close_run();
    if (!band_.empty() && band_.complete_before(cell, shortest_, least_)) {
      band_.extend_to(cell.begin);
      close_band();
    }
    band_.add(cell);
  }
  Lane finish() {
    close_run();
    return std::move(merged_);
  }

 private:
  void close_band() {
    if (band_.empty()) return;
    if (!before_.join(band_)) {
      before_.draw(merged_);
      before_ = std::move(band_);
    }
    band_ = {};
  }
  void close_run() {
    close_band();
    before_.draw(merged_);
    before_ = {};
  }

  Time shortest_;
  int least_;
  Lane merged_;
  Band before_;  // the last complete band, which may still grow
  Band band_;
};

}  // namespace

Lane merge_short(const Lane& lane, Time shortest, int least) {
  Merging merging(shortest, least);
  for (const Cell& cell : lane) merging.add(cell);
  return merging.finish();
}

}  // namespace penstock
