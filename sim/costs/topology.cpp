#include "sim/costs/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {

/// An edge of the graph that `Router::Ways` holds.
struct OverLink {
  std::uint32_t link;
};

namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS,
                                    boost::no_property, OverLink>;
using Vertex = std::uint32_t;

/// A hash of both ends and the place of the choice (SplitMix64). Sums or differences of the ends
/// would route regular patterns, such as every eighth device, the same way.
std::uint64_t hash_of(Vertex from, Vertex to, Vertex at) {
  std::uint64_t value = (std::uint64_t{from} << 32 | to) + at * 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

enum class Direction : std::uint8_t { ahead, back };

/// Calls `visit(neighbour, link)` for each hop out of a vertex, or into it.
template <class Visitor>
void for_each_hop(const Graph& graph, Vertex vertex, Direction direction, Visitor visit) {
  if (direction == Direction::ahead) {
    for (auto [edge, end] = boost::out_edges(vertex, graph); edge != end; ++edge) {
      visit(static_cast<Vertex>(boost::target(*edge, graph)), graph[*edge].link);
    }
  } else {
    for (auto [edge, end] = boost::in_edges(vertex, graph); edge != end; ++edge) {
      visit(static_cast<Vertex>(boost::source(*edge, graph)), graph[*edge].link);
    }
  }
}

/// A breadth-first search from one end of a route, level by level. Two of these meet halfway,
/// whatever the size of the topology; Boost's search colours all vertices.
class Search {
 public:
  Search(const Topology& topology, const Graph& graph, Node root, Direction direction)
      : topology_(topology), graph_(graph), direction_(direction), level_{index(root)} {
    distance_[index(root)] = 0;
  }

  /// The vertices of the last level.
  const std::vector<Vertex>& level() const { return level_; }
  bool reached(Vertex vertex) const { return distance_.contains(vertex); }

  /// Adds one level; `goal` counts as reached even if it does not forward.
  void widen(Node goal) {
    ++depth_;
    std::vector<Vertex> next;
    for (const Vertex vertex : level_) {
      for_each_hop(graph_, vertex, direction_, [&](Vertex neighbour, std::uint32_t) {
        if (!topology_.places[neighbour].forwards && neighbour != index(goal)) return;
        if (distance_.try_emplace(neighbour, depth_).second) next.push_back(neighbour);
      });
    }
    level_ = std::move(next);
  }

  /// The links of a shortest path between a reached vertex and the root, starting at the vertex.
  /// `pick(vertex, n)` chooses among n equal hops from a vertex.
  template <class Pick>
  Route way_to_root(Vertex vertex, Pick pick) const {
    const Direction home = direction_ == Direction::ahead ? Direction::back : Direction::ahead;
    Route route;
    for (std::uint32_t left = distance_.at(vertex); left > 0; --left) {
      std::vector<std::pair<Vertex, std::uint32_t>> nearer;
      for_each_hop(graph_, vertex, home, [&](Vertex neighbour, std::uint32_t link) {
        const auto found = distance_.find(neighbour);
        if (found != distance_.end() && found->second + 1 == left)
          nearer.emplace_back(neighbour, link);
      });
      const auto& [next, link] = nearer[pick(vertex, nearer.size())];
      route.push_back(link);
      vertex = next;
    }
    return route;
  }

 private:
  const Topology& topology_;
  const Graph& graph_;
  Direction direction_;
  std::uint32_t depth_ = 0;
  std::vector<Vertex> level_;
  std::unordered_map<Vertex, std::uint32_t> distance_;
};

/// Widens the narrower of two searches until they meet. Returns the vertices on shortest paths
/// where they meet, or none.
std::vector<Vertex> meet(Search& ahead, Node from, Search& back, Node to) {
  std::vector<Vertex> both;
  if (from == to) both.push_back(index(from));
  while (both.empty() && !ahead.level().empty() && !back.level().empty()) {
    const bool first = ahead.level().size() <= back.level().size();
    Search& one = first ? ahead : back;
    const Search& other = first ? back : ahead;
    one.widen(first ? to : from);
    std::copy_if(one.level().begin(), one.level().end(), std::back_inserter(both),
                 [&](Vertex vertex) { return other.reached(vertex); });
  }
  return both;
}

}  // namespace

struct Router::Ways {
  explicit Ways(Topology given) : topology(std::move(given)), graph(topology.places.size()) {
    for (const Topology::Hop& hop : topology.hops) {
      boost::add_edge(index(hop.from), index(hop.to), OverLink{hop.link}, graph);
    }
  }

  Topology topology;
  Graph graph;
};

Node Topology::add_switch(std::string name) {
  places.push_back({std::move(name), true});
  return Node{static_cast<std::uint32_t>(places.size() - 1)};
}

Node Topology::add_end(std::string name) {
  places.push_back({std::move(name), false});
  return Node{static_cast<std::uint32_t>(places.size() - 1)};
}

std::uint32_t Topology::connect(Node from, Node to, const Speed& speed) {
  if (links.size() == Limits::network_links) {
    throw InputError("/hardware", fmt::format("more than {} physical links, the largest number "
                                              "supported",
                                              Limits::network_links));
  }
  const auto link = static_cast<std::uint32_t>(links.size());
  links.push_back({fmt::format("{}>{}", places[index(from)].name, places[index(to)].name),
                   speed.bandwidth_bytes_per_s, speed.latency_us, speed.sharers});
  hops.push_back({from, to, link});
  return link;
}

void Topology::connect_both_ways(Node one, Node other, const Speed& speed) {
  connect(one, other, speed);
  connect(other, one, speed);
}

Router::Router(Topology topology) : ways_(std::make_unique<const Ways>(std::move(topology))) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;

const Topology& Router::topology() const { return ways_->topology; }

std::optional<Route> Router::route(Node from, Node to) const {
  Search ahead(ways_->topology, ways_->graph, from, Direction::ahead);
  Search back(ways_->topology, ways_->graph, to, Direction::back);
  const std::vector<Vertex> both = meet(ahead, from, back, to);
  if (both.empty()) return std::nullopt;
  const auto pick = [&](Vertex at, std::size_t ways) {
    return static_cast<std::size_t>(hash_of(index(from), index(to), at) % ways);
  };
  const Vertex middle = both[pick(index(from), both.size())];
  Route route = ahead.way_to_root(middle, pick);
  std::ranges::reverse(route);
  const Route rest = back.way_to_root(middle, pick);
  route.insert(route.end(), rest.begin(), rest.end());
  return route;
}

double occupied_us(double bytes, const std::vector<NetworkLink>& links, const Route& route) {
  double bandwidth = std::numeric_limits<double>::infinity();
  for (const std::uint32_t link : route) {
    bandwidth = std::min(bandwidth, links[link].bandwidth_bytes_per_s);
  }
  return bytes / bandwidth * 1e6;
}

}  // namespace penstock
