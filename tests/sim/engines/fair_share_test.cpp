#include "sim/engines/fair_share.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/flows.hpp"

namespace penstock::testing {
namespace {

constexpr double no_limit = 1e30;

/// Flows and the rates that they were last told.
struct Shared {
  std::vector<double> capacities;
  std::vector<std::vector<std::uint32_t>> routes;  // by flow
  std::map<std::uint32_t, double> limit;           // of the flows that run
  std::map<std::uint32_t, double> rate;
};

std::uint32_t flows_below(std::uint32_t end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, end));
}

Shared random_shared() {
  const FlowSet set = random_flows(flows_below);
  Shared shared;
  for (const NetworkLink& link : set.links) {
    shared.capacities.push_back(link.bandwidth_bytes_per_s);
  }
  for (const Flow& flow : set.flows) shared.routes.push_back(flow.route);
  return shared;
}

std::uint32_t flows(const Shared& shared) {
  return static_cast<std::uint32_t>(shared.routes.size());
}

/// One in two flows has a limit, low enough to matter for most.
double random_limit() { return flows_below(2) == 0 ? no_limit : 1e6 * (1 + flows_below(300)); }

void note_rates(FairShare& share, Shared& shared) {
  for (const auto& [flow, rate] : share.solve()) shared.rate[flow] = rate;
}

/// Starts a flow, or if it runs stops it or changes its limit.
void change(FairShare& share, Shared& shared, std::uint32_t flow) {
  const double limit = random_limit();
  if (!shared.limit.contains(flow)) {
    shared.limit[flow] = limit;
    share.start(flow, shared.routes[flow], limit);
  } else if (flows_below(3) == 0) {
    shared.limit[flow] = limit;
    share.set_limit(flow, limit);
  } else {
    shared.limit.erase(flow);
    shared.rate.erase(flow);
    share.stop(flow);
  }
}

/// The rates of the flows that run, started in this order and solved at once.
std::map<std::uint32_t, double> rates_from_scratch(const Shared& shared,
                                                   const std::vector<std::uint32_t>& order) {
  FairShare share(shared.capacities, flows(shared));
  for (const std::uint32_t flow : order) {
    share.start(flow, shared.routes[flow], shared.limit.at(flow));
  }
  const auto& rates = share.solve();
  return {rates.begin(), rates.end()};
}

std::vector<std::uint32_t> running(const Shared& shared) {
  std::vector<std::uint32_t> all;
  for (const auto& [flow, limit] : shared.limit) all.push_back(flow);
  return all;
}

double load(const Shared& shared, std::uint32_t link) {
  double sum = 0;
  for (const auto& [flow, rate] : shared.rate) {
    if (std::ranges::count(shared.routes[flow], link) != 0) sum += rate;
  }
  return sum;
}

/// Whether a flow could have no more but at the cost of one that has no more than it: a link of
/// its route is full, and nobody there is faster.
bool is_held_back_by(const Shared& shared, std::uint32_t flow, std::uint32_t link) {
  if (load(shared, link) < shared.capacities[link] * (1 - 1e-9)) return false;
  return std::ranges::all_of(shared.rate, [&](const auto& other) {
    return std::ranges::count(shared.routes[other.first], link) == 0 ||
           other.second <= shared.rate.at(flow) * (1 + 1e-9);
  });
}

/// The flows that share links with a flow, directly or through others, and that flow itself.
std::set<std::uint32_t> component(const Shared& shared, std::uint32_t of) {
  std::set<std::uint32_t> links(shared.routes[of].begin(), shared.routes[of].end());
  std::set<std::uint32_t> found;
  for (std::size_t before = SIZE_MAX; before != found.size();) {
    before = found.size();
    for (const std::uint32_t flow : running(shared)) {
      const auto& route = shared.routes[flow];
      if (!std::ranges::any_of(route, [&](auto link) { return links.contains(link); })) continue;
      found.insert(flow);
      links.insert(route.begin(), route.end());
    }
  }
  return found;
}

void run_some(FairShare& share, Shared& shared) {
  for (std::uint32_t flow = 0; flow < flows(shared); ++flow) {
    if (flows_below(4) != 0) change(share, shared, flow);
  }
  note_rates(share, shared);
}

}  // namespace

TEST_CASE("three flows over two links: the link of two halves, and the third gets what is left") {
  // Links of 10 and 30. Flow 0 goes over both, 1 over the first, 2 over the second: 5, 5, 25.
  FairShare share({10, 30}, 3);
  const std::vector<std::vector<std::uint32_t>> routes{{0, 1}, {0}, {1}};
  for (std::uint32_t flow = 0; flow < 3; ++flow) share.start(flow, routes[flow], no_limit);
  using Rates = std::map<FairShare::Flow, double>;
  const auto solved = [&] {
    const auto& rates = share.solve();
    return Rates(rates.begin(), rates.end());
  };
  CHECK(solved() == Rates{{0, 5}, {1, 5}, {2, 25}});
  CHECK(solved().empty());
  // At most 2 for flow 0: what it leaves goes to the others.
  share.set_limit(0, 2);
  CHECK(solved() == Rates{{0, 2}, {1, 8}, {2, 28}});
  // Without flow 1 nothing changes for the others; without flow 0 the last has its link alone.
  share.stop(1);
  CHECK(solved() == Rates{{0, 2}, {2, 28}});
  share.stop(0);
  CHECK(solved() == Rates{{2, 30}});
}

TEST_CASE("fair rates fill no link beyond its capacity and hold to every limit") {
  CHECK(rc::check([] {
    Shared shared = random_shared();
    FairShare share(shared.capacities, flows(shared));
    run_some(share, shared);
    for (std::uint32_t link = 0; link < shared.capacities.size(); ++link) {
      RC_ASSERT(load(shared, link) <= shared.capacities[link] * (1 + 1e-9));
    }
    for (const auto& [flow, rate] : shared.rate) {
      RC_ASSERT(rate > 0);
      RC_ASSERT(rate <= shared.limit[flow]);
    }
  }));
}

TEST_CASE("with fair rates a flow is at its limit, or on a full link where nobody is faster") {
  CHECK(rc::check([] {
    Shared shared = random_shared();
    FairShare share(shared.capacities, flows(shared));
    run_some(share, shared);
    for (const auto& [number, rate] : shared.rate) {
      const std::uint32_t flow = number;
      RC_ASSERT(rate == shared.limit[flow] ||
                std::ranges::any_of(shared.routes[flow], [&](std::uint32_t link) {
                  return is_held_back_by(shared, flow, link);
                }));
    }
  }));
}

TEST_CASE("rates kept up with through starts and stops are to the byte those found from scratch") {
  CHECK(rc::check([] {
    Shared shared = random_shared();
    FairShare share(shared.capacities, flows(shared));
    for (std::uint32_t step = 0; step < 40; ++step) {
      for (std::uint32_t at_once = 1 + flows_below(3); at_once > 0; --at_once) {
        change(share, shared, flows_below(flows(shared)));
      }
      note_rates(share, shared);
      RC_ASSERT(shared.rate == rates_from_scratch(shared, running(shared)));
    }
  }));
}

TEST_CASE("the order in which flows start at one moment changes no byte of their rates") {
  CHECK(rc::check([] {
    Shared shared = random_shared();
    for (std::uint32_t flow = 0; flow < flows(shared); ++flow) shared.limit[flow] = random_limit();
    std::vector<std::uint32_t> order = running(shared);
    const auto expected = rates_from_scratch(shared, order);
    for (std::size_t left = order.size(); left > 1; --left) {
      std::swap(order[left - 1], order[flows_below(static_cast<std::uint32_t>(left))]);
    }
    RC_ASSERT(rates_from_scratch(shared, order) == expected);
  }));
}

TEST_CASE("only flows that hang together with a change are told a rate") {
  CHECK(rc::check([] {
    Shared shared = random_shared();
    FairShare share(shared.capacities, flows(shared));
    run_some(share, shared);
    const std::uint32_t flow = flows_below(flows(shared));
    change(share, shared, flow);
    std::set<std::uint32_t> told;
    for (const auto& rate : share.solve()) told.insert(rate.first);
    RC_ASSERT(told == component(shared, flow));
  }));
}

}  // namespace penstock::testing
