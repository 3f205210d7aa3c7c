#include "experiments/run/layout/cut_problem.hpp"

#include <algorithm>

namespace penstock {
namespace {

constexpr std::uint32_t nowhere = UINT32_MAX;

/// The layers that are planned, in the order of their numbers.
std::vector<LayerIndex> planned(const ModelGraph& model, const std::vector<std::uint64_t>& numbers,
                                const std::vector<bool>& dropped) {
  std::vector<LayerIndex> layers;
  for (const LayerIndex layer : Numbers<LayerIndex>(std::uint32_t(model.layers.size()))) {
    if (dropped.empty() || !dropped[index(layer)]) layers.push_back(layer);
  }
  if (!numbers.empty()) {
    std::stable_sort(layers.begin(), layers.end(), [&](LayerIndex a, LayerIndex b) {
      return numbers[index(a)] < numbers[index(b)];
    });
  }
  return layers;
}

/// Positions of layers in a topological order of the planned ones, smallest number first.
std::vector<std::uint32_t> positions(const ModelGraph& model,
                                     const std::vector<LayerIndex>& layers) {
  std::vector<std::uint32_t> place(model.layers.size(), nowhere);
  for (std::uint32_t i = 0; i < layers.size(); ++i) place[index(layers[i])] = i;
  ModelGraph reduced;
  reduced.layers.resize(layers.size());
  for (const auto& [from, to] : model.edges) {
    const std::uint32_t a = place[index(from)];
    const std::uint32_t b = place[index(to)];
    if (a != nowhere && b != nowhere) reduced.edges.emplace_back(LayerIndex{a}, LayerIndex{b});
  }
  std::vector<std::uint32_t> position(model.layers.size(), nowhere);
  std::uint32_t next = 0;
  for (const LayerIndex layer : topological_order(reduced)) {
    position[index(layers[index(layer)])] = next++;
  }
  return position;
}

double seconds(std::optional<double> us) { return us.value_or(0) / 1e6; }

CutLayer priced(const Layer& layer, const PassTimes& times) {
  CutLayer cut{.output_bytes = layer.activation_bytes,
               .parameter_bytes = layer.parameter_bytes,
               .stash_bytes = layer.stash_bytes,
               .counted = layer.cut_evenly};
  if (!times) return cut;
  cut.forward_s = seconds(times(layer, Pass::forward));
  cut.backward_s = seconds(times(layer, Pass::backward));
  cut.input_s = seconds(times(layer, Pass::backward_input));
  cut.weight_s = seconds(times(layer, Pass::backward_weight));
  return cut;
}

/// Puts layers that are not planned beside those that are.
void join(const ModelGraph& model, std::vector<std::uint32_t>& position) {
  std::vector<std::uint32_t> first(position.size(), nowhere);
  std::vector<std::uint32_t> last(position.size(), nowhere);
  for (const auto& [from, to] : model.edges) {
    const std::uint32_t reader = position[index(to)];
    const std::uint32_t writer = position[index(from)];
    std::uint32_t& earliest = first[index(from)];
    std::uint32_t& latest = last[index(to)];
    if (reader != nowhere) earliest = std::min(earliest, reader);
    if (writer != nowhere) latest = latest == nowhere ? writer : std::max(latest, writer);
  }
  for (std::size_t i = 0; i < position.size(); ++i) {
    if (position[i] != nowhere) continue;
    position[i] = last[i] != nowhere ? last[i] : first[i] != nowhere ? first[i] : 0;
  }
}

}  // namespace

ModelToCut model_to_cut(const ModelGraph& model, const PassTimes& times,
                        const std::vector<std::uint64_t>& numbers,
                        const std::vector<bool>& dropped) {
  const std::vector<LayerIndex> layers = planned(model, numbers, dropped);
  std::vector<std::uint32_t> position = positions(model, layers);
  ModelToCut result;
  result.problem.layers.resize(layers.size());
  result.layers.resize(layers.size());
  for (const LayerIndex layer : layers) {
    result.problem.layers[position[index(layer)]] = priced(model.layers[index(layer)], times);
  }
  for (const auto& [from, to] : model.edges) {
    const std::uint32_t a = position[index(from)];
    const std::uint32_t b = position[index(to)];
    if (a != nowhere && b != nowhere) result.problem.edges.emplace_back(a, b);
  }
  join(model, position);
  for (std::uint32_t i = 0; i < position.size() && !layers.empty(); ++i) {
    result.layers[position[i]].push_back(LayerIndex{i});
  }
  return result;
}

Partition partition_of(const Cut& cut, const ModelToCut& model) {
  Partition partition;
  for (const CutStage& stage : cut.stages) {
    std::vector<LayerIndex>& layers = partition.stages.emplace_back();
    for (const std::uint32_t position : stage.layers) {
      const std::vector<LayerIndex>& own = model.layers[position];
      layers.insert(layers.end(), own.begin(), own.end());
    }
  }
  return partition;
}

}  // namespace penstock
