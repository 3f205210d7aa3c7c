#include "sim/engines/fair_share.hpp"

#include <algorithm>
#include <limits>

namespace penstock {

FairShare::FairShare(const std::vector<double>& capacities, std::uint32_t flows) : flows_(flows) {
  links_.reserve(capacities.size());
  for (const double capacity : capacities) links_.push_back({.capacity = capacity, .flows = {}});
}

void FairShare::touch(std::span<const std::uint32_t> route) {
  touched_.insert(touched_.end(), route.begin(), route.end());
}

void FairShare::start(Flow flow, std::span<const std::uint32_t> route, double limit) {
  flows_[flow].route = route;
  flows_[flow].limit = limit;
  for (const std::uint32_t link : route) links_[link].flows.push_back(flow);
  touch(route);
}

void FairShare::stop(Flow flow) {
  for (const std::uint32_t link : flows_[flow].route) {
    auto& flows = links_[link].flows;
    *std::ranges::find(flows, flow) = flows.back();
    flows.pop_back();
  }
  touch(flows_[flow].route);
}

void FairShare::set_limit(Flow flow, double limit) {
  flows_[flow].limit = limit;
  touch(flows_[flow].route);
}

const std::vector<FairShare::Rate>& FairShare::solve() {
  rates_.clear();
  if (touched_.empty()) return rates_;
  collect_component();
  while (rates_.size() < component_flows_.size()) fix_all_at(smallest_share());
  return rates_;
}

void FairShare::visit_link(std::uint32_t link) {
  LinkState& state = links_[link];
  if (state.visited == solution_) return;
  state.visited = solution_;
  state.left = state.capacity;
  state.unfixed = static_cast<std::uint32_t>(state.flows.size());
  component_links_.push_back(link);
}

/// Collects the connected component of the touched links.
void FairShare::collect_component() {
  ++solution_;
  component_links_.clear();
  component_flows_.clear();
  limited_.clear();
  for (const std::uint32_t link : touched_) visit_link(link);
  touched_.clear();
  for (std::size_t at = 0; at < component_links_.size(); ++at) {
    for (const Flow flow : links_[component_links_[at]].flows) visit_flow(flow);
  }
  std::ranges::sort(limited_, [&](Flow a, Flow b) { return flows_[a].limit > flows_[b].limit; });
}

void FairShare::visit_flow(Flow flow) {
  FlowState& state = flows_[flow];
  if (state.visited == solution_) return;
  state.visited = solution_;
  state.fixed = false;
  component_flows_.push_back(flow);
  double most = std::numeric_limits<double>::infinity();
  for (const std::uint32_t link : state.route) {
    visit_link(link);
    most = std::min(most, links_[link].capacity);
  }
  if (state.limit < most) limited_.push_back(flow);
}

/// The common rate at which the next link is full or the next flow at its limit.
double FairShare::smallest_share() {
  double smallest = std::numeric_limits<double>::infinity();
  std::erase_if(component_links_, [&](std::uint32_t link) { return links_[link].unfixed == 0; });
  for (const std::uint32_t link : component_links_) {
    LinkState& state = links_[link];
    state.share = state.left / state.unfixed;
    smallest = std::min(smallest, state.share);
  }
  while (!limited_.empty() && flows_[limited_.back()].fixed) limited_.pop_back();
  return limited_.empty() ? smallest : std::min(smallest, flows_[limited_.back()].limit);
}

/// Fixes flows at their limit and flows of full links. Full links are determined first, and all
/// their flows are removed alike, so order does not matter.
void FairShare::fix_all_at(double rate) {
  for (; !limited_.empty() && flows_[limited_.back()].limit <= rate; limited_.pop_back()) {
    fix(limited_.back(), rate);
  }
  for (const std::uint32_t link : component_links_) {
    if (links_[link].share > rate) continue;
    for (const Flow flow : links_[link].flows) fix(flow, rate);
  }
}

void FairShare::fix(Flow flow, double rate) {
  FlowState& state = flows_[flow];
  if (state.fixed) return;
  state.fixed = true;
  rates_.emplace_back(flow, rate);
  for (const std::uint32_t link : state.route) {
    links_[link].left = std::max(0.0, links_[link].left - rate);
    --links_[link].unfixed;
  }
}

}  // namespace penstock
