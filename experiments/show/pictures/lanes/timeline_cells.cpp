#include "experiments/show/pictures/lanes/timeline_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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
  for (Lane& lane : moves) {
    std::stable_sort(lane.begin(), lane.end(),
                     [](const Cell& a, const Cell& b) { return a.begin < b.begin; });
  }
  return moves;
}

Time last_end(const std::vector<Lane>& lanes) {
  Time last{};
  for (const Lane& lane : lanes) {
    for (const Cell& cell : lane) last = std::max(last, cell.end);
  }
  return last;
}

}  // namespace penstock
