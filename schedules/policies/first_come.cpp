#include "schedules/policies/registry.hpp"

namespace penstock::first_come_file {
namespace {

class FirstCome final : public Policy {
 public:
  std::optional<std::size_t> choose(const FreeRank& /*rank*/,
                                    std::span<const Candidate> /*candidates*/) const override {
    return 0;
  }
};

std::unique_ptr<Policy> make(const Placement& /*placement*/, const ScheduleOptions& /*options*/,
                             std::span<const StagePrice> /*prices*/) {
  return std::make_unique<FirstCome>();
}

}  // namespace

constinit extern const PolicyEntry first_come_entry{
    .name = "first-come",
    .summary = "the action that has been ready longest",
    .make = make,
};

}  // namespace penstock::first_come_file
