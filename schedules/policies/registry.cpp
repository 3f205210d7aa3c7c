#include "schedules/policies/registry.hpp"

#include <algorithm>
#include <array>

#include "sim/order_by_policy.hpp"

namespace penstock {
namespace {

/// What every policy takes.
constexpr std::array<ScheduleOption, 2> common_options{{
    {"backward", "whole or split into I and W; default whole"},
    {"placement", "loop or vee; default loop"},
}};

}  // namespace

std::vector<ScheduleOption> options_of_policy(const PolicyEntry& entry) {
  std::vector<ScheduleOption> options(common_options.begin(), common_options.end());
  options.insert(options.end(), entry.options.begin(), entry.options.end());
  return options;
}

std::unique_ptr<Policy> make_policy(const PolicyEntry& entry, const Placement& placement,
                                    const ScheduleOptions& options) {
  check_options(entry.name, options_of_policy(entry), options);
  return entry.make(placement, options);
}

Placement policy_placement(std::uint32_t ranks, std::uint32_t chunks,
                           const ScheduleOptions& options) {
  constexpr std::array<std::string_view, 2> kinds{"loop", "vee"};
  return options.choice("placement", kinds) == "vee" ? Placement::vee(ranks, chunks)
                                                     : Placement::loop(ranks, chunks);
}

Schedule policy_work(const Placement& placement, const ScheduleOptions& options) {
  constexpr std::array<std::string_view, 2> kinds{"whole", "split"};
  check_size(placement, options);
  return all_work(placement, options.microbatch_count,
                  options.choice("backward", kinds) == "split");
}

int urgency(Pass pass) {
  if (pass == Pass::forward) return 1;
  return pass == Pass::backward_weight ? 2 : 0;
}

}  // namespace penstock
