#include "experiments/show/pictures/lanes/timeline_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "experiments/show/pictures/axis.hpp"
#include "experiments/show/pictures/lanes/lane_cells.hpp"
#include "experiments/show/pictures/lanes/lane_frame.hpp"
#include "experiments/show/pictures/page.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {
namespace {

constexpr double timeline_width = 1200;
constexpr double legend_air = 9;  // above and below the legends
constexpr double number_padding = 1;

constexpr double smallest_number = 6;
constexpr double largest_number = 11.5;
constexpr double digit_height = 0.73;  // as a fraction of the font size

constexpr double narrowest_hatch = 6;
constexpr double narrowest_move = 3;
constexpr double arrow_width = 9;
constexpr double arrow_height = 7;
constexpr std::size_t many_lanes = 60;
constexpr double narrowest_path_box = 4;
constexpr double path_outline = 1.75;
constexpr double path_line = 1.25;
constexpr double path_halo = 2.75;  // separates the line from what it crosses

/// An update is of all microbatches before it.
bool is_numbered(const Cell& cell) {
  return cell.microbatch && std::get<ActionKind>(cell.kind).pass != Pass::update;
}

bool is_move(Pass pass) { return pass == Pass::send_evicted || pass == Pass::send_loaded; }

/// A pass that recomputes its activation includes the time of both.
std::string legend_name(const Plan& plan, Pass pass) {
  const bool recomputes =
      std::any_of(plan.classes.begin(), plan.classes.end(),
                  [pass](const WorkClass& work) { return work.pass == pass && work.recomputes; });
  return std::string(pass_name(pass)) + (recomputes ? " with recomputation" : "");
}

/// Legend entries of passes by chunk; with `idle`, one for idle time without causes.
std::vector<LegendEntry> pass_entries(const Plan& plan, const std::set<Pass>& passes, bool idle) {
  const std::uint32_t chunks = most_chunks(plan);
  std::vector<LegendEntry> entries;
  for (const Pass pass : passes) {
    const bool plain = is_tail(pass) || is_move(pass);
    Swatch swatch{{}, plain ? "" : std::string(letters(pass))};
    const std::uint32_t shades = plain ? 1 : chunks;
    for (std::uint32_t c = 0; c < shades; ++c)
      swatch.colours.push_back(pass_colour(pass, c, chunks));
    if (is_move(pass)) swatch.outline = move_outline(pass == Pass::send_loaded);
    entries.push_back(legend_entry(swatch, legend_name(plan, pass)));
  }
  if (idle) entries.push_back(legend_entry({{idle_ground}, "", idle_hatch}, "idle"));
  return entries;
}

/// Legend entries of idle causes and, if drawn, of the critical path.
std::vector<LegendEntry> cause_entries(const Plan& plan, const std::set<IdleCause>& causes,
                                       bool critical_path) {
  std::vector<LegendEntry> entries;
  if (!causes.empty()) entries.push_back({0, nullptr, "idle:"});
  for (const IdleCause cause : causes) {
    entries.push_back(legend_entry({.colours = {idle_colour(cause)},
                                    .hatch = idle_lines(idle_colour(cause)),
                                    .lines = hatch_of(cause)},
                                   std::string(cause_name(plan, cause))));
  }
  if (critical_path) {
    entries.push_back(legend_entry({{paper}, "", {}, ink}, "critical path"));
  }
  return entries;
}

/// Draws one picture.
class TimelineDrawing {
 public:
  TimelineDrawing(const Plan& plan, const Timeline& timeline, const TimelinePicture& picture,
                  Page& page)
      : plan_(plan),
        timeline_(timeline),
        picture_(picture),
        page_(page),
        canvas_(page.canvas),
        lanes_(lanes(plan, timeline)),
        strips_(tail_strips(plan, timeline)),
        moves_(stash_moves(plan, timeline)),
        chunks_(most_chunks(plan)),
        end_(makespan(plan, timeline)),
        time_(lane_time(page, plan.ranks, end_)) {
    add_idle(lanes_, picture.explanation.gaps);
    note_what_occurs();
  }

  void draw() {
    merge();
    frame_.emplace(page_, plan_.ranks, end_, draw_top());
    draw_ground();
    draw_cells();
    draw_numbers();
    draw_strips();
    draw_path();
    draw_moves();
    frame_->draw_names();
    frame_->draw_axis();
  }

 private:
  void note_what_occurs() {
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
    for (const auto* extra : {&strips_, &moves_}) {
      for (const Lane& lane : *extra) {
        for (const Cell& cell : lane) passes_.insert(std::get<ActionKind>(cell.kind).pass);
      }
    }
  }

  /// Draws heading, legends and notes; returns where they end.
  double draw_top() {
    double y =
        draw_heading(page_, picture_.options.title.value_or(picture_.title), picture_.subtitle) +
        legend_air;
    const bool path = !picture_.explanation.critical_path.empty();
    for (const auto& entries :
         {pass_entries(plan_, passes_, causes_.empty()), cause_entries(plan_, causes_, path)}) {
      const double height = legend_height(canvas_, inner_width(page_), entries);
      draw_legend(canvas_, {margin_of(page_), y + legend_row / 2}, inner_width(page_), entries);
      y += height;
    }
    return draw_notes(page_, y, notes()) + legend_air;
  }

  /// Merges invisibly narrow boxes. More lanes merge more coarsely, to bound the number of boxes.
  /// Low lanes mix colours, so short bands are enough.
  void merge() {
    const double narrowest = std::clamp(static_cast<double>(lanes_.size()) / 20, 1.0, 3.0);
    const int least = lanes_.size() < many_lanes ? 4 : 1;
    for (Lane& lane : lanes_) {
      Lane merged = merge_short(lane, {std::llround(shortest(narrowest))}, least);
      merged_ = merged_ || merged != lane;
      lane = std::move(merged);
    }
  }

  double shortest(double width) const { return width * time_.last / (time_.to - time_.from); }

  std::vector<std::string> notes() const {
    std::vector<std::string> all;
    const bool light = page_.theme == PictureTheme::light;
    if (chunks_ > 1)
      all.push_back((light ? "dark to pale: " : "pale to dark: ") + shades_text(plan_));
    if (merged_) all.emplace_back("narrow boxes are merged by their shares of time");
    return all;
  }

  /// Calls `visit(shown, cell)` for the cells of the lanes that are shown.
  template <class Visitor>
  void for_each_cell(const std::vector<Lane>& lanes, Visitor visit) const {
    for (std::size_t shown = 0; shown < frame_->ranks().size(); ++shown) {
      for (const Cell& cell : lanes[frame_->ranks()[shown]]) visit(shown, cell);
    }
  }

  void draw_ground() {
    std::vector<Rectangle> grounds;
    for (std::size_t shown = 0; shown < frame_->ranks().size(); ++shown) {
      grounds.push_back(
          {time_.from, frame_->lane_top(shown), time_.to - time_.from, frame_->lane_height()});
    }
    canvas_.fill(grounds, idle_ground);
    if (!frame_->is_dense()) canvas_.hatch(grounds, 6, 0.75, idle_hatch);
  }

  void draw_cells() {
    if (frame_->is_low()) return draw_mixtures();
    std::map<CellKind, std::vector<Rectangle>> boxes;
    for_each_cell(lanes_, [&](std::size_t shown, const Cell& cell) {
      boxes[cell.kind].push_back(box_of(shown, cell));
    });
    for (const IdleCause cause : causes_) draw_idle(cause, boxes[cause]);
    for (const auto& [kind, rectangles] : boxes) {
      if (const auto* action = std::get_if<ActionKind>(&kind)) {
        canvas_.fill(rectangles, colour_of(*action));
      }
    }
  }

  /// Low lanes show fractions as mixed colours, because heights would look like stripes.
  void draw_mixtures() {
    std::map<std::array<std::uint8_t, 3>, std::vector<Rectangle>> boxes;
    for (std::size_t shown = 0; shown < frame_->ranks().size(); ++shown) {
      for (const auto& [cell, colour] : mixed_cells(lanes_[frame_->ranks()[shown]], chunks_)) {
        boxes[{colour.red, colour.green, colour.blue}].push_back(box_of(shown, cell));
      }
    }
    for (const auto& [rgb, rectangles] : boxes) canvas_.fill(rectangles, {rgb[0], rgb[1], rgb[2]});
  }

  /// Draws transfers next to the actions of a rank, separated by a white line.
  void draw_strips() {
    for_each_cell(strips_, [&](std::size_t shown, const Cell& strip) {
      const Rectangle box = box_of(shown, strip);
      const double line = std::min(1.0, box.height / 3);
      canvas_.fill(Rectangle{box.x, box.y - line, box.width, box.height + line}, paper);
      canvas_.fill(box, colour_of(std::get<ActionKind>(strip.kind)));
    });
  }

  /// Draws activations that leave a rank or come back, along the top of its lane. A transfer too
  /// short for a strip is an arrow head, which points up if the activation leaves.
  void draw_moves() {
    for (std::size_t shown = 0; shown < frame_->ranks().size(); ++shown) {
      std::map<CellKind, double> drawn_to;
      for (const Cell& move : moves_[frame_->ranks()[shown]]) {
        Rectangle box = box_of(shown, move);
        const bool strip = frame_->is_low() || box.width >= arrow_width;
        box.width = std::max(box.width, strip ? narrowest_move : arrow_width);
        if (!strip) box.x -= arrow_width / 2;
        box.x = std::clamp(box.x, time_.from, time_.to - box.width);
        box.height = std::max(box.height, 1.0);
        double& drawn = drawn_to[move.kind];
        if (box.x + box.width <= drawn) continue;
        drawn = box.x + box.width;
        draw_move(std::get<ActionKind>(move.kind), box, strip);
      }
    }
  }

  void draw_move(ActionKind kind, const Rectangle& box, bool strip) {
    const bool returns = kind.pass == Pass::send_loaded;
    const Colour outline = move_outline(returns);
    if (frame_->is_dense()) return canvas_.fill(box, colour_of(kind));
    const double right = box.x + box.width, bottom = box.y + box.height;
    if (strip) {
      const std::array<Point, 4> corners{Point{box.x, box.y}, Point{right, box.y},
                                         Point{right, bottom}, Point{box.x, bottom}};
      return canvas_.polygon(corners, colour_of(kind), 0.75, outline);
    }
    const double base = returns ? box.y : box.y + arrow_height;
    const double tip = returns ? box.y + arrow_height : box.y;
    const std::array<Point, 3> corners{Point{box.x, base}, Point{right, base},
                                       Point{box.x + box.width / 2, tip}};
    canvas_.polygon(corners, colour_of(kind), 0.75, outline);
  }

  void draw_idle(IdleCause cause, const std::vector<Rectangle>& boxes) {
    canvas_.fill(boxes, idle_colour(cause));
    if (frame_->is_dense()) return;
    std::vector<Rectangle> wide;
    std::copy_if(boxes.begin(), boxes.end(), std::back_inserter(wide),
                 [](const Rectangle& box) { return box.width >= narrowest_hatch; });
    canvas_.hatch(wide, 6, 0.75, idle_lines(idle_colour(cause)), hatch_of(cause));
  }

  void draw_path() {
    std::vector<Rectangle> boxes;
    for (const PathBox& box : path_boxes(plan_, timeline_, picture_.explanation.critical_path,
                                         {std::llround(shortest(narrowest_path_box))})) {
      // The path also runs through ranks that are not shown.
      const std::size_t shown = box.rank / frame_->stride();
      boxes.push_back(box_of(shown, {box.begin, box.end, {}, 0, 1, {}}));
    }
    const PathStrokes strokes = path_strokes(boxes);
    for (const auto& line : strokes.lines) canvas_.line(line, path_halo, paper);
    for (const auto& line : strokes.lines) canvas_.line(line, path_line, ink);
    canvas_.outline(strokes.outlines, path_outline, ink);
  }

  /// Numbers all boxes with room for the longest number, in one size: the largest that fits the
  /// narrowest of them. Boxes of equal duration are treated alike, regardless of snapping.
  void draw_numbers() {
    const double width_at_1 = number_width();
    const double width_per_ps = (time_.to - time_.from) / time_.last;
    const auto size_in = [&](const Cell& cell) {
      if (!is_numbered(cell)) return 0.0;
      return number_size(static_cast<double>((cell.end - cell.begin).picoseconds) * width_per_ps,
                         (cell.bottom - cell.top) * frame_->lane_height(), width_at_1);
    };
    double size = largest_number;
    for_each_cell(lanes_, [&](std::size_t, const Cell& cell) {
      if (const double fits = size_in(cell); fits > 0) size = std::min(size, fits);
    });
    for_each_cell(lanes_, [&](std::size_t shown, const Cell& cell) {
      if (size_in(cell) > 0) draw_number(cell, box_of(shown, cell), size);
    });
  }

  /// The width of the last microbatch number at size 1.
  double number_width() {
    const std::string longest(fmt::format("{}", last_microbatch_).size(), '0');
    return canvas_.text_width(longest, {10}) / 10;
  }

  void draw_number(const Cell& cell, const Rectangle& box, double size) {
    canvas_.text({box.x + box.width / 2, box.y + box.height / 2},
                 fmt::format("{}", index(*cell.microbatch)),
                 {size, text_on(colour_of(std::get<ActionKind>(cell.kind))), Align::centre});
  }

  /// The box of a cell, with a small gap to the next one.
  Rectangle box_of(std::size_t shown, const Cell& cell) const {
    const double lane = frame_->lane_top(shown);
    const double left = page_.snapped(time_(static_cast<double>(cell.begin.picoseconds)));
    const double right = page_.snapped(time_(static_cast<double>(cell.end.picoseconds)));
    const double top = page_.snapped(lane + cell.top * frame_->lane_height());
    const double bottom = page_.snapped(lane + cell.bottom * frame_->lane_height());
    const bool apart = cell.microbatch && right - left >= 3 && !frame_->is_dense();
    return {left, top, std::max(right - left - (apart ? 0.5 : 0.0), 0.25), bottom - top};
  }

  Colour colour_of(ActionKind kind) const { return pass_colour(kind.pass, kind.chunk, chunks_); }

  const Plan& plan_;
  const Timeline& timeline_;
  const TimelinePicture& picture_;
  Page& page_;
  Canvas& canvas_;
  std::vector<Lane> lanes_;
  std::vector<Lane> strips_;
  std::vector<Lane> moves_;
  std::uint32_t last_microbatch_ = 0;
  std::set<Pass> passes_;       // that occur
  std::set<IdleCause> causes_;  // that occur, if causes are shown
  std::uint32_t chunks_;
  bool merged_ = false;  // whether some boxes are merged actions
  Time end_;
  Scale time_;  // from picoseconds
  std::optional<LaneFrame> frame_;
};

}  // namespace

double number_size(double box_width, double box_height, double width_at_1) {
  const double size = std::min((box_height - 2 * number_padding) / digit_height,
                               (box_width - 2 * number_padding) / width_at_1);
  return size < smallest_number ? 0 : std::min(size, largest_number);
}

std::string draw_timeline(PictureFormat format, const Plan& plan, const Timeline& timeline,
                          const TimelinePicture& picture) {
  Page page = open_page(picture.options, timeline_width);
  TimelineDrawing(plan, timeline, picture, page).draw();
  return render(format, page);
}

std::string_view pass_name(Pass pass) {
  constexpr std::array<std::string_view, pass_count> names{"forward",
                                                           "backward",
                                                           "input gradient",
                                                           "weight gradient",
                                                           "recompute",
                                                           "update",
                                                           "evict",
                                                           "load",
                                                           "send activation",
                                                           "send gradient",
                                                           "activation leaves",
                                                           "activation returns",
                                                           "reduce gradients",
                                                           "gather weights",
                                                           "tie gradients",
                                                           "reduce gradients early"};
  return names[static_cast<std::size_t>(pass)];
}

std::string_view cause_name(const Plan& plan, IdleCause cause) {
  if (plan.class_names.empty()) return name(cause);
  if (cause == IdleCause::warmup) return "before the first";
  return cause == IdleCause::drain ? "after the last" : "unexplained";
}

}  // namespace penstock
