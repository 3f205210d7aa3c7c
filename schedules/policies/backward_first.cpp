#include "schedules/policies/registry.hpp"

namespace penstock::backward_first_file {
namespace {

class BackwardFirst final : public Policy {
 public:
  std::optional<std::size_t> choose(const FreeRank& /*rank*/,
                                    std::span<const Candidate> candidates) const override {
    return most_urgent(candidates, [](const Action&) { return true; });
  }
};

std::unique_ptr<Policy> make(const Placement& /*placement*/, const ScheduleOptions& /*options*/,
                             std::span<const StagePrice> /*prices*/) {
  return std::make_unique<BackwardFirst>();
}

}  // namespace

constinit extern const PolicyEntry backward_first_entry{
    .name = "backward-first",
    .summary = "backwards before forwards; weight gradients last",
    .make = make,
};

}  // namespace penstock::backward_first_file
