#include <doctest/doctest.h>

#include "hardware_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/network.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

constexpr Link first_pair{Rank{0}, Rank{1}};

std::unique_ptr<HardwareModel> custom(const HardwareSpec& spec) {
  return find_named(cost_model_entries(), "custom")->make(spec);
}

/// Four ranks; 0 sends to 1 over two links, to its host and to its replicas over one.
HardwareSpec given_routes() {
  return {.links = {{.name = "nic", .bandwidth_bytes_per_s = 2e9, .latency_us = 1},
                    {.name = "spine", .bandwidth_bytes_per_s = 1e9, .latency_us = 2},
                    {.name = "pcie", .bandwidth_bytes_per_s = 4e9}},
          .routes = {{"0>1", {"nic", "spine"}},
                     {"0>host", {"pcie"}},
                     {"host>0", {"pcie"}},
                     {"0>data", {"spine"}}},
          .ranks = 4};
}

/// Four devices in a ring, one way round: 0 > 1 > 2 > 3 > 0.
HardwareSpec ring() {
  HardwareSpec spec{.ranks = 4};
  for (const auto& [from, to] : {std::pair{"0", "1"}, {"1", "2"}, {"2", "3"}, {"3", "0"}}) {
    spec.links.push_back({.from = from, .to = to, .bandwidth_bytes_per_s = 1e9, .latency_us = 1});
  }
  return spec;
}

HardwareSpec topology(const char* kind, std::map<std::string, double> parameters,
                      std::uint32_t ranks) {
  HardwareSpec spec;
  spec.ranks = ranks;
  spec.topology = TopologySpec{kind, std::move(parameters)};
  return spec;
}

/// The names of the links between two ends.
std::string route_text(const HardwareSpec& spec, Rank from, Rank to) {
  const auto hardware = custom(spec);
  const Network network = hardware->network();
  std::string text;
  for (const std::uint32_t link : hardware->route({from, to})) {
    text += (text.empty() ? "" : " ") + network.links[link].name;
  }
  return text;
}

/// Why a spec is refused, with its place; "accepted" where 0 can send to 1.
std::string refusal(const HardwareSpec& spec, const Link& link = first_pair) {
  return refused_at([&] { custom(spec)->transfer(1, link.from, link.to); });
}

std::string with_route(const char* key, std::vector<std::string> links) {
  HardwareSpec spec = given_routes();
  spec.routes[key] = std::move(links);
  return refusal(spec);
}

}  // namespace

TEST_CASE("a transfer alone goes at the pace of its slowest link, and all latencies add up") {
  // 8,000 bytes at min(2, 1) GB/s are 8 us; the latencies are 1 + 2.
  const TransferTime time = custom(given_routes())->transfer(8000, Rank{0}, Rank{1});
  CHECK(time.occupies_us == 8);
  CHECK(time.latency_us == 3);
  CHECK(custom(given_routes())->transfer(8000, Rank{0}, host_memory).occupies_us == 2);
  CHECK(custom(given_routes())->transfer(8000, Rank{0}, data_replicas).occupies_us == 8);
}

TEST_CASE("layers take the times that they state, as on ideal hardware") {
  const auto hardware = custom(given_routes());
  CHECK(hardware->compute_us(stage_of(4, 7, 3), Pass::backward) == 10.0);
  CHECK(hardware->compute_us(stage_of(4, 9), Pass::backward_input) == std::nullopt);
}

TEST_CASE("transfers share links fairly, or first come first served where the scenario says so") {
  HardwareSpec spec = given_routes();
  CHECK(custom(spec)->network().sharing == Sharing::fair);
  CHECK(custom(spec)->network().links.size() == 3);
  spec.sharing = Sharing::fifo;
  CHECK(custom(spec)->network().sharing == Sharing::fifo);
}

TEST_CASE("the network of a plan has the route of each of its links") {
  // Forward only over two ranks: one link, 0 > 1.
  const System system = a_stage_each("0F0\n1F0", {stage_of(1, 1), stage_of(1, 1)});
  const Plan plan = lowered(system);
  HardwareSpec spec = given_routes();
  const Network network = network_of(plan, *custom(spec));
  REQUIRE(network.routes.size() == 1);
  CHECK(network.routes[0] == Route{0, 1});
  const auto ideal = find_named(cost_model_entries(), "ideal")->make({});
  CHECK(network_of(plan, *ideal).links.empty());
  CHECK(network_of(plan, *ideal).routes.empty());
  spec.routes = {{"1>0", {"nic"}}};
  CHECK_THROWS_AS(network_of(plan, *custom(spec)), InputError);
}

TEST_CASE("links with ends are a graph: devices forward, links are named after their ends") {
  CHECK(route_text(ring(), Rank{0}, Rank{1}) == "0>1");
  CHECK(route_text(ring(), Rank{2}, Rank{1}) == "2>3 3>0 0>1");
  HardwareSpec spec = ring();
  spec.links.push_back({.name = "short cut", .from = "2", .to = "1", .bandwidth_bytes_per_s = 1});
  CHECK(route_text(spec, Rank{2}, Rank{1}) == "short cut");
  CHECK(refusal(spec, {Rank{0}, host_memory}) ==
        "/hardware/links: no route over these links for transfers \"0>host\"; connect their ends");
  spec.links.push_back({.from = "3", .to = "host", .bandwidth_bytes_per_s = 1});
  CHECK(route_text(spec, Rank{2}, host_memory) == "2>3 3>host");
}

TEST_CASE("a rank sits on the first of its devices, its next replica so many devices further") {
  // 2 data replicas of 2 tensor-parallel devices: rank r is device 4 r, its copy device 4 r + 2.
  HardwareSpec spec = topology("rails", {{"devices_per_node", 8}}, 4);
  spec.devices_per_replica = 2;
  spec.devices_per_rank = 4;
  CHECK(route_text(spec, Rank{0}, Rank{1}) == "0>nvswitch0 nvswitch0>4");
  CHECK(route_text(spec, Rank{0}, Rank{2}) == "0>nic0 nic0>rail0 rail0>nic8 nic8>8");
  CHECK(route_text(spec, Rank{3}, data_replicas) == "12>nvswitch1 nvswitch1>14");
  CHECK(route_text(spec, data_replicas, Rank{3}) == "14>nvswitch1 nvswitch1>12");
  CHECK(route_text(spec, Rank{3}, host_memory) == "12>host1");
  CHECK(route_text(spec, host_memory, Rank{1}) == "host0>4");
}

TEST_CASE("a rank without other replicas has no way to them") {
  CHECK(
      refusal(topology("nvswitch", {}, 2), {Rank{0}, data_replicas}) ==
      "/hardware/topology: no route over these links for transfers \"0>data\"; connect their ends");
}

TEST_CASE("a transfer without a route is refused with its ends") {
  CHECK(refusal(given_routes(), {Rank{1}, Rank{0}}) ==
        "/hardware/routes: no route \"1>0\", but the plan has transfers that need it; list its "
        "links");
}

TEST_CASE("routes name ranks and links that there are, each once") {
  CHECK(with_route("1>0", {"nic"}) == "accepted");
  CHECK(with_route("0>4", {"nic"}) ==
        "/hardware/routes/0>4: unknown rank \"4\"; ranks are 0 to 3, and \"host\" or \"data\" may "
        "be one end");
  CHECK(with_route("00>2", {"nic"}).starts_with("/hardware/routes/00>2: unknown rank \"00\""));
  CHECK(with_route("0-1", {"nic"}) ==
        "/hardware/routes/0-1: \"0-1\" is not a pair of ranks; write it like \"0>1\"");
  CHECK(with_route("2>2", {"nic"}) ==
        "/hardware/routes/2>2: \"2>2\" does not lead from a rank to another end; write it like "
        "\"0>1\" or \"0>host\"");
  CHECK(with_route("host>data", {"nic"}).starts_with("/hardware/routes/host>data: "));
  CHECK(with_route("0>2", {"nic", "spin"}) ==
        "/hardware/routes/0>2/1: unknown link \"spin\"; name one of /hardware/links");
  CHECK(with_route("0>2", {"nic", "nic"}) ==
        "/hardware/routes/0>2/1: \"nic\" occurs twice in this route; a transfer uses a link once");
}

TEST_CASE("links have names of their own, and ends or routes but not both") {
  HardwareSpec spec = given_routes();
  spec.links[2].name = "nic";
  CHECK(refusal(spec) ==
        "/hardware/links/2/name: \"nic\" is already the name of link 0; names must be unique");
  spec.links[2].name = "";
  CHECK(refusal(spec) == "/hardware/links/2/name: \"name\" is missing: routes need it");
  spec = given_routes();
  spec.links[1].to = "3";
  CHECK(refusal(spec) ==
        "/hardware/links/1: \"from\" and \"to\" conflict with \"routes\"; give the ends of all "
        "links, or routes");
  spec = ring();
  spec.links[1].to = "";
  CHECK(refusal(spec) ==
        "/hardware/links/1/to: \"to\" is missing: without \"routes\" each link needs both ends");
  spec.links[1].to = "4";
  CHECK(refusal(spec) ==
        "/hardware/links/1/to: unknown device 4; devices are 0 to 3, other names are switches");
  spec.links[1].to = "1";
  spec.links[1].from = "0";
  CHECK(refusal(spec) ==
        "/hardware/links/1/name: \"0>1\" is already the name of link 0; names must be unique");
}

TEST_CASE("custom hardware is one of links with routes, links with ends, and a topology") {
  CHECK(refusal({}) ==
        "/hardware: custom hardware has no links; give \"links\" with \"routes\", \"links\" with "
        "\"from\" and \"to\", or a \"topology\"");
  HardwareSpec both = given_routes();
  both.topology = TopologySpec{"nvswitch", {}};
  CHECK(refusal(both) ==
        "/hardware/topology: conflicts with \"links\" or \"routes\"; give either a topology or "
        "links");
  HardwareSpec delayed = given_routes();
  delayed.transfer_us = 1;
  CHECK(refusal(delayed) ==
        "/hardware/transfer_us: the links of custom hardware each have their own bandwidth and "
        "latency");
  HardwareSpec large = topology("nvswitch", {}, 16384);
  large.devices_per_rank = 1024;
  CHECK(refusal(large) ==
        "/hardware/topology: 16777216 devices are too many for a topology: at most 1000000");
}

}  // namespace penstock::testing
