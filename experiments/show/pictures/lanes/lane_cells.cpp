#include "experiments/show/pictures/lanes/lane_cells.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "experiments/show/pictures/palette.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

bool has_length(const Timeline& timeline, TaskId task) {
  return timeline.end[task] > timeline.begin[task];
}

/// The full height of the lane, or half for a part of a fused cell: the first part is on top. A
/// part has the full height if the other one has no length.
std::pair<double, double> height_of(const Plan& plan, const Timeline& timeline, TaskId task) {
  const WorkClass& work = plan.class_of(task);
  if (work.partner == UINT32_MAX) return {0, 1};
  if (!has_length(timeline, work.follows_partner ? task - 1 : task + 1)) return {0, 1};
  return work.follows_partner ? std::pair{0.5, 1.0} : std::pair{0.0, 0.5};
}

/// A rank waits once for its first action, and once behind its last: no part of a pattern.
bool comes_once(const CellKind& kind) {
  const auto* cause = std::get_if<IdleCause>(&kind);
  return cause != nullptr && (*cause == IdleCause::warmup || *cause == IdleCause::drain);
}

/// Short cells that are drawn as one band.
class Band {
 public:
  bool empty() const { return areas_.empty(); }

  void add(const Cell& cell) {
    alone_ = empty();
    if (alone_) first_ = cell;
    begin_ = first_.begin;
    end_ = alone_ ? cell.end : std::max(end_, cell.end);
    area(cell.kind) +=
        static_cast<double>((cell.end - cell.begin).picoseconds) * (cell.bottom - cell.top);
  }

  /// Whether a visible gap separates the band from `cell`.
  bool apart_from(const Cell& cell, Time shortest) const { return cell.begin - end_ >= shortest; }
  /// Whether the band can end before `cell`: it is long enough and contains whole periods of a
  /// repeating pattern, so that bands of a steady state have equal shares.

  bool complete_before(const Cell& cell, Time shortest, int least) const {
    if (cell.begin < end_) return false;
    const std::int64_t times = (end_ - begin_).picoseconds / shortest.picoseconds;
    return times >= std::max(2 * least, 4) || (times >= least && cell.kind == first_.kind);
  }

  /// Includes the gap up to the next band.
  void extend_to(Time end) { end_ = end; }
  /// Extends this band by an adjacent one that looks the same.

  bool join(const Band& next) {
    constexpr double unseen = 0.02;  // fraction of the lane height
    if (empty() || next.begin_ != end_) return false;
    for (const auto& [kind, area] : areas_) {
      if (std::abs(share(kind) - next.share(kind)) > unseen) return false;
    }
    for (const auto& [kind, area] : next.areas_) {
      if (std::abs(share(kind) - next.share(kind)) > unseen) return false;
    }
    for (const auto& [kind, more] : next.areas_) area(kind) += more;
    end_ = next.end_;
    alone_ = false;
    return true;
  }

  void draw(Lane& lane) const {
    if (alone_ && !empty()) return lane.push_back(first_);
    double bottom = 1;
    for (const auto& [kind, area] : areas_) {
      const double top = std::max(0.0, bottom - area / length());
      lane.push_back({begin_, end_, kind, top, bottom, {}});
      bottom = top;
    }
  }

 private:
  double length() const { return static_cast<double>((end_ - begin_).picoseconds); }

  double share(CellKind kind) const {
    for (const auto& [other, area] : areas_) {
      if (other == kind) return area / length();
    }
    return 0;
  }

  double& area(CellKind kind) {
    const auto at = std::lower_bound(areas_.begin(), areas_.end(), kind,
                                     [](const auto& entry, CellKind k) { return entry.first < k; });
    if (at != areas_.end() && at->first == kind) return at->second;
    return areas_.insert(at, {kind, 0.0})->second;
  }

  Time begin_{};
  Time end_{};
  Cell first_{};
  bool alone_ = true;                               // contains only `first_`
  std::vector<std::pair<CellKind, double>> areas_;  // by kind, in picoseconds at full lane height
};

/// Collects bands and merges equal neighbours.
class Merging {
 public:
  Merging(Time shortest, int least) : shortest_(shortest), least_(least) {}

  void add(const Cell& cell) {
    if (cell.end - cell.begin >= shortest_ || comes_once(cell.kind)) {
      close_run();
      merged_.push_back(cell);
      return;
    }
    if (!band_.empty() && band_.apart_from(cell, shortest_)) close_run();
    if (!band_.empty() && band_.complete_before(cell, shortest_, least_)) {
      band_.extend_to(cell.begin);
      close_band();
    }
    band_.add(cell);
  }
  Lane finish() {
    close_run();
    return std::move(merged_);
  }

 private:
  void close_band() {
    if (band_.empty()) return;
    if (!before_.join(band_)) {
      before_.draw(merged_);
      before_ = std::move(band_);
    }
    band_ = {};
  }
  void close_run() {
    close_band();
    before_.draw(merged_);
    before_ = {};
  }

  Time shortest_;
  int least_;
  Lane merged_;
  Band before_;  // the last complete band, which may still grow
  Band band_;
};

Colour colour_of(const CellKind& kind, std::uint32_t chunks) {
  if (const auto* cause = std::get_if<IdleCause>(&kind)) return idle_colour(*cause);
  const auto& action = std::get<ActionKind>(kind);
  return pass_colour(action.pass, action.chunk, chunks);
}

Colour mixture(std::span<const Cell> cells, std::uint32_t chunks) {
  double red = 0, green = 0, blue = 0, free = 1;
  const auto add = [&](Colour colour, double share) {
    red += share * colour.red;
    green += share * colour.green;
    blue += share * colour.blue;
    free -= share;
  };
  for (const Cell& cell : cells) add(colour_of(cell.kind, chunks), cell.bottom - cell.top);
  add(idle_ground, std::max(free, 0.0));
  const auto channel = [](double value) {
    return static_cast<std::uint8_t>(std::clamp(4 * std::lround(value / 4), 0L, 255L));
  };
  return {channel(red), channel(green), channel(blue)};
}

}  // namespace

std::vector<ChunkPlace> chunks_of(const Plan& plan) {
  std::vector<std::vector<Stage>> stages(plan.resources());
  for (const WorkClass& work : plan.classes) stages[work.resource].push_back(work.stage);
  for (auto& held : stages) {
    std::sort(held.begin(), held.end());
    held.erase(std::unique(held.begin(), held.end()), held.end());
  }
  std::vector<ChunkPlace> chunks;
  chunks.reserve(plan.classes.size());
  for (const WorkClass& work : plan.classes) {
    const auto& held = stages[work.resource];
    const auto place = std::lower_bound(held.begin(), held.end(), work.stage);
    chunks.push_back({static_cast<std::uint32_t>(place - held.begin()),
                      static_cast<std::uint32_t>(held.size())});
  }
  return chunks;
}

std::uint32_t most_chunks(const Plan& plan) {
  std::uint32_t most = 0;
  const std::vector<ChunkPlace> places = chunks_of(plan);
  for (std::size_t c = 0; c < places.size(); ++c) {
    if (!plan.is_link(plan.classes[c].resource)) most = std::max(most, places[c].chunks);
  }
  return most;
}

std::string shades_text(const Plan& plan) {
  if (plan.modules.empty()) {
    return fmt::format("{} 0 to {}", has_exchanges(plan) ? "pieces" : "chunks",
                       most_chunks(plan) - 1);
  }
  std::vector<std::set<std::string>> names(most_chunks(plan));
  const std::vector<ChunkPlace> places = chunks_of(plan);
  for (std::size_t c = 0; c < places.size(); ++c) {
    if (plan.is_link(plan.classes[c].resource)) continue;
    const std::string& module = plan.modules[index(plan.classes[c].stage)];
    names[places[c].chunk].insert(module.empty() ? "the model" : module);
  }
  std::string text;
  for (const auto& shade : names) {
    text += fmt::format("{}{}", text.empty() ? "" : ", then ", fmt::join(shade, " or "));
  }
  return text;
}

std::vector<Lane> lanes(const Plan& plan, const Timeline& timeline) {
  std::vector<Lane> lanes(plan.ranks);
  if (timeline.begin.empty()) return lanes;
  if (timeline.begin.size() != plan.tasks() || timeline.end.size() != plan.tasks()) {
    throw InputError(
        fmt::format("the timeline has {} spans and the plan {} tasks; a timeline is "
                    "drawn with the plan that it was made from",
                    timeline.begin.size(), plan.tasks()));
  }
  const std::vector<ChunkPlace> places = chunks_of(plan);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (plan.is_link(work.resource) || !has_length(timeline, task)) continue;
    const auto [top, bottom] = height_of(plan, timeline, task);
    lanes[work.resource].push_back({timeline.begin[task], timeline.end[task],
                                    ActionKind{work.pass, places[plan.work[task]].chunk}, top,
                                    bottom, plan.microbatch[task]});
  }
  return lanes;
}

std::vector<Lane> tail_strips(const Plan& plan, const Timeline& timeline) {
  constexpr double height = 0.14;
  std::vector<Lane> strips(plan.ranks);
  if (timeline.begin.empty()) return strips;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (!is_tail(work.pass) || !has_length(timeline, task)) continue;
    const Rank from = plan.link(work.resource).from;
    if (!is_rank(from)) continue;
    // Ties have separate links, so they run concurrently with other transfers.
    const double bottom = work.pass == Pass::tie_gradient ? 1 - height : 1;
    strips[index(from)].push_back({timeline.begin[task], timeline.end[task],
                                   ActionKind{work.pass, 0}, bottom - height, bottom,
                                   plan.microbatch[task]});
  }
  return strips;
}

std::vector<Lane> stash_moves(const Plan& plan, const Timeline& timeline) {
  constexpr double height = 0.16;
  std::vector<Lane> moves(plan.ranks);
  if (timeline.begin.empty()) return moves;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    const bool leaves = work.pass == Pass::send_evicted;
    if (!leaves && work.pass != Pass::send_loaded) continue;
    const Link& link = plan.link(work.resource);
    const Rank owner = leaves ? link.from : link.to;
    moves[index(owner)].push_back({timeline.begin[task], timeline.end[task],
                                   ActionKind{work.pass, 0}, 0, height, plan.microbatch[task]});
  }
  for (Lane& lane : moves) std::ranges::stable_sort(lane, {}, &Cell::begin);
  return moves;
}

void add_idle(std::vector<Lane>& lanes, const std::vector<IdleGap>& gaps) {
  for (const IdleGap& gap : gaps) {
    if (index(gap.rank) >= lanes.size()) {
      throw InputError(fmt::format("an idle gap is of rank {}, and the plan has {} ranks",
                                   index(gap.rank), lanes.size()));
    }
    Lane& lane = lanes[index(gap.rank)];
    for_each_cause(gap, [&](IdleCause cause, Time begin, Time end) {
      lane.push_back({begin, end, cause, 0, 1, {}});
    });
  }
  for (Lane& lane : lanes) std::ranges::stable_sort(lane, {}, &Cell::begin);
}

Lane merge_short(const Lane& lane, Time shortest, int least) {
  Merging merging(shortest, least);
  for (const Cell& cell : lane) merging.add(cell);
  return merging.finish();
}

std::vector<MixedCell> mixed_cells(const Lane& lane, std::uint32_t chunks) {
  std::vector<MixedCell> mixed;
  for (auto first = lane.begin(); first != lane.end();) {
    const auto end = std::find_if(first, lane.end(), [first](const Cell& cell) {
      return cell.begin != first->begin || cell.end != first->end;
    });
    Cell whole = *first;
    whole.top = 0;
    whole.bottom = 1;
    const bool pure = end - first == 1 && *first == whole;
    mixed.push_back({whole, pure ? colour_of(first->kind, chunks) : mixture({first, end}, chunks)});
    first = end;
  }
  return mixed;
}

}  // namespace penstock
