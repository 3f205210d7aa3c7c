#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/order/schedule.hpp"

namespace penstock::chimera_file {
namespace {

/// Runs all ranks slot by slot; a pair of forwards takes one slot, a backward also one.
/// Unobstructed, the j-th pair of a direction runs F of stage s in slot 3j+s and its two backwards
/// in slots 3j+2p-1-s and 3j+2p-s. In each slot a rank runs the ready action with the earliest such
/// slot, and a forward only while fewer than 2p activations are held. This leaves p-2 slots of
/// bubble for any number of pairs.
class Doubling {
 public:
  Doubling(std::uint32_t ranks, std::uint32_t pairs)
      : ranks_(ranks),
        pairs_(pairs / 2),
        sides_(std::size_t{2} * ranks),
        held_(ranks),
        schedule_(ranks) {}

  Schedule run() {
    std::uint64_t left = std::uint64_t{6} * ranks_ * pairs_;
    while (left > 0) {
      std::vector<Step> steps;
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        if (const auto step = next_of(rank)) steps.push_back(*step);
      }
      // Results of this slot are ready on other ranks from the next slot on.
      for (const Step& step : steps) take(step);
      left -= steps.size();
    }
    return std::move(schedule_);
  }

 private:
  /// Pairs of forwards and single backwards that a stage of a direction has run.
  struct Side {
    std::uint32_t forwards = 0;
    std::uint32_t backwards = 0;
  };
  struct Step {
    std::uint32_t rank;
    std::uint32_t direction;
    bool forward;
    std::uint32_t slot;  // in which it runs when unobstructed
  };

  std::uint32_t stage_on(std::uint32_t rank, std::uint32_t direction) const {
    return direction == 0 ? rank : ranks_ - 1 - rank;
  }
  Side& side(std::uint32_t direction, std::uint32_t stage) {
    return sides_[std::size_t{direction} * ranks_ + stage];
  }

  std::optional<Step> next_of(std::uint32_t rank) {
    std::optional<Step> best;
    const auto offer = [&](Step step) {
      if (!best || step.slot < best->slot) best = step;
    };
    for (std::uint32_t direction = 0; direction < 2; ++direction) {
      const std::uint32_t s = stage_on(rank, direction);
      const Side here = side(direction, s);
      const std::uint32_t j = here.forwards;
      const bool fed = s == 0 || side(direction, s - 1).forwards > j;
      if (j < pairs_ && fed && held_[rank] + 2 <= 2 * ranks_) {
        offer({rank, direction, true, 3 * j + s});
      }
      const std::uint32_t k = here.backwards;
      const bool returned = s + 1 == ranks_ || side(direction, s + 1).backwards > k;
      if (k / 2 < here.forwards && returned) {
        offer({rank, direction, false, 3 * (k / 2) + 2 * ranks_ - 1 - s + k % 2});
      }
    }
    return best;
  }

  void take(const Step& step) {
    const std::uint32_t s = stage_on(step.rank, step.direction);
    Side& here = side(step.direction, s);
    const Stage stage{step.direction * ranks_ + s};
    auto& order = schedule_.on(Rank{step.rank});
    // The j-th pair of a direction has the overall number 2j + direction.
    const auto first_of = [&](std::uint32_t j) { return 2 * (2 * j + step.direction); };
    if (step.forward) {
      const std::uint32_t first = first_of(here.forwards++);
      order.emplace_back(Pass::forward, stage, Microbatch{first});
      order.emplace_back(Pass::forward, stage, Microbatch{first + 1});
      held_[step.rank] += 2;
    } else {
      const std::uint32_t k = here.backwards++;
      order.emplace_back(Pass::backward, stage, Microbatch{first_of(k / 2) + k % 2});
      --held_[step.rank];
    }
  }

  std::uint32_t ranks_;
  std::uint32_t pairs_;  // per direction
  std::vector<Side> sides_;
  std::vector<std::uint32_t> held_;
  Schedule schedule_;
};

/// Chimera for backwards twice as long as forwards: forwards run in pairs, so that a pair takes as
/// long as one backward and units leave no gaps. Pair k is microbatches 2k and 2k+1; pairs
/// alternate between the two directions. `pairs` must be even.
Schedule doubled_chimera(std::uint32_t ranks, std::uint32_t pairs) {
  return Doubling(ranks, pairs).run();
}

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
    std::ranges::sort(row, {}, &Slotted::slot);
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
    .needs =
        "p even; m a multiple of p, or p/2 without a remedy; m a multiple of 2p with "
        "forward-doubling; two copies of the weights",
    .bubble =
        "(p-2)f at f = b and m a multiple of p; with a remedy, for twice the peak, (p-2)b at "
        "b = 2f, 3/4 of it at the smallest m",
    .peak = "at most p",
    .default_chunks = 2,
    .copies = 2,
    .slices_for = slices_for,
    .options = takes,
    .place = two_directions,
    .make = make,
};

}  // namespace penstock::chimera_file
