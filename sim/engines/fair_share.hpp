#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace penstock {

/// Flows over links with max-min fair rates: no flow can gain without loss for a flow that has no
/// more. Rates are in the unit of the capacities.
class FairShare {
 public:
  using Flow = std::uint32_t;  // below the number of flows
  using Rate = std::pair<Flow, double>;

  FairShare(const std::vector<double>& capacities, std::uint32_t flows);

  /// Starts a flow over the links of `route`, each once, with a rate of at most `limit`.
  void start(Flow flow, std::span<const std::uint32_t> route, double limit);
  void stop(Flow flow);
  void set_limit(Flow flow, double limit);

  /// The rates of all flows in the connected components changed since the last call, in no order.
  /// All others keep their rates. Takes time proportional to these flows, plus their links times
  /// the number of different rates.
  const std::vector<Rate>& solve();

 private:
  struct FlowState {
    std::span<const std::uint32_t> route;
    double limit = 0;
    std::uint32_t visited = 0;  // the last solution that visited it
    bool fixed = false;
  };
  struct LinkState {
    double capacity = 0;
    std::vector<Flow> flows;  // in no order
    double left = 0;
    double share = 0;  // of the remaining capacity, per flow not fixed yet
    std::uint32_t unfixed = 0;
    std::uint32_t visited = 0;
  };

  void touch(std::span<const std::uint32_t> route);
  void visit_link(std::uint32_t link);
  void visit_flow(Flow flow);
  void collect_component();
  double smallest_share();
  void fix_all_at(double rate);
  void fix(Flow flow, double rate);

  std::vector<LinkState> links_;
  std::vector<FlowState> flows_;
  std::vector<std::uint32_t> touched_;  // links with changed flows
  std::uint32_t solution_ = 0;

  // Of the current component.
  std::vector<std::uint32_t> component_links_;
  std::vector<Flow> component_flows_;
  std::vector<Flow> limited_;  // limited below their links, highest limit first
  std::vector<Rate> rates_;
};

}  // namespace penstock
