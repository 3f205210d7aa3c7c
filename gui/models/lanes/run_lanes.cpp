#include "gui/models/lanes/run_lanes.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "sim/report/idle.hpp"

namespace penstock {
namespace {

using Tasks = std::vector<TaskId>;

/// Puts tasks, sorted by begin, into as few tracks as they need, which look up the times of these
/// in `times`, if any.
template <class End>
std::vector<Track> tracks_of(const Timeline& timeline, Tasks& tasks, const Timeline* times,
                             End end_of) {
  const auto earlier = [&](TaskId a, TaskId b) { return timeline.begin[a] < timeline.begin[b]; };
  if (!std::is_sorted(tasks.begin(), tasks.end(), earlier)) {
    std::stable_sort(tasks.begin(), tasks.end(), earlier);
  }
  StackedBoxes boxes(times);
  for (const TaskId task : tasks) {
    boxes.add(timeline.begin[task].picoseconds, end_of(task).picoseconds, task);
  }
  return boxes.take();
}

/// By work class. The classes of the plan would fill the cache.
std::vector<std::uint32_t> resources_of(const Plan& plan) {
  std::vector<std::uint32_t> resources;
  for (const WorkClass& work : plan.classes) resources.push_back(work.resource);
  return resources;
}

struct TasksOfRank {
  Tasks compute, send, receive;
};

std::vector<TasksOfRank> tasks_by_rank(const Plan& plan, const Timeline& timeline) {
  std::vector<TasksOfRank> ranks(plan.ranks);
  const std::vector<std::uint32_t> resources = resources_of(plan);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (timeline.end[task] <= timeline.begin[task]) continue;
    const std::uint32_t resource = resources[plan.work[task]];
    if (!plan.is_link(resource)) {
      ranks[resource].compute.push_back(task);
      continue;
    }
    const Link& link = plan.link(resource);
    if (is_rank(link.from)) ranks[index(link.from)].send.push_back(task);
    if (is_rank(link.to) && !is_exchange(plan, plan.class_of(task)))
      ranks[index(link.to)].receive.push_back(task);
  }
  return ranks;
}

void add_idle_time(const Plan& plan, const Timeline& timeline, RunLanes& lanes) {
  // Tags of waits have no room for more tasks.
  const bool by_next = plan.tasks() < no_next;
  for (RankTracks& rank : lanes.ranks) {
    rank.idle.times = by_next ? &timeline : nullptr;
    rank.idle.waits = by_next;
  }
  GapFinder finder(plan, timeline);
  const auto add = [&](const IdleGap& gap) {
    Track& idle = lanes.ranks[index(gap.rank)].idle;
    for_each_cause(gap, [&](IdleCause cause, Time begin, Time end) {
      idle.add(begin.picoseconds, end.picoseconds, idle_tag(cause, gap.next));
    });
  };
  const std::vector<std::uint32_t> resources = resources_of(plan);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = resources[plan.work[task]];
    if (!plan.is_link(resource)) finder.before(task, resource, add);
  }
  finder.after_all(Time{lanes.span}, add);
  for (RankTracks& rank : lanes.ranks) rank.idle.shrink();
}

std::uint64_t ops_of(const Timeline& timeline) {
  std::uint64_t ops = 0;
  for (std::size_t task = 0; task < timeline.begin.size(); ++task) {
    ops += timeline.end[task] > timeline.begin[task] ? 1 : 0;
  }
  return ops;
}

/// The same ops at other times; whether they still follow each other.
bool fill_again(const Track& before, const Timeline& timeline, Track& track) {
  track.times = &timeline;
  track.tag = before.tag;
  std::int64_t end_before = 0;
  bool in_order = true;
  track.for_each([&](std::int64_t begin, std::int64_t end, std::uint32_t) {
    in_order = in_order && end > begin && begin >= end_before;
    end_before = end;
  });
  return in_order;
}

bool fill_again(const std::vector<Track>& before, const Timeline& timeline,
                std::vector<Track>& tracks) {
  tracks.resize(before.size());
  for (std::size_t t = 0; t < before.size(); ++t) {
    if (!fill_again(before[t], timeline, tracks[t])) return false;
  }
  return true;
}

}  // namespace

RunLanes lanes_of_run(const Plan& plan, const Timeline& timeline) {
  RunLanes lanes;
  lanes.span = makespan(plan, timeline).picoseconds;
  lanes.ops = ops_of(timeline);
  lanes.ranks.resize(plan.ranks);
  std::vector<TasksOfRank> tasks = tasks_by_rank(plan, timeline);
  const auto tracks = [&](Tasks& of) {
    return tracks_of(timeline, of, &timeline, [&](TaskId task) { return timeline.end[task]; });
  };
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    lanes.ranks[rank].compute = tracks(tasks[rank].compute);
    lanes.ranks[rank].send = tracks(tasks[rank].send);
    lanes.ranks[rank].receive = tracks(tasks[rank].receive);
    tasks[rank] = {};
  }
  add_idle_time(plan, timeline, lanes);
  return lanes;
}

RunLanes lanes_of_part(const Plan& plan, const Timeline& timeline, Time makespan, bool first,
                       bool last) {
  RunLanes lanes = lanes_of_run(plan, timeline);
  lanes.span = makespan.picoseconds;
  for (RankTracks& rank : lanes.ranks) {
    for (auto* tracks : {&rank.compute, &rank.send, &rank.receive}) {
      if (tracks->empty()) tracks->push_back({.times = &timeline});
    }
    Track idle{.times = rank.idle.times, .waits = rank.idle.waits};
    rank.idle.for_each([&](std::int64_t begin, std::int64_t end, std::uint32_t tag) {
      const bool ahead = cause_of(tag) == IdleCause::warmup && !first;
      const bool behind = cause_of(tag) == IdleCause::drain && !last;
      if (!ahead && !behind) idle.add(begin, end, tag);
    });
    rank.idle = std::move(idle);
  }
  return lanes;
}

RunLanes lanes_after(const RunLanes& before, const Plan& plan, const Timeline& timeline) {
  RunLanes lanes;
  lanes.span = makespan(plan, timeline).picoseconds;
  lanes.ops = ops_of(timeline);
  lanes.ranks.resize(before.ranks.size());
  bool keep_order = lanes.ops == before.ops && before.ranks.size() == plan.ranks;
  for (std::size_t r = 0; keep_order && r < lanes.ranks.size(); ++r) {
    keep_order = fill_again(before.ranks[r].compute, timeline, lanes.ranks[r].compute) &&
                 fill_again(before.ranks[r].send, timeline, lanes.ranks[r].send) &&
                 fill_again(before.ranks[r].receive, timeline, lanes.ranks[r].receive);
  }
  if (!keep_order) return lanes_of_run(plan, timeline);
  for (std::size_t r = 0; r < lanes.ranks.size(); ++r) {
    lanes.ranks[r].idle.reserve(before.ranks[r].idle.size());
  }
  add_idle_time(plan, timeline, lanes);
  return lanes;
}

std::vector<std::vector<Track>> link_lanes(const ViewedRun& run) {
  const Plan& plan = run.plan;
  std::vector<Tasks> transfers(plan.links.size());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (!plan.is_link(resource) || left_link_at(run, task) <= run.timeline.begin[task]) continue;
    transfers[resource - plan.ranks].push_back(task);
  }
  std::vector<std::vector<Track>> lanes;
  for (Tasks& of_link : transfers) {
    Tasks tasks = std::exchange(of_link, {});
    lanes.push_back(tracks_of(run.timeline, tasks, nullptr,
                              [&](TaskId task) { return left_link_at(run, task); }));
  }
  return lanes;
}

AreaUse use_of(const Area& area, const RunLanes& lanes, const Plan& plan) {
  AreaUse use;
  const std::int64_t begin = std::max<std::int64_t>(0, area.begin);
  const std::int64_t end = std::min(lanes.span, area.end);
  if (end <= begin) return use;
  const auto known = static_cast<std::uint32_t>(lanes.ranks.size());
  for (std::uint32_t rank = area.first_rank; rank < std::min(area.end_rank, known); ++rank) {
    if (!area.has(rank)) continue;
    const RankTracks& tracks = lanes.ranks[rank];
    for (const Track& track : tracks.compute) {
      track.for_each_part(begin, end, [&](TaskId task, std::int64_t length, std::int64_t) {
        ++use.ops;
        use.by_pass[static_cast<std::size_t>(plan.class_of(task).pass)] += length;
      });
    }
    std::int64_t idle = 0;
    tracks.idle.for_each_part(begin, end,
                              [&](std::uint32_t tag, std::int64_t length, std::int64_t) {
                                use.by_cause[static_cast<std::size_t>(cause_of(tag))] += length;
                                idle += length;
                              });
    use.busy += end - begin - idle;
  }
  return use;
}

std::optional<std::int64_t> nearest_edge(const RunLanes& lanes, std::uint32_t first_rank,
                                         std::uint32_t end_rank, std::int64_t time,
                                         std::int64_t at_most) {
  std::optional<std::int64_t> best;
  const auto offer = [&](std::int64_t edge) {
    const std::int64_t distance = std::llabs(edge - time);
    if (distance <= at_most && (!best || distance < std::llabs(*best - time))) best = edge;
  };
  for (std::uint32_t rank = first_rank; rank < end_rank && rank < lanes.ranks.size(); ++rank) {
    for (const Track& track : lanes.ranks[rank].compute) {
      const std::size_t box = track.first_ending_after(time);
      if (box > 0) offer(track.end_at(box - 1));
      if (box == track.size()) continue;
      offer(track.begin_at(box));
      offer(track.end_at(box));
    }
  }
  return best;
}

}  // namespace penstock
