// Which ranks a scene shows, how high their lanes are, and where to scroll to see some of them.

#include <QFontMetrics>
#include <algorithm>
#include <cmath>

#include "gui/views/canvas/canvas_scene.hpp"

namespace penstock {
namespace {

constexpr double wide_op = 24;         // pixels from one op to the next, in the mean
constexpr double crowded = 0.25;       // the same: stacked shares look like stripes
constexpr double lowest_crowded = 12;  // lanes in which ops can be distinguished
constexpr double highest_alone = 72;   // of a rank that is fitted alone
constexpr double below_the_last = 8;   // room

}  // namespace

int CanvasScene::readable_height() const {
  const int high = QFontMetrics(widget_.font()).height() + 3;
  return static_cast<int>(std::lround(high * widget_.devicePixelRatioF()));
}

double CanvasScene::pixels_per_op(const CanvasView& seen) const {
  const RunLanes& lanes = *first_->lanes;
  const double of_rank = static_cast<double>(lanes.ops) / static_cast<double>(lanes.ranks.size());
  const double apart = static_cast<double>(lanes.span) / std::max(1.0, of_rank);
  return apart / seen.axis.picoseconds_per_pixel;
}

LaneChoice CanvasScene::choice_in(const CanvasView& seen) const {
  LaneChoice choice = choice_;
  if (seen.lane_height == 0) choice.room = room_for_lanes();
  if (first_ == nullptr || choice.stripes || pixels_per_op(seen) > crowded) return choice;
  const double ratio = widget_.devicePixelRatioF();
  const double given = seen.lane_height * ratio;
  const double high =
      given > 0 ? given : fitting_lane_height(choice, shown_ranks(choice).size(), room_for_lanes());
  choice.heat = choice.heat || high < lowest_crowded * ratio;
  return choice;
}

int CanvasScene::room_for_lanes() const {
  return static_cast<int>((widget_.height() - header - 4) * widget_.devicePixelRatioF());
}

bool CanvasScene::has_wide_ops(const CanvasView& seen) const {
  if (first_ == nullptr || choice_.heat) return false;
  const RunLanes& lanes = *first_->lanes;
  const double seen_time = (widget_.width() - gutter) * seen.axis.picoseconds_per_pixel;
  return 2 * seen_time <= static_cast<double>(lanes.span) && pixels_per_op(seen) >= wide_op;
}

int CanvasScene::lane_height(const CanvasView& seen) const {
  const double ratio = widget_.devicePixelRatioF();
  if (seen.lane_height > 0) {
    return std::max(1, static_cast<int>(std::lround(seen.lane_height * ratio)));
  }
  const LaneChoice choice = choice_in(seen);
  const int fitting = fitting_lane_height(choice, shown_ranks(choice).size(), room_for_lanes());
  return has_wide_ops(seen) ? std::max(fitting, readable_height()) : fitting;
}

bool CanvasScene::wheel_scrolls() const {
  if (content_height() <= widget_.height() - header) return false;
  return view().lane_height > 0 || !has_wide_ops(view());
}

double CanvasScene::height_showing(const Area& area) const {
  const std::vector<std::uint32_t> shown = shown_ranks(choice_);
  const auto ranks = static_cast<std::size_t>(std::count_if(
      shown.begin(), shown.end(), [&](std::uint32_t rank) { return area.has(rank); }));
  if (ranks == shown.size()) return 0;
  const double ratio = widget_.devicePixelRatioF();
  const double fitting =
      fitting_lane_height(choice_, std::max<std::size_t>(1, ranks), room_for_lanes()) / ratio;
  return ranks > 1 ? fitting : std::min(fitting, highest_alone);
}

double CanvasScene::top_showing(const CanvasView& next, const Area& area) const {
  const double ratio = widget_.devicePixelRatioF();
  const std::vector<LaneRow> rows = lane_rows(choice_in(next), lane_height(next));
  double first = -1;
  double end = 0;
  for (const LaneRow& row : rows) {
    if (row.kind == LaneKind::link || row.pinned || !area.has(row.rank)) continue;
    if (first < 0) first = row.top / ratio;
    end = std::max(end, (row.top + row.height) / ratio);
  }
  const double kept = pinned_height(rows) / ratio;
  const double room = widget_.height() - header;
  const double most = std::max(0.0, height_of(rows) / ratio - room + below_the_last);
  if (first < 0) return std::clamp(next.top, 0.0, most);
  if (first - next.top >= kept && end - next.top <= room) return std::clamp(next.top, 0.0, most);
  const bool fits = end - first <= room - kept;
  const double top = fits ? (first + end - kept - room) / 2 : first - kept;
  return std::clamp(top, 0.0, most);
}

QRectF CanvasScene::overview_place() const {
  if (first_ == nullptr || content_height() <= widget_.height() - header) return {};
  return {static_cast<double>(widget_.width() - overview), static_cast<double>(header),
          static_cast<double>(overview), static_cast<double>(widget_.height() - header)};
}

std::uint32_t CanvasScene::rank_beside(std::uint32_t rank, bool below) const {
  const std::vector<std::uint32_t> shown = shown_ranks(choice_);
  const auto at = std::find(shown.begin(), shown.end(), rank);
  if (at == shown.end()) return shown.empty() ? rank : shown.front();
  if (below) return at + 1 == shown.end() ? rank : *(at + 1);
  return at == shown.begin() ? rank : *(at - 1);
}

Area CanvasScene::ranks_between(double top, double bottom) const {
  const std::vector<std::uint32_t> shown = shown_ranks(choice_);
  const auto place = [&](double y) { return std::find(shown.begin(), shown.end(), rank_at(y)); };
  Area area{.end_rank = choice_.ranks};
  if (shown.empty() || (top < header && shown.size() == choice_.ranks)) return area;
  auto from = top < header ? shown.begin() : place(std::min(top, bottom));
  auto to = top < header ? shown.end() - 1 : place(std::max(top, bottom));
  if (to < from) std::swap(from, to);
  std::vector<std::uint32_t> ranks(from, to + 1);
  std::sort(ranks.begin(), ranks.end());
  area.first_rank = ranks.front();
  area.end_rank = ranks.back() + 1;
  if (area.end_rank - area.first_rank != ranks.size()) area.among = std::move(ranks);
  return area;
}

}  // namespace penstock
