#include "experiments/show/pictures/lanes/memory_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace penstock
