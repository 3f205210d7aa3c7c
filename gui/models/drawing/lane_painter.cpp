#include "gui/models/drawing/lane_painter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/pictures/palette.hpp"

namespace penstock {
namespace {

constexpr double narrow = 2;  // pixels

int nearest_pixel(double x) { return static_cast<int>(std::lround(std::clamp(x, -1e6, 1e6))); }

}  // namespace

PaintCounts LanePainter::draw(const LaneScene& scene, const Pixels& pixels) {
  scene_ = &scene;
  pixels_ = pixels;
  counts_ = {};
  extremes_.resize(static_cast<std::size_t>(pixels.width));
  for (ShareColumns* columns : {&busy_, &idle_}) columns->resize(pixels.width);
  fill_ground();
  for (const LaneRow& row : scene.rows) {
    const int top = scene.top + row.top;
    if (top < pixels.height && top + row.height > 0) draw_row(row);
  }
  return counts_;
}

/// Between the rows; each row fills its own.
void LanePainter::fill_ground() {
  const std::uint32_t ground = packed(scene_->theme->ground);
  int done = 0;
  for (const LaneRow& row : scene_->rows) {
    const int top = scene_->top + row.top;
    if (row.ghost) continue;
    pixels_.fill(0, done, pixels_.width, top, ground);
    done = std::max(done, top + (is_drawn(row) ? row.height : 0));
  }
  pixels_.fill(0, done, pixels_.width, pixels_.height, ground);
}

bool LanePainter::is_drawn(const LaneRow& row) const {
  const PaintedRun* const run = scene_->runs[row.run];
  return run != nullptr && row.rank < run->lanes->ranks.size();
}

void LanePainter::draw_row(const LaneRow& row) {
  const PaintedRun* const run = scene_->runs[row.run];
  if (!is_drawn(row)) return;
  ++counts_.rows;
  const double mute = row.ghost ? 0.45 : scene_->dimmed ? 0.8 : 0;
  const Strip strip{scene_->top + row.top, row.height, row.flipped, mute};
  pixels_.fill(0, strip.top, pixels_.width, strip.top + strip.height, packed(scene_->theme->lane));
  const RankTracks& tracks = run->lanes->ranks[row.rank];
  const RankPyramids& pyramids = run->pyramids[row.rank];
  switch (row.kind) {
    case LaneKind::compute:
      draw_compute(row, *run, strip);
      break;
    case LaneKind::send:
      draw_tracks(tracks.send, pyramids.send, *run, strip);
      break;
    case LaneKind::receive:
      draw_tracks(tracks.receive, pyramids.receive, *run, strip);
      break;
    case LaneKind::memory:
      draw_memory(row, *run, strip);
      break;
    case LaneKind::difference:
      draw_differences(row, *run, strip);
      break;
  }
  if (row.run == 0 && !scene_->bright.empty()) draw_bright(row, *run, strip);
}

std::uint32_t LanePainter::muted(Colour colour, const Strip& strip) const {
  return packed(strip.mute == 0 ? colour : mix(colour, scene_->theme->lane, strip.mute));
}

void LanePainter::draw_compute(const LaneRow& row, const PaintedRun& run, const Strip& strip) {
  const RankTracks& tracks = run.lanes->ranks[row.rank];
  const RankPyramids& pyramids = run.pyramids[row.rank];
  draw_idle(tracks.idle, pyramids.idle, strip);
  if (tracks.compute.size() == 1) {
    draw_busy(tracks.compute.front(), pyramids.compute.front(), run, strip);
  } else {
    draw_tracks(tracks.compute, pyramids.compute, run, strip);
  }
}

void LanePainter::draw_tracks(const std::vector<Track>& tracks,
                              const std::vector<Pyramid>& pyramids, const PaintedRun& run,
                              const Strip& strip) {
  const int count = static_cast<int>(tracks.size());
  for (int t = 0; t < count; ++t) {
    const int top = strip.top + strip.height * t / count;
    const int end = strip.top + strip.height * (t + 1) / count;
    idle_.forget();
    const auto at = static_cast<std::size_t>(t);
    draw_busy(tracks[at], pyramids[at], run,
              {top, std::max(1, end - top), strip.flipped, strip.mute});
  }
}

void LanePainter::draw_idle(const Track& idle, const Pyramid& pyramid, const Strip& strip) {
  const TimeAxis& axis = scene_->axis;
  idle_.start(pyramid);
  for (std::size_t row = 0; row < pyramid.categories().size(); ++row) {
    idle_.set_colour(row, muted(scene_->theme->idle[pyramid.categories()[row]], strip));
  }
  const auto* level = pyramid.level_for(axis.picoseconds_per_pixel);
  if (level != nullptr) {
    idle_.set_level(*level, axis);
    for (const std::size_t end : {std::size_t{0}, idle.size() - 1}) {
      if (idle_category(idle.tag[end]) == Pyramid::left_out) draw_idle_piece(idle, end, strip);
    }
    return;
  }
  idle_.clear();
  const std::int64_t end = axis.time_at(pixels_.width);
  for (std::size_t i = idle.first_ending_after(axis.origin); i < idle.size(); ++i) {
    if (idle.begin_at(i) >= end) break;
    const double from = axis.x_of(idle.begin_at(i));
    const double to = axis.x_of(idle.end_at(i));
    const std::uint8_t row = pyramid.row_of(idle_category(idle.tag[i]));
    if (to - from < narrow && row != Pyramid::left_out) {
      idle_.add(from, to, row);
    } else {
      draw_idle_piece(idle, i, strip);
    }
  }
}

void LanePainter::draw_idle_piece(const Track& idle, std::size_t piece, const Strip& strip) {
  const auto cause = static_cast<std::size_t>(cause_of(idle.tag[piece]));
  pixels_.hatch(nearest_pixel(scene_->axis.x_of(idle.begin_at(piece))), strip.top,
                nearest_pixel(scene_->axis.x_of(idle.end_at(piece))), strip.top + strip.height,
                muted(scene_->theme->idle[cause], strip),
                muted(scene_->theme->idle_lines[cause], strip));
  ++counts_.boxes;
}

void LanePainter::draw_busy(const Track& track, const Pyramid& pyramid, const PaintedRun& run,
                            const Strip& strip) {
  busy_.start(pyramid);
  for (std::size_t row = 0; row < pyramid.categories().size(); ++row) {
    busy_.set_colour(row, muted(run.colouring.category_colour(pyramid.categories()[row]), strip));
  }
  if (const auto* level = pyramid.level_for(scene_->axis.picoseconds_per_pixel)) {
    busy_.set_level(*level, scene_->axis);
  } else {
    busy_.clear();
    draw_boxes(track, pyramid, run, strip);
  }
  counts_.boxes += ShareColumns::draw(busy_, idle_, strip, pixels_);
}

/// Paler with more slack, palest from 3 % of the makespan on.
Colour LanePainter::colour_of(TaskId task, const PaintedRun& run) const {
  const Colour colour = run.colouring.colour(task);
  if (scene_->slack.empty() || &run != scene_->runs[0]) return colour;
  constexpr double most = 0.03;
  const double share = std::min(1.0, static_cast<double>(scene_->slack[task]) / most);
  return share == 0 ? colour : mix(colour, scene_->theme->lane, 0.3 + 0.5 * share);
}

void LanePainter::draw_boxes(const Track& track, const Pyramid& pyramid, const PaintedRun& run,
                             const Strip& strip) {
  const TimeAxis& axis = scene_->axis;
  const std::int64_t end = axis.time_at(pixels_.width);
  // A product with the inverse is several times as fast as a quotient, and near enough.
  const double pixels_per_picosecond = 1 / axis.picoseconds_per_pixel;
  const auto x_of = [&](std::int64_t time) {
    return static_cast<double>(time - axis.origin) * pixels_per_picosecond;
  };
  for (std::size_t i = track.first_ending_after(axis.origin); i < track.size(); ++i) {
    if (track.begin_at(i) >= end) break;
    const double from = x_of(track.begin_at(i));
    const double to = x_of(track.end_at(i));
    if (to - from < narrow) {
      busy_.add(from, to, pyramid.row_of(run.colouring.category(track.tag[i])));
      continue;
    }
    const TaskId task = track.tag[i];
    const Colour colour = colour_of(task, run);
    const int left = nearest_pixel(from);
    const int right = nearest_pixel(to);
    pixels_.fill(left, strip.top, right, strip.top + strip.height, muted(colour, strip));
    // A line of the ground keeps neighbours of one colour apart.
    if (right - left > 4) {
      pixels_.fill(right - 1, strip.top, right, strip.top + strip.height,
                   muted(mix(colour, scene_->theme->ground, 0.55), strip));
    }
    ++counts_.boxes;
    if (scene_->glyphs != nullptr && strip.mute == 0) label(left, right, task, colour, run, strip);
  }
}

void LanePainter::label(int left, int right, TaskId task, Colour ground, const PaintedRun& run,
                        const Strip& strip) {
  const Glyphs& glyphs = *scene_->glyphs;
  if (strip.height < glyphs.digits_height + 3) return;
  left = std::max(left, 0);
  right = std::min(right, pixels_.width);
  const Plan& plan = run.run->plan;
  std::array<char, 48> text{};
  const auto write = [&](bool whole) {
    const std::uint32_t microbatch = index(plan.microbatch[task]);
    const WorkClass& work = plan.class_of(task);
    const auto end = whole ? fmt::format_to_n(text.data(), text.size(), "{}{}{}", index(work.stage),
                                              letters(work.pass), microbatch)
                           : fmt::format_to_n(text.data(), text.size(), "{}", microbatch);
    return std::string_view(text.data(), std::min(end.size, text.size()));
  };
  for (const bool whole : {true, false}) {
    const std::string_view written = write(whole);
    const int width = glyphs.width_of(written);
    if (width + (whole ? 10 : 4) > right - left) continue;
    glyphs.draw(pixels_, left + (right - left - width) / 2, strip.top + strip.height / 2, written,
                text_on(ground));
    ++counts_.labels;
    return;
  }
}

void LanePainter::draw_bright(const LaneRow& row, const PaintedRun& run, const Strip& strip) {
  if (row.kind == LaneKind::memory || row.kind == LaneKind::difference) return;
  const Plan& plan = run.run->plan;
  const Timeline& timeline = run.run->timeline;
  for (const TaskId task : scene_->bright) {
    const std::uint32_t resource = plan.class_of(task).resource;
    bool here = resource == row.rank && row.kind == LaneKind::compute;
    if (plan.is_link(resource)) {
      const Link& link = plan.link(resource);
      here = (row.kind == LaneKind::send && index(link.from) == row.rank) ||
             (row.kind == LaneKind::receive && index(link.to) == row.rank);
    }
    if (!here) continue;
    const double from = scene_->axis.x_of(timeline.begin[task].picoseconds);
    const double to = scene_->axis.x_of(timeline.end[task].picoseconds);
    if (to < 0 || from > pixels_.width) continue;
    const int left = nearest_pixel(from);
    const int right = std::max(left + 1, nearest_pixel(to));
    const Colour colour = run.colouring.colour(task);
    pixels_.fill(left, strip.top, right, strip.top + strip.height, packed(colour));
    ++counts_.boxes;
    if (scene_->glyphs != nullptr) label(left, right, task, colour, run, strip);
  }
}

void LanePainter::draw_memory(const LaneRow& row, const PaintedRun& run, const Strip& strip) {
  if (run.memory == nullptr || row.rank >= run.memory->ranks.size()) return;
  const RunMemory& memory = *run.memory;
  const MemorySteps& steps = memory.ranks[row.rank];
  const std::size_t kinds = memory.kinds.size();
  const double capacity = static_cast<double>(run.run->capacity_bytes.value_or(0));
  const double most = static_cast<double>(memory.most);
  const double top = capacity > 0 && capacity < 2 * most ? std::max(most, capacity) : most;
  const double scale = (strip.height - 1) / top;
  const auto after = std::upper_bound(steps.time.begin(), steps.time.end(), scene_->axis.origin);
  auto step = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, after - steps.time.begin() - 1));
  const auto total = [&](std::size_t s) {
    double sum = 0;
    for (std::size_t k = 0; k < kinds; ++k) sum += static_cast<double>(steps.bytes[s * kinds + k]);
    return sum;
  };
  const std::int64_t span = run.lanes->span;
  for (int x = 0; x < pixels_.width; ++x) {
    const std::int64_t until = scene_->axis.time_at(x + 1);
    if (until <= 0) continue;
    if (scene_->axis.time_at(x) >= span) break;
    std::size_t largest = step;
    while (step + 1 < steps.time.size() && steps.time[step + 1] < until) {
      ++step;
      if (total(step) > total(largest)) largest = step;
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

void LanePainter::draw_differences(const LaneRow& row, const PaintedRun& run, const Strip& strip) {
  if (run.differences.empty()) return;
  const TimeAxis& axis = scene_->axis;
  std::fill(extremes_.begin(), extremes_.end(), 0.0F);
  const std::int64_t end = axis.time_at(pixels_.width);
  for (const Track& track : run.lanes->ranks[row.rank].compute) {
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
  constexpr Colour later{213, 94, 0};
  constexpr Colour earlier{0, 114, 178};
  for (int x = 0; x < pixels_.width; ++x) {
    const double difference = extremes_[static_cast<std::size_t>(x)];
    if (difference == 0) continue;
    const double share = 0.25 + 0.75 * std::min(1.0, std::fabs(difference));
    pixels_.fill(x, strip.top, x + 1, strip.top + strip.height,
                 packed(mix(scene_->theme->lane, difference > 0 ? later : earlier, share)));
    ++counts_.boxes;
  }
}

}  // namespace penstock
