#include "gui/models/view/op_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "experiments/show/results/run_summary.hpp"
#include "gui/models/view/time_axis.hpp"

namespace penstock {
namespace {

const std::vector<Track>& tracks_of_task(const Plan& plan, const RunLanes& lanes, TaskId task) {
  const RankTracks& rank = lanes.ranks[rank_of_task(plan, task)];
  const std::uint32_t resource = plan.class_of(task).resource;
  if (!plan.is_link(resource)) return rank.compute;
  return is_rank(plan.link(resource).from) ? rank.send : rank.receive;
}

}  // namespace

TaskId OpSteps::in_lane(TaskId task, bool forward) const {
  const auto key = [&](TaskId t) { return std::pair(timeline.begin[t].picoseconds, t); };
  TaskId best = no_task;
  for (const Track& track : tracks_of_task(plan, lanes, task)) {
    std::size_t box = track.first_ending_after(timeline.begin[task].picoseconds);
    const std::size_t from = box > 2 ? box - 2 : 0;
    for (box = from; box < std::min(track.size(), from + 5); ++box) {
      const TaskId other = track.tag[box];
      const bool ahead = forward ? key(other) > key(task) : key(other) < key(task);
      if (!ahead) continue;
      const bool nearer =
          best == no_task || (forward ? key(other) < key(best) : key(other) > key(best));
      if (nearer) best = other;
    }
  }
  return best;
}

TaskId OpSteps::cause(TaskId task) const {
  const TaskId input = timeline.last_input[task];
  const TaskId before = in_lane(task, false);
  if (input == no_task) return before;
  if (before == no_task) return input;
  return timeline.end[before] >= timeline.end[input] ? before : input;
}

TaskId OpSteps::effect(TaskId task) const {
  TaskId best = no_task;
  const auto offer = [&](TaskId other) {
    if (best == no_task || timeline.begin[other] < timeline.begin[best]) best = other;
  };
  for (TaskId other = task + 1; other < plan.tasks(); ++other) {
    if (timeline.last_input[other] == task && cause(other) == task) offer(other);
  }
  const TaskId behind = in_lane(task, true);
  if (behind != no_task && cause(behind) == task) offer(behind);
  return best;
}

TaskId OpSteps::in_microbatch(TaskId task, bool forward) const {
  const WorkClass& work = plan.class_of(task);
  const std::uint32_t now = index(plan.microbatch[task]);
  TaskId best = no_task;
  for (TaskId other = 0; other < plan.tasks(); ++other) {
    const WorkClass& its = plan.class_of(other);
    if (its.pass != work.pass || its.stage != work.stage) continue;
    const std::uint32_t number = index(plan.microbatch[other]);
    if (forward ? number <= now : number >= now) continue;
    const bool nearer = best == no_task || (forward ? number < index(plan.microbatch[best])
                                                    : number > index(plan.microbatch[best]));
    if (nearer) best = other;
  }
  return best;
}

TaskId OpSteps::on_rank(std::uint32_t rank, std::int64_t time) const {
  if (rank >= lanes.ranks.size() || lanes.ranks[rank].compute.empty()) return no_task;
  const Track& track = lanes.ranks[rank].compute.front();
  const std::size_t box = std::min(track.first_ending_after(time), track.size() - 1);
  return track.tag[box];
}

std::vector<IdlePiece> longest_idle(const RunLanes& lanes, std::size_t most) {
  std::vector<IdlePiece> pieces;
  for (std::uint32_t rank = 0; rank < lanes.ranks.size(); ++rank) {
    const Track& idle = lanes.ranks[rank].idle;
    for (std::size_t i = 0; i < idle.size(); ++i) {
      pieces.push_back(
          {rank, idle.begin_at(i), idle.end_at(i), cause_of(idle.tag[i]), next_of(idle.tag[i])});
    }
  }
  const auto longer = [](const IdlePiece& a, const IdlePiece& b) {
    return std::tuple(b.end - b.begin, a.begin, a.rank) <
           std::tuple(a.end - a.begin, b.begin, b.rank);
  };
  const auto count = static_cast<std::ptrdiff_t>(std::min(most, pieces.size()));
  std::partial_sort(pieces.begin(), pieces.begin() + count, pieces.end(), longer);
  pieces.resize(static_cast<std::size_t>(count));
  return pieces;
}

std::string op_text(const Plan& plan, const Timeline& timeline, TaskId task, std::string_view of) {
  const std::int64_t begin = timeline.begin[task].picoseconds;
  const std::int64_t end = timeline.end[task].picoseconds;
  return fmt::format("{}{}, {}: {} to {} ({}), microbatch {}", task_text(plan, task), of,
                     place_text(plan, plan.class_of(task).resource), short_time(begin),
                     short_time(end), short_time(end - begin), index(plan.microbatch[task]));
}

}  // namespace penstock
