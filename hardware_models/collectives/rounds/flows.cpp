#include "hardware_models/collectives/rounds/flows.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "sim/base/error.hpp"
#include "sim/costs/costs.hpp"
#include "sim/engines/events.hpp"

namespace penstock {
namespace {

/// A plan in which every member, a rank, hands on at once all that it sends in a round.
class RoundPlan {
 public:
  RoundPlan(const Router& router, const std::vector<Node>& members)
      : router_(router), members_(members) {
    plan_.ranks = static_cast<std::uint32_t>(members.size());
    plan_.microbatches = 1;
    conditions_.network.links = router.topology().links;
    for (const Rank rank : Numbers<Rank>(plan_.ranks)) {
      add_class({.pass = Pass::forward, .stage = Stage{index(rank)}, .resource = index(rank)}, {});
      add_task(plan_, index(rank), Microbatch{0}, no_task);
    }
  }

  void add(const Sending& sending) {
    Route route = route_of(sending);
    const auto& links = conditions_.network.links;
    TransferTime time{occupied_us(sending.bytes, links, route), 0};
    for (const std::uint32_t link : route) time.latency_us += links[link].latency_us;
    const std::uint32_t resource = plan_.resources();
    plan_.links.push_back({Rank{sending.from}, Rank{sending.to}});
    plan_.in_one_order.push_back(true);  // each has one transfer
    conditions_.network.routes.push_back(std::move(route));
    const std::uint32_t work = add_class(
        {.pass = Pass::send_activation, .stage = Stage{sending.from}, .resource = resource}, time);
    add_task(plan_, work, Microbatch{0}, sending.from);  // which is its member's only action
  }

  Time run() const {
    Timeline timeline;
    if (const auto halt = run_events(plan_, costs_, conditions_, timeline)) {
      throw std::logic_error(text(plan_, *halt));
    }
    return makespan(plan_, timeline);
  }

 private:
  Route route_of(const Sending& sending) const {
    if (auto route = router_.route(members_[sending.from], members_[sending.to])) return *route;
    throw InputError("/hardware/topology",
                     fmt::format("no way leads from member {} of a group to member {}; join them",
                                 sending.from, sending.to));
  }

  std::uint32_t add_class(const WorkClass& work, const TransferTime& time) {
    plan_.classes.push_back(work);
    costs_.duration.push_back(from_us(time.occupies_us));
    costs_.latency.push_back(from_us(time.latency_us));
    return static_cast<std::uint32_t>(plan_.classes.size() - 1);
  }

  const Router& router_;
  const std::vector<Node>& members_;
  Plan plan_;
  Costs costs_;
  Conditions conditions_;
};

}  // namespace

double flows_us(const Rounds& rounds, const Router& router, const std::vector<Node>& members) {
  double sum_us = 0;
  for (const Round& round : rounds) {
    RoundPlan plan(router, members);
    for (const Sending& sending : round.sendings) plan.add(sending);
    sum_us += static_cast<double>(round.times) * to_us(plan.run());
  }
  return sum_us;
}

}  // namespace penstock
