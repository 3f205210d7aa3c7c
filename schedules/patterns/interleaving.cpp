#include "schedules/patterns/interleaving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// One entry of a rank in Megatron's schedule table: a chunk and a microbatch.
struct Turn {
  std::uint32_t chunk;
  Microbatch microbatch;
};

std::vector<Turn> interleaved_turns(std::uint32_t chunks, std::uint32_t microbatches,
                                    std::uint32_t group) {
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

/// The option "group"; default min(p, m).
std::uint32_t interleaved_group(const ScheduleOptions& options, std::uint32_t ranks) {
  const std::uint32_t m = options.microbatch_count;
  const std::uint32_t group = options.number("group", std::min(ranks, m));
  const bool allowed = m < ranks
                           ? group == m
                           : group >= ranks && group <= m && (m % group == 0 || m % group >= ranks);
  if (allowed) return group;
  throw RuleError(fmt::format(
      "group {} does not fit {} ranks and {} microbatches: a group, and the remainder after full "
      "groups, needs at least as many microbatches as there are ranks (all of them when there are "
      "fewer)",
      group, ranks, m));
}

/// Fills one rank's row from its table.
void fill(std::vector<Action>& order, const std::vector<Stage>& chunks,
          const std::vector<Turn>& table, std::size_t warm_up) {
  order.reserve(2 * table.size());
  for (std::size_t k = 0; k < table.size() + warm_up; ++k) {
    if (k < table.size()) {
      order.emplace_back(Pass::forward, chunks[table[k].chunk], table[k].microbatch);
    }
    if (k < warm_up) continue;
    const Turn& turn = table[k - warm_up];
    order.emplace_back(Pass::backward, chunks[chunks.size() - 1 - turn.chunk], turn.microbatch);
  }
}

}  // namespace

Schedule interleaved_order(std::string_view rule, std::uint32_t spread, const Placement& placement,
                           const ScheduleOptions& options) {
  require_no_replicas(rule, placement);
  const std::uint32_t ranks = placement.ranks();
  const std::uint32_t group = interleaved_group(options, ranks);
  Schedule schedule(ranks);
  for (Rank rank : Numbers<Rank>(ranks)) {
    const std::vector<Stage> chunks = looped_chunks(rule, placement, rank);
    const std::vector<Turn> table = interleaved_turns(static_cast<std::uint32_t>(chunks.size()),
                                                      options.microbatch_count, group);
    const std::size_t warm_up =
        (chunks.size() - 1) * group + std::size_t{spread} * (ranks - 1 - index(rank));
    fill(schedule.on(rank), chunks, table, std::min(table.size(), warm_up));
  }
  return schedule;
}

std::vector<Stage> looped_chunks(std::string_view rule, const Placement& placement, Rank rank) {
  std::vector<Stage> chunks = placement.stages_of(rank);
  const std::uint32_t ranks = placement.ranks();
  bool fits = std::uint64_t{ranks} * chunks.size() == placement.stage_count();
  for (std::uint32_t chunk = 0; fits && chunk < chunks.size(); ++chunk) {
    fits = index(chunks[chunk]) == chunk * ranks + index(rank);
  }
  if (fits) return chunks;
  throw RuleError(
      fmt::format("{} needs stage s on rank s mod p and equally many stages on every rank", rule));
}

double interleaved_bubble(std::uint32_t ranks, std::uint32_t chunks, std::uint32_t microbatches) {
  if (microbatches < ranks) return std::numeric_limits<double>::quiet_NaN();
  return (ranks - 1.0) / (1.0 * microbatches * chunks + ranks - 1.0);
}

}  // namespace penstock
