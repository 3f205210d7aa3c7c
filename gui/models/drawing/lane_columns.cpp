// The strips that are drawn column by column: memory, differences, heat.

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
  const MemoryLane& lane = memory.ranks[row.rank];
  const double capacity = static_cast<double>(run.run->capacity_bytes.value_or(0));
  const double top = bytes_at_top(static_cast<double>(memory.most), capacity);
  const double scale = (strip.height - 1) / top;
  const auto fill = [&](int x, double from, double until, Colour colour) {
    const int low = static_cast<int>(std::lround(from * scale));
    const int high = static_cast<int>(std::lround(until * scale));
    const int bottom = strip.top + strip.height;
    pixels_.fill(x, strip.flipped ? strip.top + low : bottom - high, x + 1,
                 strip.flipped ? strip.top + high : bottom - low, muted(colour, strip));
  };
  const HeldMemory* const end = lane.held.data() + lane.held.size();
  const HeldMemory* piece = lane.at({scene_->axis.origin});
  if (piece == nullptr) piece = lane.held.data();
  for (int x = 0; x < pixels_.width && piece != end; ++x) {
    const std::int64_t until = scene_->axis.time_at(x + 1);
    if (until <= 0) continue;
    if (scene_->axis.time_at(x) >= run.lanes->span) break;
    const HeldMemory* largest = piece;
    while (piece + 1 != end && piece[1].begin.picoseconds < until) {
      if ((++piece)->bytes > largest->bytes) largest = piece;
    }
    if (memory.kinds.empty()) {
      fill(x, 0, static_cast<double>(largest->bytes), memory_colour(BufferKind::stash));
    }
    double sum = 0;
    for (const BufferKind kind : memory.kinds) {
      const double below = sum;
      sum += static_cast<double>(largest->by_kind[static_cast<std::size_t>(kind)]);
      fill(x, below, sum, memory_colour(kind));
    }
    ++counts_.boxes;
  }
  if (capacity > 0 && capacity <= top) {
    const int high = static_cast<int>(std::lround(capacity * scale));
    const int y = strip.flipped ? strip.top + high : strip.top + strip.height - 1 - high;
    pixels_.fill(0, y, pixels_.width, y + 1, packed(peak_colour));
  }
}

/// Over the ops of A, by how much another run differs.
void LanePainter::draw_differences(const LaneRow& row, const PaintedRun& run, const Strip& strip) {
  pixels_.fill(0, strip.top, pixels_.width, strip.top + strip.height, lane_colour());
  const std::vector<RankTracks>& ranks = scene_->runs[scene_->baseline()]->lanes->ranks;
  if (run.against_a == nullptr || row.rank >= ranks.size()) return;
  const TimeAxis& axis = scene_->axis;
  std::fill(extremes_.begin(), extremes_.end(), 0.0F);
  const std::int64_t end = axis.time_at(pixels_.width);
  for (const Track& track : ranks[row.rank].compute) {
    for (std::size_t i = track.first_ending_after(axis.origin); i < track.size(); ++i) {
      if (track.begin_at(i) >= end) break;
      const auto difference = static_cast<float>(run.against_a->differences[track.tag[i]]);
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

void LanePainter::Heat::add(std::size_t x, float more, Colour colour) {
  share[x] += more;
  red[x] += more * static_cast<float>(colour.red);
  green[x] += more * static_cast<float>(colour.green);
  blue[x] += more * static_cast<float>(colour.blue);
}

void LanePainter::Heat::add(const float* more, Colour colour) {
  for (std::size_t x = 0; x < share.size(); ++x) add(x, more[x], colour);
}

/// Idle time by share and cause.
void LanePainter::find_heat(const Track& idle, const Pyramid& pyramid) {
  const TimeAxis& axis = scene_->axis;
  for (std::vector<float>* columns : {&heat_.share, &heat_.red, &heat_.green, &heat_.blue}) {
    std::fill(columns->begin(), columns->end(), 0.0F);
  }
  idle_.start(pyramid);
  if (const auto* level = pyramid.level_for(axis.picoseconds_per_pixel)) {
    idle_.set_level(*level, axis);
  } else {
    idle.for_each_between(axis.origin, axis.time_at(pixels_.width),
                          [&](std::int64_t begin, std::int64_t end, std::uint32_t tag) {
                            const std::uint8_t row = pyramid.row_of(idle_category(tag));
                            if (row == Pyramid::left_out) return;
                            idle_.add(axis.x_of(begin), axis.x_of(end), row);
                          });
  }
  for (std::size_t row = 0; row < idle_.rows(); ++row) {
    heat_.add(idle_.shares(row), scene_->theme->heat[pyramid.categories()[row]]);
  }
}

void LanePainter::add_heat_of_ends(const Track& idle) {
  for_each_end(idle, [&](std::int64_t begin, std::int64_t end, std::uint32_t tag) {
    const double from = scene_->axis.x_of(begin);
    const double to = scene_->axis.x_of(end);
    const Colour colour = scene_->theme->heat[static_cast<std::size_t>(cause_of(tag))];
    const int last = std::min(pixels_.width, static_cast<int>(std::ceil(std::min(to, 1e6))));
    for (int x = std::max(0, static_cast<int>(std::max(from, 0.0))); x < last; ++x) {
      const double part = std::min(to, x + 1.0) - std::max(from, static_cast<double>(x));
      heat_.add(static_cast<std::size_t>(x), static_cast<float>(part), colour);
    }
  });
}

void LanePainter::draw_heat(const LaneRow& row, const PaintedRun& run, const Strip& strip) {
  const Track& idle = run.lanes->ranks[row.rank].idle;
  find_heat(idle, run.pyramids[row.rank].idle);
  add_heat_of_ends(idle);
  const int first = std::clamp(strip.top, 0, pixels_.height);
  const int end = std::clamp(strip.top + strip.height, first, pixels_.height);
  if (first == end) return;
  std::uint32_t* const line = pixels_.row(first);
  const double last = scene_->axis.x_of(run.lanes->span);
  for (int x = 0; x < pixels_.width; ++x) {
    const auto at = static_cast<std::size_t>(x);
    const bool in_run = x + 1 > scene_->axis.x_of(0) && x < last;
    const float share = heat_.share[at];
    const auto channel = [&](float sum) {
      return static_cast<std::uint8_t>(std::lround(sum / share));
    };
    const Colour cold = in_run ? scene_->theme->lane : scene_->theme->ground;
    line[x] = share <= 0 ? packed(cold)
                         : muted(heat_shade(cold,
                                            {channel(heat_.red[at]), channel(heat_.green[at]),
                                             channel(heat_.blue[at])},
                                            share),
                                 strip);
  }
  for (int y = first + 1; y < end; ++y) std::copy(line, line + pixels_.width, pixels_.row(y));
  counts_.boxes += static_cast<std::uint64_t>(pixels_.width);
}

}  // namespace penstock
