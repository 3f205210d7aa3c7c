#include "experiments/show/pictures/lanes/memory_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "experiments/input/files/table.hpp"
#include "experiments/show/pictures/lanes/lane_frame.hpp"
#include "experiments/show/pictures/page.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "sim/base/error.hpp"
#include "sim/timeline/memory_events.hpp"

namespace penstock {
namespace {

/// Adds a piece to the lane of a rank; one that starts within `shortest` of the previous joins it.
void add_piece(const HeldMemory& piece, Time shortest, MemoryLane& lane) {
  if (piece.bytes > lane.peak.bytes) lane.peak = piece;
  if (piece.begin == piece.end) return;
  if (lane.held.empty()) return lane.held.push_back(piece);
  HeldMemory& last = lane.held.back();
  const bool same = last.bytes == piece.bytes && last.by_kind == piece.by_kind;
  if (same || last.end - last.begin < shortest) {
    if (piece.bytes > last.bytes) last = {last.begin, piece.end, piece.bytes, piece.by_kind};
    last.end = piece.end;
  } else {
    lane.held.push_back(piece);
  }
}

void find_most(RunMemory& memory) {
  for (const MemoryLane& lane : memory.ranks) memory.most = std::max(memory.most, lane.peak.bytes);
}

constexpr double memory_width = 1200;
constexpr double memory_air = 9;
constexpr double lowest_area = 12;  // lowest lane that shows memory as height
constexpr double peak_gap = 8;      // between a lane and its peak value
constexpr double narrowest_step = 1;
constexpr int shade_levels = 24;

/// Draws one picture.
class MemoryDrawing {
 public:
  MemoryDrawing(const Plan& plan, const Timeline& timeline, const MemoryPicture& picture,
                Page& page)
      : plan_(plan), picture_(picture), page_(page), end_(makespan(plan, timeline)) {
    const double width = (page.width - 2 * margin_of(page)) * page.scale;
    const double shortest = narrowest_step * static_cast<double>(end_.picoseconds) / width;
    memory_ = run_memory(plan, timeline.memory, end_, {std::llround(shortest)}, picture.kinds);
    if (memory_.most == 0) {
      throw InputError(
          "no rank holds memory in this run; a model with sizes (layers, or stages with "
          "activation_bytes, stash_bytes or parameter_bytes) has memory to draw");
    }
  }

  void draw() {
    const double top = draw_top();
    lay_out(top);
    // Lanes that are too low to show kinds show their sum.
    if (!memory_.kinds.empty() && is_low()) {
      memory_.kinds.clear();
      lay_out(top);
    }
    draw_legend(page_.canvas, {margin_of(page_), top + legend_row / 2}, inner_width(page_),
                legend());
    if (!is_low()) draw_grounds();
    memory_.kinds.empty() ? draw_sums() : draw_kinds();
    draw_peaks();
    frame_->draw_names();
    frame_->draw_axis();
  }

 private:
  double peak_room() {
    return peak_gap + widest_text(page_.canvas, memory_.ranks, tick_style,
                                  [](const auto& lane) { return bytes_text(lane.peak.bytes); });
  }

  double draw_top() {
    const auto largest = std::ranges::max_element(
        memory_.ranks, {}, [](const MemoryLane& lane) { return lane.peak.bytes; });
    const std::string subtitle =
        fmt::format("memory of each rank; largest peak {}, on rank {}", bytes_text(memory_.most),
                    largest - memory_.ranks.begin());
    return draw_heading(page_, picture_.options.title.value_or(picture_.title), subtitle) +
           memory_air;
  }

  void lay_out(double top) {
    const double below = legend_height(page_.canvas, inner_width(page_), legend()) + memory_air;
    frame_.emplace(page_, plan_.ranks, end_, top + below, peak_room());
  }

  std::vector<LegendEntry> legend() const {
    std::vector<LegendEntry> entries;
    for (const BufferKind kind : memory_.kinds) {
      entries.push_back(legend_entry({{memory_colour(kind)}}, std::string(name(kind))));
    }
    if (entries.empty()) {
      Swatch swatch;
      for (int i = 0; i <= 4; ++i) swatch.colours.push_back(share_colour(i / 4.0));
      entries.push_back(legend_entry(swatch, "0 to " + bytes_text(memory_.most)));
    }
    entries.push_back(legend_entry({{peak_colour}}, "peak of the rank"));
    return entries;
  }

  double share(std::uint64_t bytes) const {
    return static_cast<double>(bytes) / static_cast<double>(memory_.most);
  }

  /// The box of a piece, from the bottom of its lane to a fraction of its height.
  Rectangle box_of(std::size_t shown, const HeldMemory& held, double height) const {
    const Scale& time = frame_->time();
    const double left = page_.snapped(time(static_cast<double>(held.begin.picoseconds)));
    const double right = page_.snapped(time(static_cast<double>(held.end.picoseconds)));
    const double bottom = frame_->lane_top(shown) + frame_->lane_height();
    const double full = height * frame_->lane_height();
    return {left, bottom - full, std::max(right - left, 0.0), full};
  }

  bool is_low() const { return frame_->lane_height() < lowest_area; }

  template <class Visitor>
  void for_each_piece(Visitor visit) const {
    for (std::size_t shown = 0; shown < frame_->ranks().size(); ++shown) {
      for (const HeldMemory& held : memory_.ranks[frame_->ranks()[shown]].held) visit(shown, held);
    }
  }

  void draw_grounds() {
    std::vector<Rectangle> grounds;
    for (std::size_t shown = 0; shown < frame_->ranks().size(); ++shown) {
      grounds.push_back(box_of(shown, {Time{}, end_, 0}, 1));
    }
    page_.canvas.fill(grounds, idle_ground);
  }

  /// Draws the sums. Low lanes are filled: their colour alone says how much it is.
  void draw_sums() {
    std::map<int, std::vector<Rectangle>> boxes;
    for_each_piece([&](std::size_t shown, const HeldMemory& held) {
      const double height = share(held.bytes);
      boxes[static_cast<int>(height * shade_levels)].push_back(
          box_of(shown, held, is_low() ? 1 : height));
    });
    for (const auto& [shade, areas] : boxes) {
      page_.canvas.fill(areas, share_colour(static_cast<double>(shade) / shade_levels));
    }
  }

  /// Draws kind upon kind.
  void draw_kinds() {
    std::map<BufferKind, std::vector<Rectangle>> boxes;
    for_each_piece([&](std::size_t shown, const HeldMemory& held) {
      std::uint64_t below = 0;
      for (const BufferKind kind : memory_.kinds) {
        const std::uint64_t bytes = held.by_kind[static_cast<std::size_t>(kind)];
        if (bytes == 0) continue;
        Rectangle box = box_of(shown, held, share(bytes));
        box.y -= share(below) * frame_->lane_height();
        boxes[kind].push_back(box);
        below += bytes;
      }
    });
    for (const auto& [kind, areas] : boxes) page_.canvas.fill(areas, memory_colour(kind));
  }

  /// Draws a line over each peak, or at its start in low lanes. Named ranks have their peak bytes
  /// on the right.
  void draw_peaks() {
    std::vector<Rectangle> lines;
    for (std::size_t shown = 0; shown < frame_->ranks().size(); ++shown) {
      const HeldMemory& peak = memory_.ranks[frame_->ranks()[shown]].peak;
      Rectangle line = box_of(shown, peak, is_low() ? 1 : share(peak.bytes));
      if (!is_low()) line = {line.x, line.y - 1, std::max(line.width, 2.0), 2};
      if (is_low()) line.width = 1.5;
      lines.push_back(line);
      if (shown % frame_->name_step() != 0) continue;
      page_.canvas.text(
          {frame_->time().to + peak_gap, frame_->lane_top(shown) + frame_->lane_height() / 2},
          bytes_text(peak.bytes), tick_style);
    }
    page_.canvas.fill(lines, peak_colour);
  }

  const Plan& plan_;
  const MemoryPicture& picture_;
  Page& page_;
  Time end_;
  RunMemory memory_;
  std::optional<LaneFrame> frame_;
};

}  // namespace

const HeldMemory* MemoryLane::at(Time time) const {
  const auto after =
      std::upper_bound(held.begin(), held.end(), time,
                       [](Time moment, const HeldMemory& each) { return moment < each.begin; });
  return after == held.begin() ? nullptr : &after[-1];
}

std::vector<BufferKind> kinds_in(const std::vector<BytesByKind>& samples) {
  std::vector<BufferKind> always, passing;
  for (std::size_t k = 0; k < buffer_kinds; ++k) {
    const bool occurs = std::any_of(samples.begin(), samples.end(),
                                    [k](const BytesByKind& bytes) { return bytes[k] > 0; });
    const auto kind = static_cast<BufferKind>(k);
    if (occurs) (for_whole_run(kind) ? always : passing).push_back(kind);
  }
  always.insert(always.end(), passing.begin(), passing.end());
  return always;
}

RunMemory run_memory(const Plan& plan, const std::vector<MemorySample>& samples, Time end,
                     Time shortest, const std::vector<BytesByKind>& kinds) {
  RunMemory memory{kinds_in(kinds), std::vector<MemoryLane>(plan.ranks)};
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const MemorySample& sample = samples[i];
    if (index(sample.rank) >= plan.ranks) {
      throw InputError(fmt::format("a memory sample is of rank {}, and the plan has {} ranks",
                                   index(sample.rank), plan.ranks));
    }
    const bool goes_on = i + 1 < samples.size() && samples[i + 1].rank == sample.rank;
    const HeldMemory piece{sample.time, goes_on ? samples[i + 1].time : std::max(end, sample.time),
                           sample.bytes, kinds.empty() ? BytesByKind{} : kinds[i]};
    add_piece(piece, shortest, memory.ranks[index(sample.rank)]);
  }
  find_most(memory);
  return memory;
}

RunMemory run_memory(const Plan& plan, const Costs& costs, const Timeline& timeline, Time end,
                     Time shortest) {
  RunMemory memory{{}, std::vector<MemoryLane>(plan.ranks)};
  std::vector<HeldMemory> now(plan.ranks);
  const std::size_t usual = plan.tasks() / std::max(1U, plan.ranks) + 1;
  std::vector<BytesByKind> seen(1);  // something of each kind that occurs
  const auto close = [&](std::uint32_t rank, Time until) {
    now[rank].end = until;
    add_piece(now[rank], shortest, memory.ranks[rank]);
    for (std::size_t k = 0; k < buffer_kinds; ++k) seen.front()[k] |= now[rank].by_kind[k];
  };
  for_each_holding(plan, costs, timeline, [&](std::uint32_t rank, const Holding& holding) {
    if (holding.task == no_task) {
      memory.ranks[rank] = {};
      memory.ranks[rank].held.reserve(usual);
    } else if (holding.time != now[rank].begin) {
      close(rank, holding.time);
    }
    now[rank] = {holding.time, {}, holding.bytes, holding.by_kind};
  });
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    close(rank, std::max(end, now[rank].begin));
  }
  memory.kinds = kinds_in(seen);
  find_most(memory);
  return memory;
}

std::string draw_memory(PictureFormat format, const Plan& plan, const Timeline& timeline,
                        const MemoryPicture& picture) {
  if (timeline.memory.empty()) {
    throw InputError(
        "this timeline has no memory samples; those that run --timeline writes for a model with "
        "sizes have them");
  }
  Page page = open_page(picture.options, memory_width);
  MemoryDrawing(plan, timeline, picture, page).draw();
  return render(format, page);
}

}  // namespace penstock
