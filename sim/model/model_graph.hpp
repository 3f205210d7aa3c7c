#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/model/work.hpp"

namespace penstock {

/// What a layer is made of: a kind, and all of its numbers; NaN stands for one that is absent.
struct LayerPart {
  std::string kind;
  std::map<std::string, double, std::less<>> numbers;
};

/// What profiles find a layer by.
struct LayerKey {
  std::string kind;
  std::vector<LayerPart> parts;  // where one device runs all of it
  double examples = 0;           // of a cell
  double sequence = 0;           // tokens of an example
};

/// What one device of a layer's group runs, where that is known.
struct DeviceWork {
  std::vector<Kernel> kernels;
  std::vector<Collective> collectives;
  bool recomputes_selected = false;  // recomputation runs the selective ones only
  double forward_flops = 0;          // of the model, however it is run
  double backward_flops = 0;
};

/// Selective recomputation, where it differs from making everything again.
struct SelectiveRecomputation {
  std::optional<double> recompute_us;
  std::optional<double> stash_bytes;
  std::optional<double> recomputed_bytes;
};

/// What one layer costs for one cell of a schedule. Times that nobody stated are absent.
struct Layer {
  std::string name;
  std::string source;  // where it was stated, for error texts
  std::optional<double> forward_us;
  std::optional<double> backward_us;
  std::optional<double> backward_input_us;
  std::optional<double> backward_weight_us;
  double recompute_us = 0;
  double activation_bytes = 0;      // what it hands to the layers after it
  double stash_bytes = 0;           // what it keeps from its forward to the end of its backward
  double freed_by_input_bytes = 0;  // of stash_bytes, what its weight gradient does not need
  double parameter_bytes = 0;
  double recomputed_bytes = 0;      // what recomputation brings back, or would have to
  double workspace_bytes = 0;       // what any of its passes needs while it runs
  double pending_weight_bytes = 0;  // what its input gradient keeps for its weight gradient

  SelectiveRecomputation selective;
  LayerKey key;
  DeviceWork work;

  // Of parameter_bytes, those of experts; and how many devices of the group hold the same ones.
  double expert_parameter_bytes = 0;
  double copies = 1;
  double expert_copies = 1;

  bool cut_evenly = true;  // counts in an even cut; else it goes with a neighbour
};

/// Layers and the tensors between them: a directed acyclic graph.
struct ModelGraph {
  std::vector<Layer> layers;
  std::vector<std::pair<LayerIndex, LayerIndex>> edges;

  /// Joins each layer to the one after it.
  void connect_as_chain();
};

/// The layers in an order in which each stands after its inputs; among the possible ones, that
/// which keeps closest to the order in which the layers were given. Throws InputError naming a
/// layer of the cycle if there is one.
std::vector<LayerIndex> topological_order(const ModelGraph& model);

/// The layers as `topological_order` has them, without those that no order can hold: the ones on a
/// cycle of edges, and behind one.
std::vector<LayerIndex> sortable_layers(const ModelGraph& model);

}  // namespace penstock
