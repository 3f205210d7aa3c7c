#include <fmt/format.h>

#include <algorithm>

#include "schedules/policies/registry.hpp"

namespace penstock::memory_bounded_file {
namespace {

/// Starts a forward only when the rank has room for it and for the forwards of its later stages,
/// which must run before anything is freed. One microbatch can always proceed.
class MemoryBounded final : public Policy {
 public:
  MemoryBounded(std::vector<std::uint32_t> most, std::vector<std::uint32_t> takes)
      : most_(std::move(most)), takes_(std::move(takes)) {}

  std::optional<std::size_t> choose(const FreeRank& rank,
                                    std::span<const Candidate> candidates) const override {
    return most_urgent(candidates, [&](const Action& action) {
      return action.pass != Pass::forward ||
             rank.activations + takes_[index(action.stage)] <= most_[index(rank.rank)];
    });
  }

 private:
  std::vector<std::uint32_t> most_;   // by rank
  std::vector<std::uint32_t> takes_;  // by stage: with the later stages on its rank
};

/// The limit of 1f1b: one for the rank and each later rank, and p more for each further stage on
/// the rank.
std::uint32_t usual(const Placement& placement, Rank rank) {
  const auto stages = static_cast<std::uint32_t>(placement.stages_of(rank).size());
  return placement.ranks() * stages - index(rank);
}

std::vector<std::uint32_t> activations_taken(const Placement& placement) {
  std::vector<std::uint32_t> takes(placement.stage_count());
  for (Rank rank : Numbers<Rank>(placement.ranks())) {
    for (Stage one : placement.stages_of(rank)) {
      std::uint32_t behind = 0;
      for (Stage other : placement.stages_of(rank)) {
        if (placement.position(other) >= placement.position(one)) ++behind;
      }
      takes[index(one)] = std::max(takes[index(one)], behind);
    }
  }
  return takes;
}

std::unique_ptr<Policy> make(const Placement& placement, const ScheduleOptions& options,
                             std::span<const StagePrice> /*prices*/) {
  std::vector<std::uint32_t> most;
  for (Rank rank : Numbers<Rank>(placement.ranks())) {
    most.push_back(options.number("activations", usual(placement, rank)));
    const std::size_t stages = placement.stages_of(rank).size();
    if (most.back() >= stages) continue;
    throw RuleError(
        fmt::format("activations is {}, but rank {} holds {} stages with one activation each",
                    most.back(), index(rank), stages));
  }
  return std::make_unique<MemoryBounded>(std::move(most), activations_taken(placement));
}

constexpr ScheduleOption options[] = {
    {"activations", "most activations per rank; default p-r, plus p for each further stage"},
};

}  // namespace

constinit extern const PolicyEntry memory_bounded_entry{
    .name = "memory-bounded",
    .summary = "backward first; no forward that would exceed the activation limit of its rank",
    .options = options,
    .make = make,
};

}  // namespace penstock::memory_bounded_file
