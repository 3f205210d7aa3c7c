#include <algorithm>
#include <cmath>

#include "experiments/show/pictures/palette.hpp"
#include "gui/models/drawing/lane_painter.hpp"

namespace penstock {
namespace {

/// The bytes at the top of the strip: those of the capacity if they are not far above the most.
double bytes_at_top(double most, double capacity) {
  return capacity > 0 && capacity < 2 * most ? std::max(most, capacity) : most;
}

}  // namespace

void LanePainter::draw_memory(const LaneRow& row, const PaintedRun& run, const Strip& strip) {
  pixels_.fill(0, strip.top, pixels_.width, strip.top + strip.height, lane_colour());
  if (run.memory == nullptr || row.rank >= run.memory->ranks.size()) return;
  const RunMemory& memory = *run.memory;
  const std::vector<HeldMemory>& held = memory.ranks[row.rank].held;
  const double capacity = static_cast<double>(run.run->capacity_bytes.value_or(0));
  const double top = bytes_at_top(static_cast<double>(memory.most), capacity);
  const double scale = (strip.height - 1) / top;
  const auto fill = [&](int x, double from, double until, Colour colour) {
    const int bottom = strip.top + strip.height;
    pixels_.fill(x, bottom - static_cast<int>(std::lround(until * scale)), x + 1,
                 bottom - static_cast<int>(std::lround(from * scale)), muted(colour, strip));
  };
  auto piece = std::upper_bound(
      held.begin(), held.end(), scene_->axis.origin,
      [](std::int64_t time, const HeldMemory& each) { return time < each.begin.picoseconds; });
  if (piece != held.begin()) --piece;
  for (int x = 0; x < pixels_.width && piece != held.end(); ++x) {
    const std::int64_t until = scene_->axis.time_at(x + 1);
    if (until <= 0) continue;
    if (scene_->axis.time_at(x) >= run.lanes->span) break;
    auto largest = piece;
    while (piece + 1 != held.end() && piece[1].begin.picoseconds < until) {
      if ((++piece)->bytes > largest->bytes) largest = piece;
    }
    if (memory.kinds.empty()) fill(x, 0, static_cast<double>(largest->bytes), series_colour(0));
    double sum = 0;
    for (const BufferKind kind : memory.kinds) {
      const double below = sum;
      sum += static_cast<double>(largest->by_kind[static_cast<std::size_t>(kind)]);
      fill(x, below, sum, memory_colour(kind));
    }
    ++counts_.boxes;
  }
  if (capacity > 0 && capacity <= top) {
    const int y = strip.top + strip.height - 1 - static_cast<int>(std::lround(capacity * scale));
    pixels_.fill(0, y, pixels_.width, y + 1, packed(peak_colour));
  }
}

/// Over the ops of A, by how much another run differs.
void LanePainter::draw_differences(const LaneRow& row, const PaintedRun& run, const Strip& strip) {
  pixels_.fill(0, strip.top, pixels_.width, strip.top + strip.height, lane_colour());
  const std::vector<RankTracks>& ranks = scene_->runs[scene_->baseline()]->lanes->ranks;
  if (run.differences.empty() || row.rank >= ranks.size()) return;
  const TimeAxis& axis = scene_->axis;
  std::fill(extremes_.begin(), extremes_.end(), 0.0F);
  const std::int64_t end = axis.time_at(pixels_.width);
  for (const Track& track : ranks[row.rank].compute) {
    for (std::size_t i = track.first_ending_after(axis.origin); i < track.size(); ++i) {
      if (track.begin_at(i) >= end) break;
      const auto difference = static_cast<float>(run.differences[track.tag[i]]);
      const int left = std::max(0, static_cast<int>(axis.x_of(track.begin_at(i))));
      const int right = static_cast<int>(std::ceil(axis.x_of(track.end_at(i))));
      for (int x = left; x < std::min(pixels_.width, std::max(right, left + 1)); ++x) {
        float& extreme = extremes_[static_cast<std::size_t>(x)];
        if (std::fabs(difference) > std::fabs(extreme)) extreme = difference;
      }
    }
  }
  for (int x = 0; x < pixels_.width; ++x) {
    const double difference = extremes_[static_cast<std::size_t>(x)];
    if (difference == 0) continue;
    const double share = 0.25 + 0.75 * std::min(1.0, std::fabs(difference));
    pixels_.fill(
        x, strip.top, x + 1, strip.top + strip.height,
        packed(mix(scene_->theme->lane, difference > 0 ? later_colour : earlier_colour, share)));
    ++counts_.boxes;
  }
}

}  // namespace penstock
