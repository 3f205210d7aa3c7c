// Flows over shared links as SimGrid sees them, for others to be held against. Reads sets of flows,
// each with links of its own, from standard input:
//
//   LINKS FLOWS
//   BANDWIDTH LATENCY            each link, in bytes/s and s
//   START BYTES LENGTH LINK...   each flow, in s, and the links of its route by their number
//
// and prints for each flow, in the order read, a line with the moment in s at which it is complete.

#include <xbt/log.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace {

namespace sg = simgrid::s4u;

struct Flow {
  sg::Host* from;
  sg::Host* to;
  double start = 0;
  std::uint64_t bytes = 0;
  sg::CommPtr comm = nullptr;
};

/// Max-min sharing of bandwidth and nothing else: no correction factors, no acknowledgements that
/// travel back, no TCP window, times and amounts as precise as doubles allow. Not the lazy updates
/// that are its default: with them, flows that start at one moment after a latency can be given
/// more than their link has.
void configure() {
  xbt_log_control_set("xbt_cfg.thres:warning");
  for (const char* option :
       {"network/model:CM02", "network/optim:Full", "network/crosstraffic:0",
        "network/TCP-gamma:1e30", "network/bandwidth-factor:1", "network/latency-factor:1",
        "network/weight-S:0", "network/loopback-bw:1e30", "maxmin/precision:1e-9",
        "surf/precision:1e-13"}) {
    sg::Engine::set_config(std::string(option));
  }
}

std::vector<sg::LinkInRoute> read_route(const std::vector<sg::Link*>& links) {
  std::size_t length = 0;
  std::cin >> length;
  std::vector<sg::LinkInRoute> route;
  for (std::size_t number = 0; length-- > 0 && std::cin >> number;) {
    route.emplace_back(links.at(number));
  }
  return route;
}

/// A pair of hosts that only this flow has anything to do with.
Flow read_flow(sg::NetZone* zone, const std::string& name, const std::vector<sg::Link*>& links) {
  Flow flow{zone->create_host(name + "a", 1), zone->create_host(name + "b", 1)};
  std::cin >> flow.start >> flow.bytes;
  zone->add_route(flow.from->get_netpoint(), flow.to->get_netpoint(), nullptr, nullptr,
                  read_route(links), false);
  return flow;
}

/// Adds the flows of the next set, if there is one more.
bool read_set(const sg::NetZone* world, std::vector<Flow>& flows) {
  std::size_t link_count = 0, flow_count = 0;
  if (!(std::cin >> link_count >> flow_count)) return false;
  const std::string name = "set" + std::to_string(flows.size());
  sg::NetZone* zone = sg::create_full_zone(name)->set_parent(world);
  std::vector<sg::Link*> links;
  for (std::size_t i = 0; i < link_count; ++i) {
    double bandwidth = 0, latency = 0;
    std::cin >> bandwidth >> latency;
    links.push_back(zone->create_link(name + "l" + std::to_string(i), bandwidth));
    links.back()->set_latency(latency)->seal();
  }
  for (std::size_t i = 0; i < flow_count; ++i) {
    flows.push_back(read_flow(zone, name + "f" + std::to_string(i), links));
  }
  zone->seal();
  return true;
}

/// Starts each flow in its time and waits for all.
void run(std::vector<Flow>& flows) {
  std::vector<Flow*> by_start(flows.size());
  std::transform(flows.begin(), flows.end(), by_start.begin(), [](Flow& flow) { return &flow; });
  std::stable_sort(by_start.begin(), by_start.end(),
                   [](const Flow* a, const Flow* b) { return a->start < b->start; });
  for (Flow* flow : by_start) {
    if (flow->start > sg::Engine::get_clock()) sg::this_actor::sleep_until(flow->start);
    flow->comm = sg::Comm::sendto_async(flow->from, flow->to, flow->bytes);
  }
  for (const Flow& flow : flows) flow.comm->wait();
}

}  // namespace

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  configure();
  sg::NetZone* world = sg::create_full_zone("world");
  std::vector<Flow> flows;
  while (read_set(world, flows)) {
  }
  world->seal();
  if (!std::cin.eof() || flows.empty()) {
    std::fprintf(stderr, "simgrid_flows: standard input holds no sets of flows\n");
    return 3;
  }
  sg::Actor::create("starter", flows.front().from, [&flows] { run(flows); });
  engine.run();
  for (const Flow& flow : flows) std::printf("%.17g\n", flow.comm->get_finish_time());
}
