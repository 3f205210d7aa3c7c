#include "sim/costs/topology.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <map>
#include <queue>
#include <utility>

namespace penstock::testing {
namespace {

constexpr Speed fast{2e9, 1};
constexpr Speed slow{1e9, 5};

/// The names of the links of a route, or "no way".
std::string route_text(const Router& router, Node from, Node to) {
  const auto route = router.route(from, to);
  if (!route) return "no way";
  std::string text;
  for (const std::uint32_t link : *route) {
    text += (text.empty() ? "" : " ") + router.topology().links[link].name;
  }
  return text;
}

/// A number from 0 to below `end`, large ones as likely as small ones from the first case on.
std::uint32_t below(std::uint32_t end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0U, end));
}

/// Places and links at random, some of them one way, some beside each other.
Topology random_topology() {
  Topology topology;
  const std::uint32_t places = 1 + below(12);
  for (std::uint32_t i = 0; i < places; ++i) {
    const std::string name = fmt::format("{}", i);
    below(4) > 0 ? topology.add_switch(name) : topology.add_end(name);
  }
  for (std::uint32_t left = places + below(2 * places); left > 0; --left) {
    topology.connect(Node{below(places)}, Node{below(places)}, fast);
  }
  return topology;
}

/// How many links the shortest way has, by a plain search from one end.
std::optional<std::size_t> fewest_links(const Topology& topology, Node from, Node to) {
  std::map<Node, std::size_t> distance{{from, 0}};
  std::queue<Node> next({from});
  for (; !next.empty(); next.pop()) {
    if (next.front() != from && !topology.places[index(next.front())].forwards) continue;
    for (const Topology::Hop& hop : topology.hops) {
      if (hop.from != next.front()) continue;
      if (distance.try_emplace(hop.to, distance[hop.from] + 1).second) next.push(hop.to);
    }
  }
  const auto found = distance.find(to);
  return found == distance.end() ? std::nullopt : std::optional(found->second);
}

/// Whether the links lead from one node to the other, end to end, through places that forward.
bool joins_up(const Topology& topology, const Route& route, Node from, Node to) {
  Node at = from;
  for (const std::uint32_t link : route) {
    const Topology::Hop& hop = topology.hops[link];  // here each link serves one hop
    if (hop.from != at || (at != from && !topology.places[index(at)].forwards)) return false;
    at = hop.to;
  }
  return at == to;
}

/// `count` switches between two ends: as many ways of two links.
Router parallel_ways(std::uint32_t pairs, std::uint32_t count) {
  Topology topology;
  for (std::uint32_t i = 0; i < 2 * pairs; ++i) topology.add_end(fmt::format("{}", i));
  for (std::uint32_t i = 0; i < count; ++i) {
    const Node middle = topology.add_switch(fmt::format("s{}", i));
    for (std::uint32_t end = 0; end < 2 * pairs; ++end) {
      topology.connect_both_ways(Node{end}, middle, fast);
    }
  }
  return Router(std::move(topology));
}

}  // namespace

TEST_CASE("a route has as few links as possible") {
  // a > s > t > b has three links, a > u > b two, though slower ones.
  Topology topology;
  const Node a = topology.add_end("a"), b = topology.add_end("b");
  const Node s = topology.add_switch("s"), t = topology.add_switch("t");
  const Node u = topology.add_switch("u");
  topology.connect(a, s, fast);
  topology.connect(s, t, fast);
  topology.connect(t, b, fast);
  topology.connect(a, u, slow);
  topology.connect(u, b, slow);
  const Router router(std::move(topology));
  CHECK(route_text(router, a, b) == "a>u u>b");
  CHECK(route_text(router, a, t) == "a>s s>t");
  CHECK(route_text(router, b, a) == "no way");  // every link has one direction
  CHECK(route_text(router, a, a) == "");
}

TEST_CASE("an end forwards nothing, but begins and ends routes") {
  Topology topology;
  const Node a = topology.add_end("a"), b = topology.add_end("b"), c = topology.add_end("c");
  topology.connect_both_ways(a, b, fast);
  topology.connect_both_ways(b, c, fast);
  const Router router(std::move(topology));
  CHECK(route_text(router, a, b) == "a>b");
  CHECK(route_text(router, c, b) == "c>b");
  CHECK(route_text(router, a, c) == "no way");
}

TEST_CASE("hops may share a link") {
  // Two ways into c over one port.
  Topology topology;
  const Node a = topology.add_end("a"), b = topology.add_end("b"), c = topology.add_end("c");
  const std::uint32_t port = topology.connect(a, c, fast);
  topology.hops.push_back({b, c, port});
  const Router router(std::move(topology));
  CHECK(router.topology().links.size() == 1);
  CHECK(router.route(a, c) == Route{port});
  CHECK(router.route(b, c) == Route{port});
}

TEST_CASE("every route is a shortest way that joins up, and there is one wherever there is a way") {
  CHECK(rc::check([] {
    const Router router(random_topology());
    const Topology& topology = router.topology();
    const auto places = static_cast<std::uint32_t>(topology.places.size());
    for (const Node from : Numbers<Node>(places)) {
      for (const Node to : Numbers<Node>(places)) {
        const auto route = router.route(from, to);
        const auto fewest = fewest_links(topology, from, to);
        RC_ASSERT(route.has_value() == fewest.has_value());
        if (!route) continue;
        RC_ASSERT(route->size() == *fewest);
        RC_ASSERT(joins_up(topology, *route, from, to));
        RC_ASSERT(router.route(from, to) == route);
      }
    }
  }));
}

TEST_CASE("equal ways are spread over the pairs of ends, whatever step lies between these") {
  // 4 ways for 256 pairs i > i + 8: about 64 on each. 100 is nearly 5 standard deviations off.
  const Router router = parallel_ways(/*pairs=*/132, /*count=*/4);
  std::map<std::uint32_t, int> used;
  for (std::uint32_t i = 0; i < 256; ++i) ++used[router.route(Node{i}, Node{i + 8})->back()];
  std::map<std::string, int> by_switch;
  for (const auto& [link, count] : used) {
    const std::string& name = router.topology().links[link].name;
    by_switch[name.substr(0, name.find('>'))] += count;
  }
  CHECK(by_switch.size() == 4);
  for (const auto& [name, count] : by_switch) {
    CAPTURE(name);
    CHECK(count < 100);
    CHECK(count > 32);
  }
}

}  // namespace penstock::testing
