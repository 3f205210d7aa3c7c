#include "schedules/policies/registry.hpp"

#include <array>

#include "sim/engines/order_by_policy.hpp"

namespace penstock {
namespace {

constexpr ScheduleOption backward_option{"backward", "whole or split into I and W; default whole"};
constexpr ScheduleOption placement_option{"placement", "loop or vee; default loop"};

}  // namespace

std::vector<ScheduleOption> options_of_policy(const PolicyEntry& entry) {
  std::vector<ScheduleOption> options;
  if (!entry.splits_backward) options.push_back(backward_option);
  options.push_back(placement_option);
  options.insert(options.end(), entry.options.begin(), entry.options.end());
  return options;
}

std::unique_ptr<Policy> make_policy(const PolicyEntry& entry, const Placement& placement,
                                    const ScheduleOptions& options,
                                    std::span<const StagePrice> prices) {
  check_options(entry.name, options_of_policy(entry), options);
  return entry.make(placement, options, prices);
}

Placement policy_placement(std::uint32_t ranks, std::uint32_t chunks,
                           const ScheduleOptions& options) {
  constexpr std::array<std::string_view, 2> kinds{"loop", "vee"};
  return options.choice("placement", kinds) == "vee" ? Placement::vee(ranks, chunks)
                                                     : Placement::loop(ranks, chunks);
}

Schedule policy_work(const PolicyEntry& entry, const Placement& placement,
                     const ScheduleOptions& options) {
  constexpr std::array<std::string_view, 2> kinds{"whole", "split"};
  check_size(placement, options);
  const bool split = entry.splits_backward || options.choice("backward", kinds) == "split";
  return all_work(placement, options.microbatch_count, split);
}

int urgency(Pass pass) {
  if (pass == Pass::forward) return 1;
  return pass == Pass::backward_weight ? 2 : 0;
}

}  // namespace penstock
