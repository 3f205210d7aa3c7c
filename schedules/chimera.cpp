#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "schedules/patterns/chimera_doubling.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock::chimera_file {
namespace {

constexpr std::array<std::string_view, 3> remedies{"none", "forward-doubling", "backward-halving"};
constexpr std::array<ScheduleOption, 1> takes{
    {{"remedy",
      "for b = 2f: none (default), forward-doubling (forwards in pairs), or backward-halving "
      "(microbatches in halves, numbered 2m and 2m+1; a cell costs half)"}}};

/// An action and its slot when every action takes one slot.
struct Slotted {
  std::uint32_t slot;
  Action action;
};

/// Adds one microbatch's forward and backward through all stages of a direction, one slot each,
/// starting at `slot`. Stages of the second direction are numbered ranks + s and lie on the ranks
/// in reverse.
void add_microbatch(std::vector<std::vector<Slotted>>& rows, Microbatch microbatch,
                    std::uint32_t direction, std::uint32_t slot) {
  const auto ranks = static_cast<std::uint32_t>(rows.size());
  for (std::uint32_t s = 0; s < ranks; ++s) {
    const Stage stage{direction * ranks + s};
    auto& row = rows[direction == 0 ? s : ranks - 1 - s];
    row.push_back({slot + s, {Pass::forward, stage, microbatch}});
    row.push_back({slot + 2 * ranks - 1 - s, {Pass::backward, stage, microbatch}});
  }
}

[[noreturn]] void refuse(std::uint32_t ranks, std::uint32_t microbatches, const char* needs) {
  throw RuleError(fmt::format("p = {} and m = {} do not fit: p must be even and {}", ranks,
                              microbatches, needs));
}

/// Units of p microbatches, half in each direction, each injected two slots after the previous one;
/// units follow each other directly.
Schedule concatenated(std::uint32_t ranks, const ScheduleOptions& options) {
  const std::uint32_t microbatches = options.microbatch_count;
  const bool half_unit = 2 * microbatches == ranks;
  if (ranks % 2 != 0 || (microbatches % ranks != 0 && !half_unit)) {
    refuse(ranks, microbatches, "m a multiple of p, or p/2");
  }
  std::vector<std::vector<Slotted>> rows(ranks);
  for (Microbatch m : options.microbatches()) {
    const std::uint32_t in_unit = index(m) % ranks;
    const std::uint32_t start = 2 * ranks * (index(m) / ranks);
    if (half_unit) {
      add_microbatch(rows, m, 0, 2 * in_unit);
    } else {
      add_microbatch(rows, m, in_unit % 2, start + 2 * (in_unit / 2));
    }
  }
  Schedule schedule(ranks);
  for (Rank rank : Numbers<Rank>(ranks)) {
    auto& row = rows[index(rank)];
    std::sort(row.begin(), row.end(),
              [](const Slotted& a, const Slotted& b) { return a.slot < b.slot; });
    for (const Slotted& entry : row) schedule.on(rank).push_back(entry.action);
  }
  return schedule;
}

std::uint32_t slices_for(const ScheduleOptions& options) {
  return options.choice("remedy", remedies) == "backward-halving" ? 2 : 1;
}

Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_two_directions("chimera", placement);
  const std::uint32_t ranks = placement.ranks();
  const std::uint32_t microbatches = options.microbatch_count;
  const std::string_view remedy = options.choice("remedy", remedies);
  if (remedy == "none") return concatenated(ranks, options);
  const bool halves = remedy == "backward-halving";
  const std::uint32_t unit = halves ? ranks : 2 * ranks;
  if (ranks % 2 != 0 || microbatches % unit != 0) {
    refuse(ranks, microbatches, halves ? "m a multiple of p" : "m a multiple of 2p");
  }
  // Pairs of halves work like pairs of whole microbatches, at half the size.
  return doubled_chimera(ranks, halves ? microbatches : microbatches / 2);
}

}  // namespace

constinit extern const ScheduleEntry chimera_entry{
    .name = "chimera",
    .summary = "bidirectional: each direction fills the bubble of the other",
    .needs = "p even, m a multiple of p (or p/2); two copies of the weights",
    .bubble =
        "(p-2)f at f = b and m a multiple of p; with a remedy (p-2)b at b = 2f, for twice the peak",
    .peak = "at most p",
    .default_chunks = 2,
    .copies = 2,
    .slices_for = slices_for,
    .options = takes,
    .place = two_directions,
    .make = make,
};

}  // namespace penstock::chimera_file
