#include "experiments/show/pictures/lanes/lane_frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "experiments/show/pictures/page.hpp"
#include "experiments/show/pictures/palette.hpp"

namespace penstock {
namespace {

constexpr double lane_axis_rows = 48;
constexpr double lane_label_gap = 10;  // between a lane and its name
constexpr double lane_label_pitch = 14;
constexpr double lowest_lanes = 16;  // of all lanes together
constexpr double highest_lane = 36;
constexpr double low_pitch = 12;
constexpr double dense_pitch = 6;

/// The height of the lanes if nothing limits it.
double usual_room(double ranks) {
  return std::min({std::max(720.0, 3 * ranks), highest_lane * ranks, 8000.0});
}

/// The pitch on a narrow page, which is not to become a strip: lanes together are at most a quarter
/// higher than wide, unless they would be too low to read.
double pitch_for_width(double pitch, std::uint32_t ranks, double width) {
  constexpr double most_aspect = 1.25;
  constexpr double readable = 3;
  const double most = std::floor(2 * most_aspect * width / std::max(ranks, 1U)) / 2;
  return std::min(pitch, std::max(most, readable));
}

std::string rank_name(std::size_t rank) { return fmt::format("rank {}", rank); }

}  // namespace

LaneSpacing lane_spacing(std::uint32_t ranks, double room) {
  const double count = std::max(ranks, 1U);
  if (room <= 0) room = usual_room(count);
  const auto stride = static_cast<std::uint32_t>(std::ceil(count / room - 1e-9));
  const double shown = std::ceil(count / std::max(stride, 1U));
  return {std::floor(2 * room / shown + 1e-9) / 2, std::max(stride, 1U)};
}

Scale lane_time(Page& page, std::uint32_t ranks, Time end, double right_room) {
  const std::string longest = rank_name(std::max(ranks, 1U) - 1);
  const double left =
      margin_of(page) + page.canvas.text_width(longest, label_style) + lane_label_gap;
  const auto last = static_cast<double>(std::max(end.picoseconds, std::int64_t{1}));
  return {0, last, page.snapped(left), page.width - margin_of(page) - right_room};
}

LaneFrame::LaneFrame(Page& page, std::uint32_t ranks, Time end, double top, double right_room)
    : page_(page),
      end_(end),
      top_(page.snapped(top)),
      time_(lane_time(page, ranks, end, right_room)) {
  if (page.height > 0) check_height(page, top_ + lane_axis_rows + lowest_lanes);
  const double room = page.height > 0 ? page.height - top_ - lane_axis_rows : 0;
  // Rounds to half units of the file.
  spacing_ = lane_spacing(ranks, room * page.scale);
  if (page.height == 0) spacing_.pitch *= page.scale;
  spacing_.pitch = std::floor(2 * spacing_.pitch) / 2 / page.scale;
  if (page.height == 0) spacing_.pitch = pitch_for_width(spacing_.pitch, ranks, page.width);
  for (std::size_t rank = 0; rank < ranks; rank += spacing_.stride) ranks_.push_back(rank);
  const double gap = is_dense() ? 0 : std::clamp(0.15 * spacing_.pitch, 0.5, 5.0);
  lane_height_ = page.snapped(spacing_.pitch - gap);
  if (page.height == 0) {
    page.height = top_ + spacing_.pitch * static_cast<double>(ranks_.size()) + lane_axis_rows;
  }
}

double LaneFrame::lane_top(std::size_t shown) const {
  return page_.snapped(top_ + static_cast<double>(shown) * spacing_.pitch);
}

bool LaneFrame::is_low() const { return spacing_.pitch < low_pitch; }

bool LaneFrame::is_dense() const { return spacing_.pitch < dense_pitch; }

std::uint32_t LaneFrame::name_step() const {
  return lanes_per_label(spacing_.pitch, lane_label_pitch);
}

void LaneFrame::draw_names() const {
  for (std::size_t shown = 0; shown < ranks_.size(); shown += name_step()) {
    page_.canvas.text({time_.from - lane_label_gap, lane_top(shown) + lane_height_ / 2},
                      rank_name(ranks_[shown]), aligned(label_style, Align::right));
  }
}

void LaneFrame::draw_axis() const {
  const double y = lane_top(ranks_.size()) + 3;
  const TimeUnit name = unit_for(end_);
  const auto unit = static_cast<double>(name.picoseconds);
  page_.canvas.line({time_.from, y}, {time_.to, y}, 1, axis_line);
  for (const Tick& tick : fitting_ticks(page_.canvas, static_cast<double>(end_.picoseconds) / unit,
                                        time_.to - time_.from)) {
    const double x = page_.snapped(time_(tick.at * unit));
    page_.canvas.line({x, y}, {x, y + 5}, 1, axis_line);
    page_.canvas.text({x, y + 14}, tick.text, aligned(tick_style, Align::centre));
  }
  std::string label = fmt::format("time ({})", name.name);
  if (spacing_.stride > 1) label += fmt::format("; one rank in {} is shown", spacing_.stride);
  page_.canvas.text_within(inner_width(page_), {page_.width / 2, y + 31}, label,
                           aligned(tick_style, Align::centre));
}

}  // namespace penstock
