#include "sim/engines/events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/engines/relax.hpp"
#include "sim/engines/run_ahead.hpp"
#include "sim/engines/stepwise.hpp"
#include "sim/engines/transfers.hpp"

namespace penstock {

RunOutcome run_events(const PricedPlan& priced, Timeline reused) {
  return may_run_ahead(priced.conditions) ? run_ahead(priced, std::move(reused))
                                          : run_stepwise(priced, std::move(reused));
}

RunOutcome simulate(const PricedPlan& priced, Timeline reused) {
  if (why_not_relax(priced.plan, priced.conditions)) return run_events(priced, std::move(reused));
  return relax(priced, std::move(reused));
}

std::optional<std::string> why_not_relax(const Plan& plan, const Conditions& conditions) {
  if (conditions.stall_above_bytes) return "actions wait for memory";
  if (conditions.compute_slowdown != 1) return "transfers slow actions down";
  if (conditions.transfer_slowdown != 1) return "actions slow transfers down";
  if (conditions.blocking_sends) return "ranks wait for what they send";
  if (conditions.rendezvous) return "transfers wait for their readers";
  if (conditions.limits_in_flight()) return "the transfers in flight are limited";
  const std::vector<bool> is_private = private_links(plan, conditions.network);
  const auto shared = std::find(is_private.begin(), is_private.end(), false);
  if (shared == is_private.end()) return std::nullopt;
  const Link& link = plan.links[static_cast<std::size_t>(shared - is_private.begin())];
  return fmt::format("the transfers from {} to {} share links, or come in no fixed order",
                     end_phrase(link.from), end_phrase(link.to));
}

}  // namespace penstock
