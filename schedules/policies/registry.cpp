#include "schedules/policies/registry.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "sim/engines/order_by_policy.hpp"

namespace penstock {
namespace {

constexpr ScheduleOption backward_option{"backward", "whole or split into I and W; default whole"};
constexpr ScheduleOption placement_option{"placement", "loop or vee; default loop"};

/// Whether an activation holds the buffer (not a transfer, not the whole run).
bool is_of_activation(BufferKind kind) {
  return kind == BufferKind::stash || kind == BufferKind::input_stash ||
         kind == BufferKind::recomputed || kind == BufferKind::pending_weight;
}

/// Memory that actions of a class allocate, minus what they free.
std::int64_t taken_by(const WorkClass& work, const Plan& plan, const Costs& costs) {
  std::int64_t bytes = 0;
  for (const MemoryEffect& effect : work.effects) {
    if (!is_of_activation(plan.buffers[effect.buffer].kind)) continue;
    const auto size = static_cast<std::int64_t>(costs.bytes[effect.buffer]);
    bytes += effect.takes ? size : -size;
  }
  return bytes;
}

/// The field for the time of a pass; null for other passes.
Time* time_of(Pass pass, StagePrice& price) {
  switch (pass) {
    case Pass::forward:
      return &price.forward;
    case Pass::recompute:
    case Pass::backward_input:
      return &price.input;
    case Pass::backward_weight:
      return &price.weight;
    case Pass::send_activation:
      return &price.to_next;
    case Pass::send_gradient:
      return &price.to_previous;
    default:
      return nullptr;
  }
}

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

std::vector<StagePrice> stage_prices(const Plan& plan, const Costs& costs) {
  std::vector<StagePrice> prices(plan.model_stage.size());
  std::vector<std::int64_t> kept(prices.size()), pending(prices.size());
  std::map<std::pair<std::size_t, Pass>, Time> longest_of;
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const WorkClass& work = plan.classes[c];
    const std::size_t stage = index(work.stage);
    if (Time* time = time_of(work.pass, prices[stage])) {
      // Recomputed microbatches have work classes of their own, so a pass may have several.
      Time& longest = longest_of[{stage, work.pass}];
      const Time takes = costs.duration[c] + costs.latency[c];
      if (takes > longest) *time += takes - longest;
      longest = std::max(longest, takes);
    }
    if (work.pass == Pass::forward) {
      kept[stage] = std::max(kept[stage], taken_by(work, plan, costs));
    }
    if (work.pass == Pass::backward_weight) {
      pending[stage] = std::max(pending[stage], -taken_by(work, plan, costs));
    }
  }
  for (std::size_t stage = 0; stage < prices.size(); ++stage) {
    // What R restores lives briefly: no reason to delay forwards.
    if (kept[stage] <= 0) continue;
    prices[stage].activation_bytes = static_cast<std::uint64_t>(kept[stage]);
    prices[stage].pending_bytes =
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, pending[stage]));
  }
  return prices;
}

}  // namespace penstock
