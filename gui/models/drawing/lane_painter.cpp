#include "gui/models/drawing/lane_painter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/show/pictures/palette.hpp"

namespace penstock {
namespace {

constexpr double narrow = 2;        // pixels
constexpr int narrowest_label = 8;  // pixels of its box

/// Positions of times. A product with the inverse is several times as fast as a quotient, and near
/// enough.
struct Positions {
  std::int64_t origin;
  double pixels_per_picosecond;
  explicit Positions(const TimeAxis& axis)
      : origin(axis.origin), pixels_per_picosecond(1 / axis.picoseconds_per_pixel) {}
  double of(std::int64_t time) const {
    return static_cast<double>(time - origin) * pixels_per_picosecond;
  }
};

Pixels below(const Pixels& pixels, int rows) {
  return {pixels.row(rows), pixels.width, pixels.height - rows, pixels.stride};
}

}  // namespace

PaintCounts LanePainter::draw(const LaneScene& scene, const Pixels& pixels) {
  scene_ = &scene;
  counts_ = {};
  for (std::vector<float>* columns :
       {&extremes_, &heat_.share, &heat_.red, &heat_.green, &heat_.blue}) {
    columns->resize(static_cast<std::size_t>(pixels.width));
  }
  for (ShareColumns* columns : {&busy_, &idle_}) columns->resize(pixels.width);
  lines_.resize(pixels.width);
  labels_.reserve(static_cast<std::size_t>(pixels.width / narrowest_label + 2));
  ticked_.reserve(static_cast<std::size_t>(pixels.width + 2));
  for (const PaintedRun* run : scene.runs) {
    if (run == nullptr) continue;
    row_of_class_.resize(std::max(row_of_class_.size(), run->run->plan.classes.size()));
  }
  const int kept = std::min(scene.kept, pixels.height);
  if (kept > 0) draw_rows({pixels.first, pixels.width, kept, pixels.stride}, 0, true);
  draw_rows(below(pixels, kept), scene.top - kept, false);
  return counts_;
}

/// Whether a row belongs to those that stay, or to those that scroll.
bool LanePainter::is_among(const LaneRow& row, bool pinned) const {
  return scene_->kept == 0 || row.pinned == pinned;
}

void LanePainter::draw_rows(const Pixels& pixels, int top, bool pinned) {
  pixels_ = pixels;
  top_ = top;
  kept_ = pinned ? 0 : std::min(scene_->kept, pixels.height);
  fill_ground(pinned);
  for (const LaneRow& row : scene_->rows) {
    if (!is_among(row, pinned)) continue;
    if (top_ + row.top < pixels.height && top_ + row.top + row.height > 0) draw_row(row);
  }
}

/// Between the rows; each row fills its own.
void LanePainter::fill_ground(bool pinned) {
  const std::uint32_t ground = packed(scene_->theme->ground);
  int done = 0;
  for (const LaneRow& row : scene_->rows) {
    const int top = top_ + row.top;
    if (row.ghost || !is_among(row, pinned)) continue;
    pixels_.fill(0, done, pixels_.width, top, ground);
    done = std::max(done, top + (is_drawn(row) ? row.height : 0));
  }
  pixels_.fill(0, done, pixels_.width, pixels_.height, ground);
}

bool LanePainter::is_drawn(const LaneRow& row) const {
  const PaintedRun* const run = scene_->runs[row.run];
  if (run == nullptr) return false;
  if (row.kind == LaneKind::link) return run->links != nullptr && row.rank < run->links->size();
  return row.rank < run->lanes->ranks.size();
}

void LanePainter::draw_row(const LaneRow& row) {
  if (!is_drawn(row)) return;
  const PaintedRun& run = *scene_->runs[row.run];
  ++counts_.rows;
  const double mute = row.ghost ? 0.45 : scene_->dimmed ? 0.8 : 0;
  const Strip strip{top_ + row.top, row.height, row.flipped, mute};
  if (row.ghost) uncover(strip);
  lines_.start(lane_colour());
  const auto draw = [&](const std::vector<Track>& tracks, const std::vector<Pyramid>& pyramids) {
    draw_tracks(tracks, pyramids, run, strip, nullptr);
  };
  switch (row.kind) {
    case LaneKind::compute:
      row.heat ? draw_heat(row, run, strip) : draw_compute(row, run, strip);
      break;
    case LaneKind::send:
      draw(run.lanes->ranks[row.rank].send, run.pyramids[row.rank].send);
      break;
    case LaneKind::receive:
      draw(run.lanes->ranks[row.rank].receive, run.pyramids[row.rank].receive);
      break;
    case LaneKind::link:
      draw((*run.links)[row.rank].tracks, (*run.links)[row.rank].pyramids);
      break;
    case LaneKind::memory:
      draw_memory(row, run, strip);
      break;
    case LaneKind::difference:
      draw_differences(row, run, strip);
      break;
  }
  if (row.run == scene_->bright_run && !scene_->bright.empty()) draw_bright(row, run, strip);
}

std::uint32_t LanePainter::muted(Colour colour, const Strip& strip) const {
  return packed(strip.mute == 0 ? colour : mix(colour, scene_->theme->lane, strip.mute));
}

void LanePainter::draw_compute(const LaneRow& row, const PaintedRun& run, const Strip& strip) {
  const RankTracks& tracks = run.lanes->ranks[row.rank];
  const RankPyramids& pyramids = run.pyramids[row.rank];
  widens_ = false;
  if (tracks.compute.size() != 1) {
    return draw_tracks(tracks.compute, pyramids.compute, run, strip, &tracks.idle);
  }
  draw_idle(tracks.idle, pyramids.idle, run, strip);
  draw_busy(tracks.compute.front(), pyramids.compute.front(), run, strip);
}

/// Tracks side by side. Idle time stands in all of them, where it is wide enough to be seen.
void LanePainter::draw_tracks(const std::vector<Track>& tracks,
                              const std::vector<Pyramid>& pyramids, const PaintedRun& run,
                              const Strip& strip, const Track* idle) {
  idle_.forget();
  widens_ = idle == nullptr;
  const int count = static_cast<int>(tracks.size());
  for (int t = 0; t < std::max(count, 1); ++t) {
    const int top = strip.top + strip.height * t / std::max(count, 1);
    const int end = strip.top + strip.height * (t + 1) / std::max(count, 1);
    const Strip own{top, std::max(1, end - top), strip.flipped, strip.mute};
    lines_.start(lane_colour());
    if (idle != nullptr) draw_wide_idle(*idle, own);
    busy_.forget();
    if (count == 0) {
      lines_.draw(busy_, idle_, own, pixels_);
    } else {
      draw_busy(tracks[static_cast<std::size_t>(t)], pyramids[static_cast<std::size_t>(t)], run,
                own);
    }
  }
}

/// What is drawn instead of boxes, if anything. Where a part of a file has not been read yet, wide
/// bins stand in for its boxes.
const Pyramid::Level* LanePainter::level_of(const Pyramid& pyramid, const PaintedRun& run) const {
  const TimeAxis& axis = scene_->axis;
  const Pyramid::Level* const level = pyramid.level_for(axis.picoseconds_per_pixel);
  if (level != nullptr || run.run->file == nullptr || pyramid.levels().empty()) return level;
  return covers(*run.run, axis.origin, axis.time_at(pixels_.width)) ? nullptr
                                                                    : &pyramid.levels().front();
}

void LanePainter::draw_idle(const Track& idle, const Pyramid& pyramid, const PaintedRun& run,
                            const Strip& strip) {
  const TimeAxis& axis = scene_->axis;
  idle_.start(pyramid);
  for (std::size_t row = 0; row < pyramid.categories().size(); ++row) {
    idle_.set_colour(row, muted(scene_->theme->idle[pyramid.categories()[row]], strip));
  }
  const Positions positions(axis);
  if (const auto* level = level_of(pyramid, run)) {
    idle_.set_level(*level, axis);
    return for_each_end(idle, [&](std::int64_t begin, std::int64_t end, std::uint32_t tag) {
      draw_idle_piece(positions.of(begin), positions.of(end), tag, strip);
    });
  }
  std::array<std::uint8_t, idle_cause_count> rows{};
  for (std::size_t c = 0; c < rows.size(); ++c) {
    rows[c] = pyramid.row_of(idle_category(idle_tag(static_cast<IdleCause>(c), no_task)));
  }
  idle.for_each_between(axis.origin, axis.time_at(pixels_.width),
                        [&](std::int64_t begin, std::int64_t end, std::uint32_t tag) {
                          const double from = positions.of(begin);
                          const double to = positions.of(end);
                          const std::uint8_t row = rows[static_cast<std::size_t>(cause_of(tag))];
                          if (to - from < narrow && row != Pyramid::left_out) {
                            idle_.add(from, to, row);
                          } else {
                            draw_idle_piece(from, to, tag, strip);
                          }
                        });
}

void LanePainter::draw_wide_idle(const Track& idle, const Strip& strip) {
  const Positions positions(scene_->axis);
  idle.for_each_between(scene_->axis.origin, scene_->axis.time_at(pixels_.width),
                        [&](std::int64_t begin, std::int64_t end, std::uint32_t tag) {
                          const double from = positions.of(begin);
                          const double to = positions.of(end);
                          if (to - from >= narrow) draw_idle_piece(from, to, tag, strip);
                        });
}

void LanePainter::draw_idle_piece(double from, double to, std::uint32_t tag, const Strip& strip) {
  const int left = nearest_pixel(from);
  const int right = nearest_pixel(to);
  if (right <= left) return;
  hatch(left, right, cause_of(tag), strip);
  if (right - left >= narrow) ++counts_.boxes;  // otherwise a part of a column
}

void LanePainter::draw_busy(const Track& track, const Pyramid& pyramid, const PaintedRun& run,
                            const Strip& strip) {
  busy_.start(pyramid);
  labels_.clear();
  ticked_.clear();
  for (std::size_t row = 0; row < pyramid.categories().size(); ++row) {
    busy_.set_colour(
        row, muted(run.colouring.category_colour(pyramid.categories()[row], scene_->theme->kind),
                   strip));
  }
  if (const auto* level = level_of(pyramid, run)) {
    busy_.set_level(*level, scene_->axis);
  } else {
    draw_boxes(track, pyramid, run, strip);
  }
  counts_.boxes += lines_.draw(busy_, idle_, strip, pixels_);
  for (const Label& each : ticked_) put_ticks(each, run, strip);
  for (const Label& each : labels_) label(each, run, strip);
}

/// Paler with more slack, palest from 3 % of the makespan on.
Colour LanePainter::colour_of(TaskId task, const PaintedRun& run) const {
  const Colour colour = run.colouring.colour(task, scene_->theme->kind);
  if (scene_->slack.empty() || &run != scene_->runs[0]) return colour;
  constexpr double most = 0.03;
  const double share = std::min(1.0, static_cast<double>(scene_->slack[task]) / most);
  return share == 0 ? colour : mix(colour, scene_->theme->lane, 0.3 + 0.5 * share);
}

void LanePainter::draw_boxes(const Track& track, const Pyramid& pyramid, const PaintedRun& run,
                             const Strip& strip) {
  const TimeAxis& axis = scene_->axis;
  const Positions positions(axis);
  const std::vector<std::uint32_t>& work = run.run->plan.work;
  const bool by_class = run.by != ColourBy::microbatch;
  for (std::size_t c = 0; by_class && c < run.run->plan.classes.size(); ++c) {
    row_of_class_[c] = pyramid.row_of(run.colouring.category_of_class(c));
  }
  track.for_each_between(
      axis.origin, axis.time_at(pixels_.width),
      [&](std::int64_t begin, std::int64_t end, TaskId task) {
        const double from = positions.of(begin);
        const double to = positions.of(end);
        if (to - from < narrow) {
          busy_.add(
              from, widens_ ? std::max(to, from + 1) : to,
              by_class ? row_of_class_[work[task]] : pyramid.row_of(run.colouring.category(task)));
        } else {
          draw_box(from, to, task, run, strip);
        }
      },
      [&](TaskId later) { __builtin_prefetch(work.data() + later); });
}

void LanePainter::draw_box(double from, double to, TaskId task, const PaintedRun& run,
                           const Strip& strip) {
  const Colour colour = colour_of(task, run);
  const int left = nearest_pixel(from);
  const int right = nearest_pixel(to);
  lines_.fill(left, right, muted(colour, strip));
  // A line of the ground keeps neighbours of one colour apart.
  if (right - left > 4) {
    lines_.fill(right - 1, right, muted(mix(colour, scene_->theme->ground, 0.55), strip));
  }
  ++counts_.boxes;
  if (run.colouring.ticks(task) > 0) ticked_.push_back({left, right, task, colour});
  const bool room = scene_->glyphs != nullptr && strip.height >= scene_->glyphs->digits_height + 3;
  if (room && strip.mute == 0 && right - left > narrowest_label)
    labels_.push_back({left, right, task, colour});
}

}  // namespace penstock
