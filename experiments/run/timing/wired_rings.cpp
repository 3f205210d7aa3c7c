#include "experiments/run/timing/wired_rings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <utility>

namespace penstock {
namespace {

/// A link between two members, each way.
using Edge = std::pair<std::uint32_t, std::uint32_t>;

/// Links between members in the order of the topology; one of twice the bandwidth counts as two.
std::vector<Edge> edges_between(const Topology& topology, const std::vector<Node>& members) {
  std::map<Node, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < members.size(); ++i) numbers[members[i]] = i;
  std::vector<std::pair<Edge, double>> found;
  double least = 0;
  for (const Topology::Hop& hop : topology.hops) {
    const auto from = numbers.find(hop.from), to = numbers.find(hop.to);
    if (from == numbers.end() || to == numbers.end() || from->second > to->second) continue;
    const double speed = topology.links[hop.link].bandwidth_bytes_per_s;
    found.push_back({{from->second, to->second}, speed});
    least = found.size() == 1 ? speed : std::min(least, speed);
  }
  std::vector<Edge> edges;
  for (const auto& [edge, speed] : found) {
    edges.insert(edges.end(), static_cast<std::size_t>(std::lround(speed / least)), edge);
  }
  return edges;
}

/// Number of links between two members.
using LinkCounts = std::vector<std::vector<std::uint32_t>>;

/// Extends a path to a cycle through all members, neighbours in random order.
bool extend(Cycle& path, const LinkCounts& links, std::mt19937& random) {
  const std::size_t all = links.size();
  if (path.size() == all) return links[path.back()][path.front()] > 0;
  std::vector<std::uint32_t> next;
  for (std::uint32_t i = 0; i < all; ++i) {
    if (links[path.back()][i] > 0 && std::ranges::find(path, i) == path.end()) {
      next.push_back(i);
    }
  }
  while (!next.empty()) {
    std::swap(next[random() % next.size()], next.back());
    path.push_back(next.back());
    next.pop_back();
    if (extend(path, links, random)) return true;
    path.pop_back();
  }
  return false;
}

void take_out(const Cycle& cycle, LinkCounts& links) {
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const std::uint32_t one = cycle[i], other = cycle[(i + 1) % cycle.size()];
    --links[one][other];
    --links[other][one];
  }
}

/// Cycles found one after the other in what is left of the links; the best of many trials.
std::vector<Cycle> cycles_by_trial(std::size_t members, const std::vector<Edge>& edges) {
  constexpr int trials = 2000;
  LinkCounts all(members, std::vector<std::uint32_t>(members));
  for (const auto& [one, other] : edges) {
    ++all[one][other];
    ++all[other][one];
  }
  std::mt19937 random(1);
  std::vector<Cycle> best;
  for (int trial = 0; trial < trials && best.size() * members + members <= edges.size(); ++trial) {
    LinkCounts left = all;
    std::vector<Cycle> found;
    for (Cycle path{0}; extend(path, left, random); path = {0}) {
      found.push_back(path);
      take_out(path, left);
    }
    if (found.size() > best.size()) best = std::move(found);
  }
  return best;
}

/// The two neighbours of each member.
using Factor = std::vector<std::array<std::uint32_t, 2>>;

/// The links of each dimension of a torus follow each other, two at each member.
std::vector<Factor> factors_of(std::size_t members, const std::vector<Edge>& edges) {
  std::vector<Factor> factors;
  if (edges.size() % members != 0) return {};
  for (std::size_t first = 0; first < edges.size(); first += members) {
    std::vector<std::vector<std::uint32_t>> near(members);
    for (std::size_t i = first; i < first + members; ++i) {
      near[edges[i].first].push_back(edges[i].second);
      near[edges[i].second].push_back(edges[i].first);
    }
    Factor& factor = factors.emplace_back();
    for (const auto& two : near) {
      if (two.size() != 2) return {};
      factor.push_back({two[0], two[1]});
    }
  }
  return factors;
}

std::vector<Cycle> cycles_in(const Factor& factor) {
  std::vector<Cycle> cycles;
  std::vector<bool> seen(factor.size());
  for (std::uint32_t first = 0; first < factor.size(); ++first) {
    if (seen[first]) continue;
    Cycle cycle;
    for (std::uint32_t at = first, from = factor[first][0]; !seen[at];) {
      seen[at] = true;
      cycle.push_back(at);
      const std::uint32_t next = factor[at][0] == from ? factor[at][1] : factor[at][0];
      from = at;
      at = next;
    }
    cycles.push_back(std::move(cycle));
  }
  return cycles;
}

void replace(Factor& factor, std::uint32_t at, std::uint32_t old, std::uint32_t neighbour) {
  auto& two = factor[at];
  (two[0] == old ? two[0] : two[1]) = neighbour;
}

/// In a square with two sides in each factor, these change places.
void exchange(Factor& one, Factor& other, const std::array<std::uint32_t, 4>& square) {
  const auto [a, b, c, d] = square;
  replace(one, a, b, d);
  replace(one, b, a, c);
  replace(one, c, d, b);
  replace(one, d, c, a);
  replace(other, a, d, b);
  replace(other, b, c, a);
  replace(other, c, b, d);
  replace(other, d, a, c);
}

/// Exchanges sides of squares between factors, as long as cycles do not get more, until each factor
/// is one cycle.
std::vector<Cycle> cycles_by_exchange(std::vector<Factor> factors) {
  constexpr int most = 100'000;
  const auto count = [&] {
    std::size_t sum = 0;
    for (const Factor& factor : factors) sum += cycles_in(factor).size();
    return sum;
  };
  std::mt19937 random(1);
  std::size_t cycles = count();
  for (int trial = 0; trial < most && cycles > factors.size(); ++trial) {
    const std::size_t first = random() % factors.size();
    const std::size_t second = (first + 1 + random() % (factors.size() - 1)) % factors.size();
    Factor &one = factors[first], &other = factors[second];
    const auto a = static_cast<std::uint32_t>(random() % one.size());
    const std::uint32_t b = one[a][random() % 2], c = other[b][random() % 2];
    const std::uint32_t d = one[c][random() % 2];
    if (c == a || d == b || (other[d][0] != a && other[d][1] != a)) continue;
    exchange(one, other, {a, b, c, d});
    const std::size_t now = count();
    if (now > cycles) {
      exchange(other, one, {a, b, c, d});
    } else {
      cycles = now;
    }
  }
  std::vector<Cycle> whole;
  for (const Factor& factor : factors) {
    std::vector<Cycle> found = cycles_in(factor);
    if (found.size() == 1) whole.push_back(std::move(found.front()));
  }
  return whole;
}

}  // namespace

std::vector<Cycle> wired_rings(const Topology& topology, const std::vector<Node>& members) {
  constexpr std::size_t few = 12;
  const std::size_t all = members.size();
  const std::vector<Edge> edges = edges_between(topology, members);
  if (edges.empty()) return {};
  if (all == 2) return std::vector<Cycle>(edges.size(), Cycle{0, 1});
  std::vector<Cycle> cycles;
  if (all <= few) {
    cycles = cycles_by_trial(all, edges);
  } else if (std::vector<Factor> factors = factors_of(all, edges); factors.size() > 1) {
    cycles = cycles_by_exchange(std::move(factors));
  }
  const std::size_t found = cycles.size();
  for (std::size_t i = 0; i < found; ++i) {
    cycles.emplace_back(cycles[i].rbegin(), cycles[i].rend());
  }
  return cycles;
}

std::vector<Cycle> rings_through(const std::vector<std::vector<Cycle>>& machines) {
  if (machines.size() == 1) return machines.front();
  const auto ways = [](const std::vector<Cycle>& cycles) {
    return cycles.size() * cycles.front().size();
  };
  std::size_t count = 1;
  for (const std::vector<Cycle>& cycles : machines) count = std::lcm(count, ways(cycles));
  std::vector<Cycle> rings(count);
  for (std::size_t ring = 0; ring < count; ++ring) {
    for (const std::vector<Cycle>& cycles : machines) {
      const std::size_t way = ring % ways(cycles), size = cycles.front().size();
      Cycle path = cycles[way / size];
      std::rotate(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(way % size), path.end());
      rings[ring].insert(rings[ring].end(), path.begin(), path.end());
    }
  }
  return rings;
}

}  // namespace penstock
