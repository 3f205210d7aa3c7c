#include "schedules/policies/registry.hpp"

namespace penstock {
namespace {

/// Begins a forward only while the rank holds fewer activations than it may.
class MemoryBounded final : public Policy {
 public:
  explicit MemoryBounded(std::vector<std::uint32_t> most) : most_(std::move(most)) {}

  std::optional<std::size_t> choose(const FreeRank& rank,
                                    std::span<const Candidate> candidates) const override {
    return most_urgent(candidates, [&](Pass pass) {
      return pass != Pass::forward || rank.activations < most_[index(rank.rank)];
    });
  }

 private:
  std::vector<std::uint32_t> most_;  // by rank
};

/// As many as 1f1b needs: one for each rank behind and for itself, and p more for each further
/// stage that the rank holds.
std::uint32_t usual(const Placement& placement, Rank rank) {
  const auto stages = static_cast<std::uint32_t>(placement.stages_of(rank).size());
  return placement.ranks() * stages - index(rank);
}

std::unique_ptr<Policy> make(const Placement& placement, const ScheduleOptions& options) {
  std::vector<std::uint32_t> most;
  for (Rank rank : Numbers<Rank>(placement.ranks())) {
    most.push_back(options.number("activations", usual(placement, rank)));
  }
  return std::make_unique<MemoryBounded>(std::move(most));
}

constexpr ScheduleOption options[] = {
    {"activations", "the most that a rank holds; default p-r, and p more for each further stage"},
};

}  // namespace

constinit extern const PolicyEntry memory_bounded_entry{
    .name = "memory-bounded",
    .summary = "backward first, and no forward that would have a rank hold more than it may",
    .options = options,
    .make = make,
};

}  // namespace penstock
