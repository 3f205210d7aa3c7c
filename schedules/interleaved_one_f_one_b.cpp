#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "schedules/registry.hpp"
#include "schedules/rules.hpp"
#include "sim/error.hpp"

namespace penstock {
namespace {

constexpr std::array<ScheduleOption, 1> interleaved_options{
    {{"group", "microbatches that pass a chunk before the next chunk's turn, default min(p, m)"}}};

/// One turn of a rank in Megatron's schedule table: a chunk and a microbatch.
struct Turn {
  std::uint32_t chunk;
  Microbatch microbatch;
};

/// For each group of microbatches, each chunk in turn runs the whole group; the last group takes what
/// is left. Backwards follow the same table with the chunks in reverse.
std::vector<Turn> turns(std::uint32_t chunks, std::uint32_t microbatches, std::uint32_t group) {
  std::vector<Turn> table;
  table.reserve(std::size_t{chunks} * microbatches);
  for (std::uint32_t first = 0; first < microbatches; first += group) {
    const std::uint32_t end = std::min(first + group, microbatches);
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      for (Microbatch m : Numbers<Microbatch>(first, end)) table.push_back({chunk, m});
    }
  }
  return table;
}

std::uint32_t checked_group(const ScheduleOptions& options, std::uint32_t ranks) {
  const std::uint32_t m = options.microbatch_count;
  const std::uint32_t group = options.number("group", std::min(ranks, m));
  const bool allowed =
      m < ranks ? group == m
                : group >= ranks && group <= m && (m % group == 0 || m % group >= ranks);
  if (allowed) return group;
  throw RuleError(fmt::format(
      "group {} does not suit {} ranks and {} microbatches; a group holds at least as many "
      "microbatches as there are ranks (all of them when there are fewer), and so does what is left "
      "over after full groups",
      group, ranks, m));
}

Placement place(std::uint32_t ranks, std::uint32_t chunks) {
  return Placement::loop(ranks, chunks);
}

/// The stages of a rank as chunks; every rank must hold equally many, ascending.
std::vector<Stage> chunks_of(const Placement& placement, Rank rank) {
  std::vector<Stage> chunks = placement.stages_of(rank);
  const std::uint32_t each = placement.stage_count() / placement.ranks();
  bool fits = chunks.size() == each && each * placement.ranks() == placement.stage_count();
  for (std::uint32_t c = 0; fits && c < each; ++c) {
    fits = index(chunks[c]) == c * placement.ranks() + index(rank);
  }
  if (!fits) {
    throw RuleError("interleaved-1f1b needs stage s on rank s mod ranks, and as many stages on "
                    "every rank");
  }
  return chunks;
}

Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_no_replicas("interleaved-1f1b", placement);
  const std::uint32_t ranks = placement.ranks();
  const std::uint32_t group = checked_group(options, ranks);
  Schedule schedule(ranks);
  for (Rank rank : Numbers<Rank>(ranks)) {
    const std::vector<Stage> chunks = chunks_of(placement, rank);
    const auto count = static_cast<std::uint32_t>(chunks.size());
    const std::vector<Turn> table = turns(count, options.microbatch_count, group);
    const std::size_t spread = std::size_t{count == 1 ? 1U : 2U} * (ranks - 1 - index(rank));
    const std::size_t warm_up =
        std::min(table.size(), spread + (count - 1) * std::size_t{group});
    auto& order = schedule.on(rank);
    order.reserve(2 * table.size());
    for (std::size_t k = 0; k < table.size() + warm_up; ++k) {
      if (k < table.size()) {
        order.emplace_back(Pass::forward, chunks[table[k].chunk], table[k].microbatch);
      }
      if (k < warm_up) continue;
      const Turn& turn = table[k - warm_up];
      order.emplace_back(Pass::backward, chunks[count - 1 - turn.chunk], turn.microbatch);
    }
  }
  return schedule;
}

/// With fewer microbatches than ranks the order is longer, and no closed form is known.
double bubble(std::uint32_t ranks, std::uint32_t chunks, std::uint32_t microbatches) {
  if (microbatches < ranks) return std::numeric_limits<double>::quiet_NaN();
  return (ranks - 1.0) / (1.0 * microbatches * chunks + ranks - 1.0);
}

}  // namespace

constinit extern const ScheduleEntry interleaved_one_f_one_b_entry{
    .name = "interleaved-1f1b",
    .summary = "1f1b over several chunks a rank: a v-th of the bubble for more transfers",
    .needs = "group >= p and m mod group is 0 or >= p; for m < p group = m",
    .bubble = "(p-1)(f+b) of one chunk, for m >= p",
    .peak = "min(mv, (v-1)group + 2(p-1-r) + 1)",
    .default_chunks = 2,
    .options = interleaved_options,
    .place = place,
    .make = make,
    .bubble_of_makespan = bubble,
};

}  // namespace penstock
