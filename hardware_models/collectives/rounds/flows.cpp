#include "hardware_models/collectives/rounds/flows.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"

namespace penstock {
namespace {

/// A plan in which every member is a rank and starts all its transfers of a round at once.
class RoundPlan {
 public:
  RoundPlan(const Router& router, const std::vector<Node>& members)
      : router_(router), members_(members) {
    round_.plan.ranks = static_cast<std::uint32_t>(members.size());
    round_.plan.microbatches = 1;
    round_.conditions.network.links = router.topology().links;
    for (const Rank rank : Numbers<Rank>(round_.plan.ranks)) {
      add_class({.pass = Pass::forward, .stage = Stage{index(rank)}, .resource = index(rank)}, {});
      add_task(round_.plan, index(rank), Microbatch{0}, no_task);
    }
  }

  void add(const Send& sending) {
    Route route = route_of(sending);
    const auto& links = round_.conditions.network.links;
    TransferTime time{occupied_us(sending.bytes, links, route), 0};
    for (const std::uint32_t link : route) time.latency_us += links[link].latency_us;
    const std::uint32_t resource = round_.plan.resources();
    round_.plan.links.push_back({Rank{sending.from}, Rank{sending.to}});
    round_.plan.in_one_order.push_back(true);  // one transfer each
    round_.conditions.network.routes.push_back(std::move(route));
    const std::uint32_t work = add_class(
        {.pass = Pass::send_activation, .stage = Stage{sending.from}, .resource = resource}, time);
    add_task(round_.plan, work, Microbatch{0}, sending.from);  // the member's only action
  }

  Time run() const {
    const RunOutcome outcome = run_events(round_);
    if (const auto* halt = std::get_if<Standstill>(&outcome)) throw std::logic_error(halt->text);
    return makespan(round_.plan, std::get<Timeline>(outcome));
  }

 private:
  Route route_of(const Send& sending) const {
    if (auto route = router_.route(members_[sending.from], members_[sending.to])) return *route;
    throw InputError("/hardware/topology",
                     fmt::format("no route from member {} of a group to member {}; connect them",
                                 sending.from, sending.to));
  }

  std::uint32_t add_class(const WorkClass& work, const TransferTime& time) {
    round_.plan.classes.push_back(work);
    round_.costs.duration.push_back(from_us(time.occupies_us));
    round_.costs.latency.push_back(from_us(time.latency_us));
    return static_cast<std::uint32_t>(round_.plan.classes.size() - 1);
  }

  const Router& router_;
  const std::vector<Node>& members_;
  PricedPlan round_;
};

}  // namespace

double flows_us(const Rounds& rounds, const Router& router, const std::vector<Node>& members) {
  double sum_us = 0;
  for (const Round& round : rounds) {
    RoundPlan plan(router, members);
    for (const Send& sending : round.sendings) plan.add(sending);
    sum_us += static_cast<double>(round.times) * to_us(plan.run());
  }
  return sum_us;
}

}  // namespace penstock
