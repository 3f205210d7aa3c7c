#include "schedules/partitioners/graph/ideal_space.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_set>

namespace penstock {
namespace {

/// Sets are kept in one array; the table holds their numbers.
class SetTable {
 public:
  explicit SetTable(std::uint32_t words) : words_(words), known_(64, Hash{*this}, Equal{*this}) {}
  SetTable(const SetTable&) = delete;
  SetTable& operator=(const SetTable&) = delete;

  std::uint32_t size() const { return static_cast<std::uint32_t>(bits_.size() / words_); }
  const std::uint64_t* set(std::uint32_t number) const {
    return bits_.data() + std::size_t{number} * words_;
  }
  void add(const LayerSet& set) {
    const std::uint32_t number = size();
    bits_.insert(bits_.end(), set.begin(), set.end());
    if (!known_.insert(number).second) bits_.resize(bits_.size() - words_);
  }
  std::vector<std::uint64_t> take() { return std::move(bits_); }

 private:
  struct Hash {
    const SetTable& table;
    std::size_t operator()(std::uint32_t number) const {
      std::uint64_t hash = 0x9e3779b97f4a7c15U;
      const std::uint64_t* set = table.set(number);
      for (std::uint32_t w = 0; w < table.words_; ++w) {
        hash = (hash ^ set[w]) * 0xff51afd7ed558ccdU;
        hash ^= hash >> 32;
      }
      return hash;
    }
  };
  struct Equal {
    const SetTable& table;
    bool operator()(std::uint32_t a, std::uint32_t b) const {
      return std::equal(table.set(a), table.set(a) + table.words_, table.set(b));
    }
  };

  std::uint32_t words_;
  std::vector<std::uint64_t> bits_;
  std::unordered_set<std::uint32_t, Hash, Equal> known_;
};

bool is_ready(const LayerGraph& graph, const LayerSet& set, std::uint32_t layer) {
  if (is_in(set.data(), layer)) return false;
  return std::ranges::all_of(graph.inputs[layer],
                             [&](std::uint32_t input) { return is_in(set.data(), input); });
}

std::uint32_t count_of(const std::uint64_t* set, std::uint32_t words) {
  std::uint32_t count = 0;
  for (std::uint32_t w = 0; w < words; ++w) count += std::popcount(set[w]);
  return count;
}

/// Sums of one set. Layers are added in one order, so a subset never sums to more.
void add_sums(const CutProblem& problem, const LayerGraph& graph, const std::uint64_t* set,
              IdealSpace& space) {
  double compute = 0, parameters = 0, boundary = 0;
  for (std::uint32_t layer = 0; layer < graph.size(); ++layer) {
    if (!is_in(set, layer)) continue;
    const CutLayer& own = problem.layers[layer];
    compute += own.compute_s();
    parameters += own.parameter_bytes;
    const auto& readers = graph.readers[layer];
    const bool crosses =
        std::ranges::any_of(readers, [&](std::uint32_t reader) { return !is_in(set, reader); });
    if (crosses) boundary += own.output_bytes;
  }
  space.compute_s.push_back(compute);
  space.parameter_bytes.push_back(parameters);
  space.boundary_bytes.push_back(boundary);
}

template <class Value>
void reorder(const std::vector<std::uint32_t>& order, std::vector<Value>& values) {
  std::vector<Value> sorted;
  sorted.reserve(values.size());
  for (const std::uint32_t number : order) sorted.push_back(values[number]);
  values = std::move(sorted);
}

void sort(IdealSpace& space) {
  std::vector<std::uint32_t> count(space.size());
  for (std::uint32_t i = 0; i < space.size(); ++i) count[i] = count_of(space.set(i), space.words);
  std::vector<std::uint32_t> order(space.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    if (space.compute_s[a] != space.compute_s[b]) return space.compute_s[a] < space.compute_s[b];
    return count[a] < count[b];
  });
  reorder(order, space.compute_s);
  reorder(order, space.parameter_bytes);
  reorder(order, space.boundary_bytes);
  std::vector<std::uint64_t> bits;
  bits.reserve(space.bits.size());
  for (const std::uint32_t number : order) {
    bits.insert(bits.end(), space.set(number), space.set(number) + space.words);
  }
  space.bits = std::move(bits);
}

/// Adds every ideal, each from a smaller one; false when there are more than `most`.
bool grow(const LayerGraph& graph, std::uint64_t most, SetTable& table) {
  LayerSet set(graph.words(), 0);
  table.add(set);
  for (std::uint32_t number = 0; number < table.size(); ++number) {
    set.assign(table.set(number), table.set(number) + graph.words());
    for (std::uint32_t layer = 0; layer < graph.size(); ++layer) {
      if (!is_ready(graph, set, layer)) continue;
      LayerSet next = set;
      put(next, layer);
      table.add(next);
      if (table.size() > most) return false;
    }
  }
  return true;
}

using Order = std::vector<std::uint32_t>;

/// Kahn's algorithm; `choose` names the place of the next layer among those that are ready, in the
/// order in which they became so.
template <class Choose>
Order ordered(const LayerGraph& graph, Choose choose) {
  Order open(graph.size()), ready, order;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    open[i] = std::uint32_t(graph.inputs[i].size());
    if (open[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const std::size_t place = choose(ready, order);
    const std::uint32_t layer = ready[place];
    ready.erase(ready.begin() + std::ptrdiff_t(place));
    order.push_back(layer);
    for (const std::uint32_t reader : graph.readers[layer]) {
      if (--open[reader] == 0) ready.push_back(reader);
    }
  }
  return order;
}

/// Adds the layer with the least boundary behind it.
Order narrow_order(const CutProblem& problem, const LayerGraph& graph) {
  Order unread(graph.size());
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    unread[i] = std::uint32_t(graph.readers[i].size());
  const auto growth = [&](std::uint32_t layer) {
    double bytes = unread[layer] > 0 ? problem.layers[layer].output_bytes : 0;
    for (const std::uint32_t input : graph.inputs[layer]) {
      if (unread[input] == 1) bytes -= problem.layers[input].output_bytes;
    }
    return bytes;
  };
  return ordered(graph, [&](const Order& ready, const Order& order) {
    if (!order.empty()) {
      for (const std::uint32_t input : graph.inputs[order.back()]) --unread[input];
    }
    const auto least =
        std::ranges::min_element(ready, [&](auto a, auto b) { return growth(a) < growth(b); });
    return std::size_t(least - ready.begin());
  });
}

/// Ancestors of each layer.
std::vector<LayerSet> ancestors(const LayerGraph& graph) {
  std::vector<LayerSet> all(graph.size(), LayerSet(graph.words(), 0));
  for (std::uint32_t layer = 0; layer < graph.size(); ++layer) {
    for (const std::uint32_t input : graph.inputs[layer]) {
      put(all[layer], input);
      for (std::uint32_t w = 0; w < graph.words(); ++w) all[layer][w] |= all[input][w];
    }
  }
  return all;
}

/// The ancestors of a layer that another layer than these or itself reads.
LayerSet read_elsewhere(const LayerGraph& graph, const LayerSet& ancestors, std::uint32_t layer) {
  LayerSet extra(graph.words(), 0);
  for (std::uint32_t one = 0; one < graph.size(); ++one) {
    if (!is_in(ancestors.data(), one)) continue;
    for (const std::uint32_t reader : graph.readers[one]) {
      if (reader != layer && !is_in(ancestors.data(), reader)) put(extra, one);
    }
  }
  return extra;
}

}  // namespace

std::optional<IdealSpace> ideals_of(const CutProblem& problem, std::uint64_t most) {
  constexpr std::uint64_t most_words = std::uint64_t{1} << 26;
  const LayerGraph graph = graph_of(problem);
  if (std::uint64_t{graph.size() + 1} * graph.words() > most_words) return std::nullopt;
  SetTable table(graph.words());
  if (!grow(graph, std::min(most, most_words / graph.words()), table)) return std::nullopt;
  IdealSpace space;
  space.words = graph.words();
  for (std::uint32_t i = 0; i < table.size(); ++i) add_sums(problem, graph, table.set(i), space);
  space.bits = table.take();
  space.nested = space.size() == graph.size() + 1;
  sort(space);
  return space;
}

IdealSpace ideals_of_order(const CutProblem& problem, const std::vector<std::uint32_t>& order) {
  const LayerGraph graph = graph_of(problem);
  IdealSpace space;
  space.nested = true;
  space.words = graph.words();
  std::vector<std::uint32_t> unread(graph.size());
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    unread[i] = std::uint32_t(graph.readers[i].size());
  double compute = 0, parameters = 0;
  std::vector<bool> open(graph.size(), false);
  const auto add = [&] {
    double boundary = 0;
    for (std::uint32_t i = 0; i < graph.size(); ++i) {
      if (open[i]) boundary += problem.layers[i].output_bytes;
    }
    space.compute_s.push_back(compute);
    space.parameter_bytes.push_back(parameters);
    space.boundary_bytes.push_back(boundary);
  };
  add();
  LayerSet set(graph.words(), 0);
  space.bits = set;
  for (const std::uint32_t layer : order) {
    compute += problem.layers[layer].compute_s();
    parameters += problem.layers[layer].parameter_bytes;
    open[layer] = unread[layer] > 0;
    for (const std::uint32_t input : graph.inputs[layer]) open[input] = --unread[input] > 0;
    add();
    put(set, layer);
    space.bits.insert(space.bits.end(), set.begin(), set.end());
  }
  return space;
}

LayerGraph graph_of(const CutProblem& problem) {
  LayerGraph graph;
  graph.readers.resize(problem.size());
  graph.inputs.resize(problem.size());
  for (const auto& [from, to] : problem.edges) {
    std::vector<std::uint32_t>& readers = graph.readers[from];
    if (std::ranges::find(readers, to) != readers.end()) continue;
    readers.push_back(to);
    graph.inputs[to].push_back(from);
  }
  return graph;
}

std::vector<std::vector<std::uint32_t>> several_orders(const CutProblem& problem) {
  const LayerGraph graph = graph_of(problem);
  Order given(graph.size());
  std::iota(given.begin(), given.end(), 0U);
  return {given, ordered(graph, [](const Order&, const Order&) { return std::size_t{0}; }),
          ordered(graph, [](const Order& ready, const Order&) { return ready.size() - 1; }),
          narrow_order(problem, graph)};
}

std::vector<double> published_boundaries(const CutProblem& problem, const IdealSpace& space) {
  const LayerGraph graph = graph_of(problem);
  const std::vector<LayerSet> before = ancestors(graph);
  std::vector<LayerSet> extra;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    extra.push_back(read_elsewhere(graph, before[i], i));
    put(extra.back(), i);
  }
  std::vector<double> bytes;
  for (std::uint32_t number = 0; number < space.size(); ++number) {
    LayerSet sent(graph.words(), 0);
    for (std::uint32_t layer = 0; layer < graph.size(); ++layer) {
      const auto& readers = graph.readers[layer];
      const bool inner =
          std::ranges::any_of(readers, [&](std::uint32_t r) { return space.has(number, r); });
      if (!space.has(number, layer) || inner) continue;
      for (std::uint32_t w = 0; w < graph.words(); ++w) sent[w] |= extra[layer][w];
    }
    double sum = 0;
    for (std::uint32_t i = 0; i < graph.size(); ++i) {
      if (is_in(sent.data(), i)) sum += problem.layers[i].output_bytes;
    }
    bytes.push_back(sum);
  }
  return bytes;
}

}  // namespace penstock
