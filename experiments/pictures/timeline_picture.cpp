#include "experiments/pictures/timeline_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/pictures/axis.hpp"
#include "experiments/pictures/explanation_cells.hpp"
#include "experiments/pictures/legend.hpp"
#include "experiments/pictures/merge_short.hpp"
#include "experiments/pictures/page.hpp"
#include "experiments/pictures/palette.hpp"
#include "experiments/pictures/path_strokes.hpp"
#include "experiments/pictures/timeline_cells.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double timeline_narrowest_page = 400;
constexpr double timeline_legend_row = 40;
constexpr double cause_row = 24;  // below the legend of the passes
constexpr double timeline_axis_rows = 48;
constexpr double label_gap = 10;  // between a lane and its name
constexpr double number_padding = 1;

constexpr double smallest_number = 6;
constexpr double largest_number = 11.5;
constexpr double digit_height = 0.73;  // of the size

constexpr double narrowest_hatch = 6;
constexpr double narrowest_path_box = 4;
constexpr double path_outline = 1.75;
constexpr double path_line = 1.25;
constexpr double path_halo = 2.75;  // keeps the line apart from what it crosses

/// Short coordinates keep the files small.
double snapped(double place) { return std::round(place * 4) / 4; }

std::string pass_name(Pass pass) {
  constexpr std::array<const char*, pass_count> names{
      "forward",      "backward",    "input gradient", "weight gradient", "recompute",
      "update",       "evict",       "load",           "send activation", "send gradient",
      "send evicted", "send loaded", "sum gradients",  "gather weights",  "tie gradients"};
  return names[static_cast<std::size_t>(pass)];
}

/// One picture in the making.
class TimelineDrawing {
 public:
  TimelineDrawing(const Plan& plan, const Timeline& timeline, const TimelinePicture& picture);
  double height() const { return lanes_bottom_ + timeline_axis_rows; }
  void draw(Canvas& canvas);

 private:
  void merge();
  double legend_height() const;
  std::vector<LegendEntry> legend() const;
  std::vector<LegendEntry> explanation_legend() const;
  void draw_legends(Canvas& canvas) const;
  void draw_ground(Canvas& canvas) const;
  void draw_cells(Canvas& canvas) const;
  void draw_strips(Canvas& canvas) const;
  void draw_idle(Canvas& canvas, IdleCause cause, const std::vector<Rectangle>& boxes) const;
  void draw_path(Canvas& canvas) const;
  void draw_numbers(Canvas& canvas) const;
  double number_width(Canvas& canvas) const;
  void draw_number(Canvas& canvas, const Cell& cell, const Rectangle& box, double size) const;
  void draw_rank_names(Canvas& canvas) const;
  void draw_axis(Canvas& canvas) const;

  double lane_top(std::size_t rank) const {
    return snapped(lanes_top_ + static_cast<double>(rank) * pitch_);
  }
  Rectangle box_of(std::size_t rank, const Cell& cell) const;
  Colour colour_of(ActionKind kind) const { return pass_colour(kind.pass, kind.chunk, chunks_); }

  const Plan& plan_;
  const Timeline& timeline_;
  const TimelinePicture& picture_;
  std::vector<Lane> lanes_;
  std::vector<Lane> strips_;
  std::uint32_t last_microbatch_ = 0;
  std::set<Pass> passes_;       // that occur
  std::set<IdleCause> causes_;  // that occur and are to be told apart
  std::uint32_t chunks_;
  bool merged_ = false;  // whether some boxes stand for several actions
  Time end_;
  TimeUnit unit_;
  Scale time_{};  // from picoseconds
  double lanes_top_;
  double pitch_;
  double lane_height_;
  double lanes_bottom_;
};

TimelineDrawing::TimelineDrawing(const Plan& plan, const Timeline& timeline,
                                 const TimelinePicture& picture)
    : plan_(plan),
      timeline_(timeline),
      picture_(picture),
      lanes_(lanes(plan, timeline)),
      strips_(tail_strips(plan, timeline)),
      chunks_(most_chunks(plan)),
      end_(std::max(last_end(lanes_), last_end(strips_))),
      unit_(unit_for(end_)),
      lanes_top_(heading_bottom(picture.title, picture.subtitle) + legend_height()),
      pitch_(lane_pitch(plan.ranks)),
      lane_height_(snapped(pitch_ - std::clamp(0.15 * pitch_, 0.5, 5.0))),
      lanes_bottom_(lanes_top_ + pitch_ * plan.ranks) {
  add_idle(lanes_, picture.explanation.gaps);
  for (const Lane& lane : lanes_) {
    for (const Cell& cell : lane) {
      if (const auto* cause = std::get_if<IdleCause>(&cell.kind)) {
        causes_.insert(*cause);
        continue;
      }
      passes_.insert(std::get<ActionKind>(cell.kind).pass);
      last_microbatch_ = std::max(last_microbatch_, index(*cell.microbatch));
    }
  }
  for (const Lane& strips : strips_) {
    for (const Cell& strip : strips) passes_.insert(std::get<ActionKind>(strip.kind).pass);
  }
}

void TimelineDrawing::draw(Canvas& canvas) {
  const std::string longest_name =
      fmt::format("rank {}", std::max<std::size_t>(lanes_.size(), 1) - 1);
  const double left = page_margin + canvas.text_width(longest_name, label_style) + label_gap;
  const auto last = static_cast<double>(std::max(end_.picoseconds, std::int64_t{1}));
  time_ = {0, last, std::ceil(left), picture_.width - page_margin};
  merge();
  draw_heading(canvas, picture_.width, picture_.title, picture_.subtitle);
  draw_legends(canvas);
  draw_ground(canvas);
  draw_cells(canvas);
  draw_numbers(canvas);
  draw_strips(canvas);
  draw_path(canvas);
  draw_rank_names(canvas);
  draw_axis(canvas);
}

/// Merges what is too narrow to be seen. With more lanes this is coarser, so that the number of
/// boxes stays in bounds.
void TimelineDrawing::merge() {
  const double narrowest = std::clamp(static_cast<double>(lanes_.size()) / 20, 1.0, 3.0);
  const double shortest = narrowest * time_.last / (time_.to - time_.from);
  for (Lane& lane : lanes_) {
    Lane merged = merge_short(lane, {std::llround(shortest)});
    merged_ = merged_ || merged != lane;
    lane = std::move(merged);
  }
}

double TimelineDrawing::legend_height() const {
  const TimelineExplanation& explanation = picture_.explanation;
  const bool explained = !explanation.gaps.empty() || !explanation.critical_path.empty();
  return explained ? timeline_legend_row + cause_row : timeline_legend_row;
}

void TimelineDrawing::draw_legends(Canvas& canvas) const {
  const double width = picture_.width - 2 * page_margin;
  const double y = lanes_top_ - legend_height() + timeline_legend_row / 2;
  draw_legend(canvas, {page_margin, y}, width, legend());
  draw_legend(canvas, {page_margin, y + cause_row}, width, explanation_legend());
}

std::vector<LegendEntry> TimelineDrawing::legend() const {
  std::vector<LegendEntry> entries;
  for (const Pass pass : passes_) {
    LegendEntry entry{{}, is_tail(pass) ? "" : std::string(letters(pass)), pass_name(pass)};
    const std::uint32_t shades = is_tail(pass) ? 1 : chunks_;
    for (std::uint32_t c = 0; c < shades; ++c) entry.colours.push_back(colour_of({pass, c}));
    entries.push_back(std::move(entry));
  }
  if (causes_.empty()) entries.push_back({{idle_ground}, "", "idle", idle_hatch});
  if (chunks_ > 1) {
    entries.push_back({{}, "", fmt::format("dark to pale: chunks 0 to {}", chunks_ - 1)});
  }
  if (merged_) entries.push_back({{}, "", "narrow boxes merged: heights are shares of time"});
  return entries;
}

std::vector<LegendEntry> TimelineDrawing::explanation_legend() const {
  std::vector<LegendEntry> entries;
  if (!causes_.empty()) entries.push_back({{}, "", "idle:"});
  for (const IdleCause cause : causes_) {
    entries.push_back({{idle_colour(cause)}, "", name(cause), idle_lines(cause)});
  }
  if (!picture_.explanation.critical_path.empty()) {
    entries.push_back({{paper}, "", "critical path", {}, ink});
  }
  return entries;
}

void TimelineDrawing::draw_ground(Canvas& canvas) const {
  std::vector<Rectangle> grounds;
  for (std::size_t rank = 0; rank < lanes_.size(); ++rank) {
    grounds.push_back({time_.from, lane_top(rank), time_.to - time_.from, lane_height_});
  }
  canvas.fill(grounds, idle_ground);
  canvas.hatch(grounds, 6, 0.75, idle_hatch);
}

/// Where a cell is drawn, with a little air between it and the next one.
Rectangle TimelineDrawing::box_of(std::size_t rank, const Cell& cell) const {
  const double left = snapped(time_(static_cast<double>(cell.begin.picoseconds)));
  const double right = snapped(time_(static_cast<double>(cell.end.picoseconds)));
  const double top = snapped(lane_top(rank) + cell.top * lane_height_);
  const double bottom = snapped(lane_top(rank) + cell.bottom * lane_height_);
  const bool apart = cell.microbatch && right - left >= 3;
  return {left, top, std::max(right - left - (apart ? 0.5 : 0.0), 0.25), bottom - top};
}

void TimelineDrawing::draw_cells(Canvas& canvas) const {
  std::map<CellKind, std::vector<Rectangle>> boxes;
  for (std::size_t rank = 0; rank < lanes_.size(); ++rank) {
    for (const Cell& cell : lanes_[rank]) boxes[cell.kind].push_back(box_of(rank, cell));
  }
  for (const IdleCause cause : causes_) draw_idle(canvas, cause, boxes[cause]);
  for (const auto& [kind, rectangles] : boxes) {
    if (const auto* action = std::get_if<ActionKind>(&kind)) {
      canvas.fill(rectangles, colour_of(*action));
    }
  }
}

/// Transfers beside the actions of a rank, set off from these by a line of paper.
void TimelineDrawing::draw_strips(Canvas& canvas) const {
  for (std::size_t rank = 0; rank < strips_.size(); ++rank) {
    for (const Cell& strip : strips_[rank]) {
      const Rectangle box = box_of(rank, strip);
      const double line = std::min(1.0, box.height / 3);
      canvas.fill(Rectangle{box.x, box.y - line, box.width, box.height + line}, paper);
      canvas.fill(box, colour_of(std::get<ActionKind>(strip.kind)));
    }
  }
}

void TimelineDrawing::draw_idle(Canvas& canvas, IdleCause cause,
                                const std::vector<Rectangle>& boxes) const {
  std::vector<Rectangle> wide;
  std::copy_if(boxes.begin(), boxes.end(), std::back_inserter(wide),
               [](const Rectangle& box) { return box.width >= narrowest_hatch; });
  canvas.fill(boxes, idle_colour(cause));
  canvas.hatch(wide, 6, 0.75, idle_lines(cause));
}

void TimelineDrawing::draw_path(Canvas& canvas) const {
  const double shortest = narrowest_path_box * time_.last / (time_.to - time_.from);
  std::vector<Rectangle> boxes;
  for (const PathBox& box :
       path_boxes(plan_, timeline_, picture_.explanation.critical_path, {std::llround(shortest)})) {
    boxes.push_back(box_of(box.rank, {box.begin, box.end, {}, 0, 1, {}}));
  }
  const PathStrokes strokes = path_strokes(boxes);
  for (const auto& line : strokes.lines) canvas.line(line, path_halo, paper);
  for (const auto& line : strokes.lines) canvas.line(line, path_line, ink);
  if (!strokes.outlines.empty()) canvas.outline(strokes.outlines, path_outline, ink);
}

/// How wide the number of the last microbatch is in size 1.
double TimelineDrawing::number_width(Canvas& canvas) const {
  const std::string longest(fmt::format("{}", last_microbatch_).size(), '0');
  return canvas.text_width(longest, {10}) / 10;
}

/// Numbers all boxes that have room for the longest number, in one size: the largest with which the
/// narrowest of them gets its number. Equal durations fare alike, wherever their boxes were
/// snapped.
void TimelineDrawing::draw_numbers(Canvas& canvas) const {
  const double width_at_1 = number_width(canvas);
  const double width_per_ps = (time_.to - time_.from) / time_.last;
  const auto size_in = [&](const Cell& cell) {
    if (!cell.microbatch) return 0.0;
    return number_size(static_cast<double>((cell.end - cell.begin).picoseconds) * width_per_ps,
                       (cell.bottom - cell.top) * lane_height_, width_at_1);
  };
  double size = largest_number;
  for (const Lane& lane : lanes_) {
    for (const Cell& cell : lane) {
      if (const double fits = size_in(cell); fits > 0) size = std::min(size, fits);
    }
  }
  for (std::size_t rank = 0; rank < lanes_.size(); ++rank) {
    for (const Cell& cell : lanes_[rank]) {
      if (size_in(cell) > 0) draw_number(canvas, cell, box_of(rank, cell), size);
    }
  }
}

void TimelineDrawing::draw_number(Canvas& canvas, const Cell& cell, const Rectangle& box,
                                  double size) const {
  canvas.text({box.x + box.width / 2, box.y + box.height / 2},
              fmt::format("{}", index(*cell.microbatch)),
              {size, text_on(colour_of(std::get<ActionKind>(cell.kind))), Align::centre});
}

void TimelineDrawing::draw_rank_names(Canvas& canvas) const {
  const std::uint32_t step = lanes_per_label(pitch_, 14);
  for (std::size_t rank = 0; rank < lanes_.size(); rank += step) {
    canvas.text({time_.from - label_gap, lane_top(rank) + lane_height_ / 2},
                fmt::format("rank {}", rank), aligned(label_style, Align::right));
  }
}

void TimelineDrawing::draw_axis(Canvas& canvas) const {
  const double y = lanes_bottom_ + 3;
  canvas.line({time_.from, y}, {time_.to, y}, 1, axis_line);
  const auto unit = static_cast<double>(unit_.picoseconds);
  const int most = std::max(1, static_cast<int>((time_.to - time_.from) / 70));
  for (const Tick& tick : round_ticks(static_cast<double>(end_.picoseconds) / unit, most)) {
    const double x = snapped(time_(tick.at * unit));
    canvas.line({x, y}, {x, y + 5}, 1, axis_line);
    canvas.text({x, y + 14}, tick.text, aligned(tick_style, Align::centre));
  }
  canvas.text({(time_.from + time_.to) / 2, y + 31}, fmt::format("time ({})", unit_.name),
              aligned(tick_style, Align::centre));
}

}  // namespace

double lane_pitch(std::uint32_t ranks) {
  const double count = std::max(ranks, 1U);
  return std::min(std::clamp(720 / count, 3.0, 36.0), 8000 / count);
}

double number_size(double box_width, double box_height, double width_at_1) {
  const double size = std::min((box_height - 2 * number_padding) / digit_height,
                               (box_width - 2 * number_padding) / width_at_1);
  return size < smallest_number ? 0 : std::min(size, largest_number);
}

std::string draw_timeline(PictureFormat format, const Plan& plan, const Timeline& timeline,
                          const TimelinePicture& picture) {
  if (!(picture.width >= timeline_narrowest_page)) {
    throw UsageError(fmt::format("a timeline picture cannot be {} wide; it takes at least {}",
                                 picture.width, timeline_narrowest_page));
  }
  TimelineDrawing drawing(plan, timeline, picture);
  return render(format, picture.width, drawing.height(),
                [&](Canvas& canvas) { drawing.draw(canvas); });
}

}  // namespace penstock
