#include "tests/support/flows.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "sim/engines/events.hpp"
#include "sim/plan/lower.hpp"

namespace penstock::testing {
namespace {

bool once_in(std::uint32_t count, const Below& below) { return below(count) == count - 1; }

/// From 1 to 10^`decades`, all orders of magnitude equally likely.
double magnitude(std::uint32_t decades, const Below& below) {
  return std::pow(10.0, decades * below(10'000) / 1e4);
}

/// `length` different links, in random order.
std::vector<std::uint32_t> random_route(std::size_t links, std::size_t length, const Below& below) {
  std::vector<std::uint32_t> all(links);
  for (std::uint32_t link = 0; link < links; ++link) all[link] = link;
  for (std::size_t at = 0; at < length; ++at) {
    std::swap(all[at], all[at + below(static_cast<std::uint32_t>(links - at))]);
  }
  all.resize(length);
  return all;
}

Schedule one_action_a_rank(std::uint32_t ranks) {
  Schedule schedule(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    schedule.on(Rank{rank}).emplace_back(Pass::forward, Stage{rank}, Microbatch{rank / 2});
  }
  return schedule;
}

Placement pairs(std::uint32_t flows) {
  std::vector<std::vector<Rank>> ranks;
  std::vector<std::vector<Stage>> chains;
  for (std::uint32_t flow = 0; flow < flows; ++flow) {
    for (const std::uint32_t end : {2 * flow, 2 * flow + 1}) ranks.push_back({Rank{end}});
    chains.push_back({Stage{2 * flow}, Stage{2 * flow + 1}});
  }
  return Placement::given(2 * flows, ranks, chains);
}

/// Duration of a flow alone, without the latency of its route.
double alone_us(const Flow& flow, const std::vector<NetworkLink>& links) {
  double rate = INFINITY;
  for (const std::uint32_t link : flow.route) {
    rate = std::min(rate, links[link].bandwidth_bytes_per_s);
  }
  return flow.bytes / rate * 1e6;
}

double latency_us(const Flow& flow, const std::vector<NetworkLink>& links) {
  double sum = 0;
  for (const std::uint32_t link : flow.route) sum += links[link].latency_us;
  return sum;
}

}  // namespace

FlowSet random_flows(const Below& below) {
  FlowSet set;
  const std::uint32_t links = 1 + below(12);
  const std::uint32_t longest = std::min(links, 5U);
  // Routes of equal latency: any length without latency, or all of one length.
  const std::uint32_t length = once_in(2, below) ? 1 + below(longest) : 0;
  const double latency = length == 0 ? 0 : below(5) * 1.5;
  for (std::uint32_t link = 0; link < links; ++link) {
    const bool equal = link > 0 && once_in(3, below);
    set.links.push_back(
        {"", equal ? set.links.back().bandwidth_bytes_per_s : std::round(1e7 * magnitude(3, below)),
         latency});
  }
  const std::uint32_t flows = 1 + below(30);
  for (std::uint32_t flow = 0; flow < flows; ++flow) {
    const bool together = flow > 0 && once_in(3, below);
    const bool alike = flow > 0 && once_in(3, below);
    set.flows.push_back(
        {.start_us = together ? set.flows.back().start_us : below(1'000'000) * 1.25,
         .bytes = alike ? set.flows.back().bytes : std::round(1e5 * magnitude(4, below)),
         .route = random_route(links, length == 0 ? 1 + below(longest) : length, below)});
  }
  return set;
}

FlowPlan::FlowPlan(const FlowSet& set, Sharing sharing) : transfer_(set.flows.size()) {
  const auto flows = static_cast<std::uint32_t>(set.flows.size());
  plan = std::get<Plan>(lower(one_action_a_rank(2 * flows), pairs(flows)));
  const auto flow_of = [&](std::uint32_t work) { return index(plan.classes[work].stage) / 2; };
  costs.duration.resize(plan.classes.size());
  costs.latency.resize(plan.classes.size());
  costs.bytes.resize(plan.buffers.size());
  conditions.network = {.links = set.links, .routes = {}, .sharing = sharing};
  conditions.network.routes.resize(plan.links.size());
  for (std::uint32_t work = 0; work < plan.classes.size(); ++work) {
    const Flow& flow = set.flows[flow_of(work)];
    const std::uint32_t resource = plan.classes[work].resource;
    if (plan.is_link(resource)) {
      costs.duration[work] = from_us(alone_us(flow, set.links));
      costs.latency[work] = from_us(latency_us(flow, set.links));
      conditions.network.routes[resource - plan.ranks] = flow.route;
    } else if (resource % 2 == 0) {
      costs.duration[work] = from_us(flow.start_us);
    }
  }
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (is_transfer(plan.class_of(task).pass)) transfer_[flow_of(plan.work[task])] = task;
  }
}

Timeline FlowPlan::run() const { return timeline_of(run_events({plan, costs, conditions})); }

}  // namespace penstock::testing
