#include "gui/models/drawing/lane_hits.hpp"

#include <algorithm>
#include <cstddef>

namespace penstock {

const std::vector<Track>* tracks_in(const LaneRow& row, const PaintedRun& run) {
  if (row.kind == LaneKind::link) {
    const bool known = run.links != nullptr && row.rank < run.links->size();
    return known ? &(*run.links)[row.rank].tracks : nullptr;
  }
  if (row.rank >= run.lanes->ranks.size()) return nullptr;
  const RankTracks& tracks = run.lanes->ranks[row.rank];
  switch (row.kind) {
    case LaneKind::compute:
    case LaneKind::difference:
      return &tracks.compute;
    case LaneKind::send:
      return &tracks.send;
    case LaneKind::receive:
      return &tracks.receive;
    default:
      return nullptr;
  }
}

TaskId op_in(const LaneRow& row, const PaintedRun& run, double y, std::int64_t time) {
  const std::vector<Track>* const tracks = tracks_in(row, run);
  if (tracks == nullptr || y < 0 || y >= row.height) return no_task;
  const auto count = static_cast<double>(tracks->size());
  for (std::size_t t = 0; t < tracks->size(); ++t) {
    const double low = row.height * static_cast<double>(t) / count;
    const double high = row.height * static_cast<double>(t + 1) / count;
    if (y < low || y >= std::max(high, low + 1)) continue;
    const std::size_t box = (*tracks)[t].at(time);
    if (box < (*tracks)[t].size()) return (*tracks)[t].tag[box];
  }
  return no_task;
}

const LaneRow* row_of(const std::vector<LaneRow>& rows, const PaintedRun& run, std::uint8_t number,
                      TaskId task) {
  const Plan& plan = run.run->plan;
  const std::uint32_t resource = plan.class_of(task).resource;
  const std::uint32_t rank = rank_of_task(plan, task);
  const auto find = [&](LaneKind kind, std::uint32_t place) -> const LaneRow* {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const LaneRow& each) {
      return each.run == number && each.kind == kind && each.rank == place;
    });
    return row == rows.end() ? nullptr : &*row;
  };
  if (plan.is_link(resource)) {
    const bool sends = is_rank(plan.link(resource).from);
    if (const auto* row = find(sends ? LaneKind::send : LaneKind::receive, rank)) return row;
    if (const auto* row = find(LaneKind::link, resource - plan.ranks)) return row;
  }
  return find(LaneKind::compute, rank);
}

}  // namespace penstock
