#include "schedules/search/building_blocks.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>

namespace penstock {
namespace {

constexpr std::uint32_t chunks = 2;
constexpr std::int64_t slots = SearchPass::count * chunks;
constexpr std::uint32_t longest_hop = slots - 1;

/// What a rank runs of one microbatch: slots of F, I and W of both its chunks.
struct RankSlots {
  std::array<std::array<std::int64_t, SearchPass::count>, chunks> of{};
};

bool is_split_vee(const OrderProblem& problem) {
  const std::uint32_t ranks = problem.ranks();
  if (ranks < 2 || problem.stage_count() != chunks * ranks) return false;
  for (std::uint32_t s = 0; s < problem.stage_count(); ++s) {
    const std::uint32_t rank = s < ranks ? s : chunks * ranks - 1 - s;
    if (problem.stages[s].rank != rank || !problem.stages[s].splits) return false;
  }
  return true;
}

std::uint32_t stage_of_chunk(const OrderProblem& problem, std::uint32_t rank, std::uint32_t chunk) {
  return chunk == 0 ? rank : chunks * problem.ranks() - 1 - rank;
}

/// Each W takes the first slot behind its I that is free in every period; false if passes meet.
bool place_weights(RankSlots& rank) {
  std::array<bool, slots> taken{};
  for (const auto& chunk : rank.of) {
    for (const std::uint32_t pass : {SearchPass::forward, SearchPass::input}) {
      bool& slot = taken[static_cast<std::size_t>(chunk[pass] % slots)];
      if (slot) return false;
      slot = true;
    }
  }
  for (const std::uint32_t c : {1U, 0U}) {
    std::int64_t at = rank.of[c][SearchPass::input] + 1;
    while (taken[static_cast<std::size_t>(at % slots)]) ++at;
    taken[static_cast<std::size_t>(at % slots)] = true;
    rank.of[c][SearchPass::weight] = at;
  }
  return true;
}

/// By rank; empty if passes meet.
std::vector<RankSlots> slots_of(const BuildingBlock& block, std::uint32_t ranks) {
  std::vector<std::int64_t> out(ranks, 0);
  for (std::uint32_t r = 1; r < ranks; ++r) {
    out[r] = out[r - 1] + (r <= block.turn_rank ? block.hop : block.late_hop);
  }
  const std::int64_t back = ranks - 1;
  const std::int64_t second = out.back() + 1 + block.first_wait;
  const std::int64_t input = second + back + 1 + block.middle_wait;
  const std::int64_t last = input + out.back() + 1 + block.last_wait;
  std::vector<RankSlots> all(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    auto& [near, far] = all[r].of;
    near[SearchPass::forward] = out[r];
    far[SearchPass::forward] = second + back - r;
    far[SearchPass::input] = input + out[r];
    near[SearchPass::input] = last + back - r;
    if (!place_weights(all[r])) return {};
  }
  return all;
}

/// The most bytes that the repetition holds on a rank.
std::int64_t peak_of(const OrderProblem& problem, std::uint32_t rank, const RankSlots& own) {
  std::int64_t peak = 0;
  // A start behind all slots of the first microbatch, so that nothing below is negative.
  const std::int64_t begin = own.of[0][SearchPass::weight] / slots * slots + slots;
  for (std::int64_t at = begin; at < begin + slots; ++at) {
    std::int64_t held = 0;
    for (std::uint32_t c = 0; c < chunks; ++c) {
      const OrderStage& stage = problem.stages[stage_of_chunk(problem, rank, c)];
      const auto begun = [&](std::uint32_t pass, std::int64_t by) {
        return (by - own.of[c][pass] + slots * slots) / slots - slots;
      };
      const std::int64_t forwards = begun(SearchPass::forward, at);
      const std::int64_t weights = begun(SearchPass::weight, at - 1);
      held += (forwards - weights) * stage.change[SearchPass::forward];
    }
    peak = std::max(peak, held);
  }
  return peak;
}

/// What an activation of a rank takes at most; 1 where none takes anything.
std::int64_t bytes_of(const OrderProblem& problem, std::uint32_t rank) {
  std::int64_t bytes = 1;
  for (std::uint32_t c = 0; c < chunks; ++c) {
    const OrderStage& stage = problem.stages[stage_of_chunk(problem, rank, c)];
    bytes = std::max(bytes, stage.change[SearchPass::forward]);
  }
  return bytes;
}

/// The memory of a rank as a number of activations. More than two for each rank save nothing.
std::int64_t room_of(const OrderProblem& problem, std::uint32_t rank) {
  return std::min<std::int64_t>(problem.capacity[rank] / bytes_of(problem, rank),
                                chunks * problem.ranks());
}

/// Whether the repetition fits every rank; fills in how full they are.
bool fits(const OrderProblem& problem, BuildingBlock& block) {
  const auto all = slots_of(block, problem.ranks());
  if (all.empty()) return false;
  block.fullness = 0;
  for (std::uint32_t r = 0; r < problem.ranks(); ++r) {
    const std::int64_t peak = peak_of(problem, r, all[r]);
    const std::int64_t room = room_of(problem, r) * bytes_of(problem, r);
    if (peak > room) return false;
    block.fullness += static_cast<double>(peak) / static_cast<double>(room) / problem.ranks();
  }
  return true;
}

/// A rank's passes of the repeated block, by slot.
std::vector<CellClass> repeated(const OrderProblem& problem, std::uint32_t rank,
                                const RankSlots& own) {
  std::vector<std::pair<std::int64_t, CellClass>> passes;
  for (std::uint32_t c = 0; c < chunks; ++c) {
    for (std::uint32_t pass = 0; pass < SearchPass::count; ++pass) {
      const CellClass cell = cell_class(stage_of_chunk(problem, rank, c), pass);
      for (std::uint32_t m = 0; m < problem.microbatches; ++m) {
        passes.emplace_back(own.of[c][pass] + slots * m, cell);
      }
    }
  }
  std::ranges::sort(passes);
  std::vector<CellClass> sequence;
  for (const auto& [slot, cell] : passes) sequence.push_back(cell);
  return sequence;
}

}  // namespace

std::vector<BuildingBlock> building_blocks(const OrderProblem& problem) {
  std::vector<BuildingBlock> blocks;
  if (!is_split_vee(problem)) return blocks;
  const auto add = [&](BuildingBlock block) {
    for (std::uint32_t waits = 0; waits < slots * slots * slots; ++waits) {
      block.first_wait = waits % slots;
      block.middle_wait = waits / slots % slots;
      block.last_wait = waits / (slots * slots);
      if (fits(problem, block)) blocks.push_back(block);
    }
  };
  for (std::uint32_t hop = 1; hop <= longest_hop; ++hop) {
    add({.hop = hop, .late_hop = hop});
    for (std::uint32_t late = 1; late < hop; ++late) {
      for (std::uint32_t turn = 1; turn + 1 < problem.ranks(); ++turn) {
        add({.hop = hop, .late_hop = late, .turn_rank = turn});
      }
    }
  }
  std::ranges::stable_sort(blocks, std::greater{}, &BuildingBlock::fullness);
  return blocks;
}

RankSequences sequences_of_block(const OrderProblem& problem, const BuildingBlock& block) {
  RankSequences sequences;
  const auto all = slots_of(block, problem.ranks());
  for (std::uint32_t r = 0; r < all.size(); ++r) {
    sequences.push_back(repeated(problem, r, all[r]));
  }
  return sequences;
}

/// One look along what a rank has left.
struct GapFiller::Scan {
  Next best;
  Next spare;                // a W in the tail
  std::int64_t held = 0;     // after what was passed over
  std::int64_t highest = 0;  // while it runs
  bool tail = false;         // the rank is in its tail
  bool wants_room = false;   // of an F in the tail that is there
};

GapFiller::GapFiller(const OrderProblem& problem, TimeDirection direction)
    : GreedyRun(problem, direction), follows_(problem.ranks()), seen_(work_.size(), 0) {}

/// When the input of the next pass of a class is there; `never` while that is unknown.
SearchTime GapFiller::ready(CellClass cell) const {
  const std::uint32_t microbatch = done_[cell];
  const CellClass behind = work_[cell].behind;
  if (behind != no_class && done_[behind] <= microbatch) return never;
  return arrival_[number(cell, microbatch)];
}

/// Whether a pass can run now, with those that it overtakes, which need up to `highest`, after it.
bool GapFiller::fits(std::uint32_t rank, CellClass cell, std::int64_t highest) const {
  const Work& work = work_[cell];
  const std::int64_t capacity = problem_.capacity[rank];
  if (held_[rank] + work.during > capacity) return false;
  return work.change <= 0 || highest + work.change <= capacity;
}

bool GapFiller::fills_gap(SearchTime gap, CellClass cell) const {
  return gap > 0 &&
         static_cast<double>(gap) >= rule_.fill * static_cast<double>(work_[cell].duration);
}

bool GapFiller::in_tail(std::uint32_t rank) const {
  const auto& stages = stages_[rank];
  if (!has_tail_) return false;
  const auto ended = [this](std::uint32_t stage) {
    return done_[cell_class(stage, SearchPass::forward)] == microbatches_;
  };
  if (stages.empty() || !ended(stages.front())) return false;
  return rule_.early_tail || std::ranges::all_of(stages, ended);
}

void GapFiller::look_at(std::uint32_t rank, std::uint32_t place, std::uint32_t before, Scan& scan) {
  const CellClass cell = (*given_)[rank][place];
  const std::uint32_t pass = cell % SearchPass::count;
  const SearchTime at = ready(cell);
  if (at == never) return;
  const bool first = scan.tail && pass == SearchPass::forward;
  if (!fits(rank, cell, first ? held_[rank] : scan.highest)) {
    scan.wants_room = scan.wants_room || (first && at <= free_[rank]);
    return;
  }
  const Next next{std::max(at, free_[rank]), cell, place, before};
  if (scan.tail && pass == SearchPass::weight) {
    if (scan.spare.start == never) scan.spare = next;
    return;
  }
  const bool sooner = scan.best.start == never || fills_gap(scan.best.start - next.start, cell);
  if (sooner || (first && next.start <= scan.best.start)) scan.best = next;
}

/// Decides what a rank runs next, as far as is known.
void GapFiller::choose(std::uint32_t rank) {
  const std::vector<CellClass>& given = (*given_)[rank];
  const std::vector<std::uint32_t>& follows = follows_[rank];
  const auto end = static_cast<std::uint32_t>(given.size());
  Scan scan{
      .best = {}, .spare = {}, .held = held_[rank], .highest = held_[rank], .tail = in_tail(rank)};
  ++scan_;
  std::uint32_t before = end;
  for (std::uint32_t place = follows[end]; place != end; place = follows[place]) {
    const CellClass cell = given[place];
    if (seen_[cell] != scan_) {
      seen_[cell] = scan_;
      look_at(rank, place, before, scan);
      if (scan.best.start <= free_[rank] && !scan.tail) break;
    }
    scan.highest = std::max(scan.highest, scan.held + work_[cell].during);
    scan.held += work_[cell].change;
    before = place;
  }
  const bool spare =
      scan.spare.start < never && (scan.best.start == never || scan.wants_room ||
                                   fills_gap(scan.best.start - scan.spare.start, scan.spare.cell));
  next_[rank] = spare ? scan.spare : scan.best;
}

bool GapFiller::run(const RankSequences& sequences, const FillRule& rule, SearchTime limit) {
  rule_ = rule;
  given_ = &sequences;
  for (std::uint32_t rank = 0; rank < problem_.ranks(); ++rank) {
    const auto count = static_cast<std::uint32_t>(sequences[rank].size());
    follows_[rank].resize(count + 1);
    std::iota(follows_[rank].begin(), follows_[rank].end(), 1U);
    follows_[rank][count] = 0;  // the first; `count` itself is the end
  }
  return run_all(limit, [this](std::uint32_t rank, const Next* ran) {
    if (ran != nullptr) follows_[rank][ran->before] = follows_[rank][ran->place];
    choose(rank);
  });
}

}  // namespace penstock
