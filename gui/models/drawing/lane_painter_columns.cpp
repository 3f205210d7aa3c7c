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

double total_bytes(const MemorySteps& steps, std::size_t step, std::size_t kinds) {
  double sum = 0;
  for (std::size_t k = 0; k < kinds; ++k) sum += static_cast<double>(steps.bytes[step * kinds + k]);
  return sum;
}

}  // namespace

void LanePainter::draw_memory(const LaneRow& row, const PaintedRun& run, const Strip& strip) {
  pixels_.fill(0, strip.top, pixels_.width, strip.top + strip.height, lane_colour());
  if (run.memory == nullptr || row.rank >= run.memory->ranks.size()) return;
  const RunMemory& memory = *run.memory;
  const MemorySteps& steps = memory.ranks[row.rank];
  const std::size_t kinds = memory.kinds.size();
  const double capacity = static_cast<double>(run.run->capacity_bytes.value_or(0));
  const double top = bytes_at_top(static_cast<double>(memory.most), capacity);
  const double scale = (strip.height - 1) / top;
  const auto after = std::upper_bound(steps.time.begin(), steps.time.end(), scene_->axis.origin);
  auto step = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, after - steps.time.begin() - 1));
  const std::int64_t span = run.lanes->span;
  for (int x = 0; x < pixels_.width; ++x) {
    const std::int64_t until = scene_->axis.time_at(x + 1);
    if (until <= 0) continue;
    if (scene_->axis.time_at(x) >= span) break;
    std::size_t largest = step;
    while (step + 1 < steps.time.size() && steps.time[step + 1] < until) {
      ++step;
      if (total_bytes(steps, step, kinds) > total_bytes(steps, largest, kinds)) largest = step;
    }
    double sum = 0;
    for (std::size_t k = 0; k < kinds; ++k) {
      const int low = static_cast<int>(std::lround(sum * scale));
      sum += static_cast<double>(steps.bytes[largest * kinds + k]);
      const int high = static_cast<int>(std::lround(sum * scale));
      const int bottom = strip.top + strip.height;
      pixels_.fill(x, bottom - high, x + 1, bottom - low, muted(series_colour(k), strip));
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
