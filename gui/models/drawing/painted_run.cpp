#include "gui/models/drawing/painted_run.hpp"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

std::vector<Pyramid> pyramids_of(const std::vector<Track>& tracks, const Colouring& colouring) {
  std::vector<Pyramid> pyramids;
  for (const Track& track : tracks) {
    pyramids.emplace_back(track, [&](std::uint32_t tag) { return colouring.category(tag); });
  }
  return pyramids;
}

bool same_tasks(const Plan& one, const Plan& other) {
  const auto alike = [](const WorkClass& a, const WorkClass& b) {
    return a.resource == b.resource && a.pass == b.pass && a.stage == b.stage;
  };
  return one.work == other.work && one.microbatch == other.microbatch && one.links == other.links &&
         one.ranks == other.ranks &&
         std::equal(one.classes.begin(), one.classes.end(), other.classes.begin(),
                    other.classes.end(), alike);
}

std::vector<RankPyramids> all_pyramids(const RunLanes& lanes, const Colouring& colouring) {
  std::vector<RankPyramids> all;
  for (const RankTracks& rank : lanes.ranks) {
    all.push_back({pyramids_of(rank.compute, colouring), pyramids_of(rank.send, colouring),
                   pyramids_of(rank.receive, colouring), Pyramid(rank.idle, idle_category)});
  }
  return all;
}

PaintedRunPtr coloured(ViewedRunPtr run, std::shared_ptr<const RunLanes> lanes, ColourBy by) {
  Colouring colouring(run->plan, by);
  std::vector<RankPyramids> pyramids = all_pyramids(*lanes, colouring);
  return std::make_shared<const PaintedRun>(PaintedRun{std::move(run),
                                                       std::move(lanes),
                                                       std::move(colouring),
                                                       by,
                                                       std::move(pyramids),
                                                       nullptr,
                                                       {}});
}

std::size_t bytes_of(const std::vector<Pyramid>& pyramids) {
  std::size_t sum = 0;
  for (const Pyramid& pyramid : pyramids) sum += pyramid.bytes();
  return sum;
}

}  // namespace

std::size_t PaintedRun::bytes() const {
  std::size_t sum = lanes->bytes();
  for (const RankPyramids& rank : pyramids) {
    sum +=
        bytes_of(rank.compute) + bytes_of(rank.send) + bytes_of(rank.receive) + rank.idle.bytes();
  }
  return sum;
}

PaintedRunPtr painted(ViewedRunPtr run, ColourBy by) {
  auto lanes = std::make_shared<const RunLanes>(lanes_of_run(run->plan, run->timeline));
  return coloured(std::move(run), std::move(lanes), by);
}

PaintedRunPtr painted_after(ViewedRunPtr run, const PaintedRun& before) {
  const Plan& plan = run->plan;
  const Plan& other = before.run->plan;
  if (!same_tasks(plan, other)) return painted(std::move(run), before.by);
  auto lanes = std::make_shared<const RunLanes>(lanes_after(*before.lanes, plan, run->timeline));
  return coloured(std::move(run), std::move(lanes), before.by);
}

PaintedRunPtr recoloured(const PaintedRun& run, ColourBy by) {
  auto changed = std::make_shared<PaintedRun>(*coloured(run.run, run.lanes, by));
  changed->memory = run.memory;
  changed->differences = run.differences;
  return changed;
}

PaintedRunPtr with_memory(const PaintedRun& run) {
  auto changed = std::make_shared<PaintedRun>(run);
  changed->memory = std::make_shared<const RunMemory>(memory_of_run(*run.run));
  return changed;
}

PaintedRunPtr with_differences(const PaintedRun& run, std::vector<double> differences) {
  auto changed = std::make_shared<PaintedRun>(run);
  changed->differences = std::move(differences);
  return changed;
}

}  // namespace penstock
