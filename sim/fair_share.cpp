#include "sim/fair_share.hpp"

#include <algorithm>
#include <limits>

namespace penstock {

FairShare::FairShare(std::vector<double> capacities, std::uint32_t flows) : flows_(flows) {
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
    *std::find(flows.begin(), flows.end(), flow) = flows.back();
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
  std::size_t left = component_flows_.size();
  while (left > 0) {
    fix_all_at(smallest_share());
    left = static_cast<std::size_t>(std::count_if(component_flows_.begin(), component_flows_.end(),
                                                  [&](Flow flow) { return !flows_[flow].fixed; }));
  }
  for (const Flow flow : component_flows_) rates_.emplace_back(flow, flows_[flow].rate);
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

/// Everything that hangs together with the touched links, in an order that depends on nothing else.
void FairShare::collect_component() {
  ++solution_;
  component_links_.clear();
  component_flows_.clear();
  for (const std::uint32_t link : touched_) visit_link(link);
  touched_.clear();
  for (std::size_t at = 0; at < component_links_.size(); ++at) {
    for (const Flow flow : links_[component_links_[at]].flows) {
      FlowState& state = flows_[flow];
      if (state.visited == solution_) continue;
      state.visited = solution_;
      state.fixed = false;
      component_flows_.push_back(flow);
      for (const std::uint32_t link : state.route) visit_link(link);
    }
  }
  std::sort(component_flows_.begin(), component_flows_.end());
}

/// The rate at which, all growing alike, the next link is full or the next flow at its limit.
double FairShare::smallest_share() const {
  double smallest = std::numeric_limits<double>::infinity();
  for (const std::uint32_t link : component_links_) {
    const LinkState& state = links_[link];
    if (state.unfixed > 0) smallest = std::min(smallest, state.left / state.unfixed);
  }
  for (const Flow flow : component_flows_) {
    if (!flows_[flow].fixed) smallest = std::min(smallest, flows_[flow].limit);
  }
  return smallest;
}

/// Fixes the flows at their limit and those of full links. Which those are is settled before any is
/// taken off its links, so that the order of the flows decides nothing.
void FairShare::fix_all_at(double rate) {
  const auto full = [&](std::uint32_t link) {
    const LinkState& state = links_[link];
    return state.unfixed > 0 && state.left / state.unfixed <= rate;
  };
  std::vector<Flow> reached;
  for (const Flow flow : component_flows_) {
    const FlowState& state = flows_[flow];
    if (state.fixed) continue;
    if (state.limit <= rate || std::any_of(state.route.begin(), state.route.end(), full)) {
      reached.push_back(flow);
    }
  }
  for (const Flow flow : reached) fix(flow, rate);
}

void FairShare::fix(Flow flow, double rate) {
  FlowState& state = flows_[flow];
  state.fixed = true;
  state.rate = rate;
  for (const std::uint32_t link : state.route) {
    links_[link].left = std::max(0.0, links_[link].left - rate);
    --links_[link].unfixed;
  }
}

}  // namespace penstock
