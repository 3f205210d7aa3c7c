#include "schedules/patterns/chimera_doubling.hpp"

#include <optional>
#include <vector>

namespace penstock {
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

}  // namespace

Schedule doubled_chimera(std::uint32_t ranks, std::uint32_t pairs) {
  return Doubling(ranks, pairs).run();
}

}  // namespace penstock
