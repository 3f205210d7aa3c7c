#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace penstock {

/// Flows over links with max-min fair rates: no flow can have more without one that has no more
/// than it having less. Rates are in the unit of the capacities.
class FairShare {
 public:
  using Flow = std::uint32_t;  // below the number of flows
  using Rate = std::pair<Flow, double>;

  FairShare(const std::vector<double>& capacities, std::uint32_t flows);

  /// A flow begins. It goes over every link of `route`, each once, at no more than `limit`.
  void start(Flow flow, std::span<const std::uint32_t> route, double limit);
  void stop(Flow flow);
  void set_limit(Flow flow, double limit);

  /// The rates of the flows that share links, directly or through others, with what has changed
  /// since the last call, in no order. All others have kept theirs. Takes as long as it takes to
  /// look at these flows once, and at their links once for each different rate.
  const std::vector<Rate>& solve();

 private:
  struct FlowState {
    std::span<const std::uint32_t> route;
    double limit = 0;
    std::uint32_t visited = 0;  // the solution that last met it
    bool fixed = false;
  };
  struct LinkState {
    double capacity = 0;
    std::vector<Flow> flows;  // in no order
    double left = 0;
    double share = 0;  // of what is left, for each flow that is not fixed
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
  std::vector<std::uint32_t> touched_;  // links whose flows have changed
  std::uint32_t solution_ = 0;

  // Of the component that is being solved.
  std::vector<std::uint32_t> component_links_;
  std::vector<Flow> component_flows_;
  std::vector<Flow> limited_;  // those with a limit below what their links have, highest first
  std::vector<Rate> rates_;
};

}  // namespace penstock
