#include "experiments/show/pictures/lanes/memory_lanes.hpp"

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
  const bool same = last.bytes == piece.bytes && last.by_kind == piece.by_kind;
  if (same || last.end - last.begin < shortest) {
    const HeldMemory& most = piece.bytes > last.bytes ? piece : last;
    last = {last.begin, piece.end, most.bytes, most.by_kind};
  } else {
    held.push_back(piece);
  }
}

}  // namespace

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
    MemoryLane& lane = memory.ranks[index(sample.rank)];
    if (piece.bytes > lane.peak.bytes) lane.peak = piece;
    add_piece(piece, shortest, lane.held);
    memory.most = std::max(memory.most, sample.bytes);
  }
  return memory;
}

}  // namespace penstock
