#include <algorithm>
#include <array>

#include "schedules/patterns/rules.hpp"
#include "schedules/policies/choosing/zero_bubble_search.hpp"
#include "schedules/policies/registry.hpp"

namespace penstock::zero_bubble_file {
namespace {

/// Follows rows found beforehand.
class ZeroBubble final : public Policy {
 public:
  explicit ZeroBubble(Schedule schedule) : schedule_(std::move(schedule)) {}

  std::optional<std::size_t> choose(const FreeRank& rank,
                                    std::span<const Candidate> candidates) const override {
    const Action& next = schedule_.on(rank.rank)[rank.chosen];
    const auto found = std::ranges::find_if(candidates, [&](const Candidate& one) {
      return one.action.microbatch == next.microbatch && turn_of(one.action.pass) == next.pass;
    });
    if (found == candidates.end()) return std::nullopt;
    return static_cast<std::size_t>(found - candidates.begin());
  }

 private:
  /// R takes the turn of its I.
  static Pass turn_of(Pass pass) { return pass == Pass::recompute ? Pass::backward_input : pass; }

  Schedule schedule_;
};

void require_one_chain(const Placement& placement) {
  require_one_stage_a_rank("zero-bubble", placement);
  require_no_replicas("zero-bubble", placement);
  if (placement.chains().size() > 1) {
    throw RuleError("the placement has several copies of the model; zero-bubble supports one");
  }
}

std::vector<StagePrice> along(const std::vector<Stage>& chain, std::span<const StagePrice> prices) {
  std::vector<StagePrice> sorted;
  for (const Stage stage : chain) sorted.push_back(prices[index(stage)]);
  return sorted;
}

Schedule schedule_of(const std::vector<std::vector<Pass>>& rows, const Placement& placement) {
  Schedule schedule(placement.ranks());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Stage stage = placement.chains().front()[r];
    std::array<std::uint32_t, pass_count> count{};
    for (const Pass pass : rows[r]) {
      const Microbatch microbatch{count[static_cast<std::size_t>(pass)]++};
      schedule.on(placement.rank_of(stage)).emplace_back(pass, stage, microbatch);
    }
  }
  return schedule;
}

std::unique_ptr<Policy> make(const Placement& placement, const ScheduleOptions& options,
                             std::span<const StagePrice> prices) {
  require_one_chain(placement);
  const std::uint32_t activations = options.number("activations", 2 * placement.ranks() - 1);
  if (prices.empty()) return std::make_unique<ZeroBubble>(Schedule(placement.ranks()));
  const auto rows = zero_bubble_rows(along(placement.chains().front(), prices),
                                     options.microbatch_count, activations);
  return std::make_unique<ZeroBubble>(schedule_of(rows, placement));
}

constexpr ScheduleOption options[] = {
    {"activations", "most activations per rank (I frees a part of each); default 2p-1"},
};

}  // namespace

constinit extern const PolicyEntry zero_bubble_entry{
    .name = "zero-bubble",
    .summary = "plans F, I and W by duration for the smallest bubble that `activations` allow",
    .splits_backward = true,
    .options = options,
    .make = make,
};

}  // namespace penstock::zero_bubble_file
