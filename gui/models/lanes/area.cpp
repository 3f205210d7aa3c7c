#include "gui/models/lanes/area.hpp"

#include <algorithm>
#include <cstdlib>

namespace penstock {
namespace {

/// Calls `visit(tag, length)` for the part of each box that lies between two moments.
template <class Visitor>
void for_each_part(const Track& track, std::int64_t begin, std::int64_t end, Visitor visit) {
  for (std::size_t i = track.first_ending_after(begin); i < track.size(); ++i) {
    if (track.begin_at(i) >= end) break;
    visit(track.tag[i], std::min(end, track.end_at(i)) - std::max(begin, track.begin_at(i)));
  }
}

}  // namespace

AreaUse use_of(const Area& area, const RunLanes& lanes, const Plan& plan) {
  AreaUse use;
  const std::int64_t begin = std::max<std::int64_t>(0, area.begin);
  const std::int64_t end = std::min(lanes.span, area.end);
  if (end <= begin) return use;
  const auto known = static_cast<std::uint32_t>(lanes.ranks.size());
  for (std::uint32_t rank = area.first_rank; rank < std::min(area.end_rank, known); ++rank) {
    const RankTracks& tracks = lanes.ranks[rank];
    for (const Track& track : tracks.compute) {
      for_each_part(track, begin, end, [&](TaskId task, std::int64_t length) {
        ++use.ops;
        use.by_pass[static_cast<std::size_t>(plan.class_of(task).pass)] += length;
      });
    }
    std::int64_t idle = 0;
    for_each_part(tracks.idle, begin, end, [&](std::uint32_t tag, std::int64_t length) {
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
