#include "experiments/pictures/lanes/memory_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Adds a piece; a piece that starts within `shortest` of the previous one joins it.
void add_piece(const HeldMemory& piece, Time shortest, std::vector<HeldMemory>& held) {
  if (piece.begin == piece.end) return;
  if (held.empty()) return held.push_back(piece);
  HeldMemory& last = held.back();
  if (last.bytes == piece.bytes || last.end - last.begin < shortest) {
    last = {last.begin, piece.end, std::max(last.bytes, piece.bytes)};
  } else {
    held.push_back(piece);
  }
}

}  // namespace

std::vector<MemoryLane> memory_lanes(const Plan& plan, const Timeline& timeline, Time end,
                                     Time shortest) {
  std::vector<MemoryLane> lanes(plan.ranks);
  const std::vector<MemorySample>& samples = timeline.memory;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const MemorySample& sample = samples[i];
    if (index(sample.rank) >= lanes.size()) {
      throw InputError(fmt::format("a memory sample is of rank {}, and the plan has {} ranks",
                                   index(sample.rank), lanes.size()));
    }
    const bool goes_on = i + 1 < samples.size() && samples[i + 1].rank == sample.rank;
    const HeldMemory piece{sample.time, goes_on ? samples[i + 1].time : std::max(end, sample.time),
                           sample.bytes};
    MemoryLane& lane = lanes[index(sample.rank)];
    if (piece.bytes > lane.peak.bytes) lane.peak = piece;
    add_piece(piece, shortest, lane.held);
  }
  return lanes;
}

}  // namespace penstock
