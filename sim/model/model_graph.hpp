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

/// A layer kind with all its parameters; NaN for absent ones.
struct LayerPart {
  std::string kind;
  std::map<std::string, double, std::less<>> numbers;
};

/// The key of a layer in profiles.
struct LayerKey {
  std::string kind;
  std::vector<LayerPart> parts;  // when one device runs all of it
  double examples = 0;           // per cell
  double sequence = 0;           // tokens per example
};

/// What recomputation repeats of a layer, where anything of its stage is recomputed.
enum class Repeated : std::uint8_t {
  all,       // until all is back that its backward reads, where the stack stops there
  output,    // what it puts out as well, from which the next layer is made again
  selected,  // only what is marked
  nothing,   // the layer keeps its activation
};

/// The work of one device of a layer's group, if known.
struct DeviceWork {
  std::vector<Kernel> kernels;
  std::vector<Collective> collectives;
  // Exchange what a layer puts out, and its gradient, where the exchange is no part of its passes.
  std::vector<Collective> handing_on;
  Repeated repeated = Repeated::all;
  double forward_flops = 0;  // of the model, independent of the kernels
  double backward_flops = 0;

  friend bool operator==(const DeviceWork&, const DeviceWork&) = default;
};

/// Selective recomputation, when it differs from full recomputation.
struct SelectiveRecomputation {
  std::optional<double> recompute_us;
  std::optional<double> stash_bytes;
  std::optional<double> recomputed_bytes;

  friend bool operator==(const SelectiveRecomputation&, const SelectiveRecomputation&) = default;
};

/// The costs of one layer for one cell of a schedule. Unstated times are absent.
struct Layer {
  std::string name;
  std::string source;  // place in the input, for error texts
  std::string module;  // the part of the model that it belongs to; empty: the only one, or the last
  std::optional<double> forward_us;
  std::optional<double> backward_us;
  std::optional<double> backward_input_us;
  std::optional<double> backward_weight_us;
  double recompute_us = 0;
  std::optional<double> exchange_us;  // as `handing_on` of its work
  double activation_bytes = 0;        // output, passed to later layers
  double stash_bytes = 0;             // kept from its forward to the end of its backward
  double freed_by_input_bytes = 0;    // of stash_bytes, what W does not need
  double offloaded_bytes = 0;         // kept in host memory instead, between F and B or I
  double parameter_bytes = 0;
  double recomputed_bytes = 0;  // what recomputation restores, or would
  // What codecs leave alone, of recomputed_bytes where there are any, else of stash_bytes.
  double uncoded_bytes = 0;
  double workspace_bytes = 0;       // temporary memory of any of its passes
  double pending_weight_bytes = 0;  // kept by I for W

  SelectiveRecomputation selective;
  LayerKey key;
  DeviceWork work;

  double expert_parameter_bytes = 0;  // of parameter_bytes
  double gathered_share = 1;          // of parameter_bytes, where ZeRO gathers them
  double copies = 1;                  // devices of a rank's group that hold the same parameters
  double spread = 1;                  // data replicas that hold them once together
  // The same of experts, over the groups of this many data replicas together.
  double expert_copies = 1;
  double expert_spread = 1;

  bool cut_evenly = true;  // counts in an even partition; otherwise joins a neighbour
  bool at_an_end = false;  // of its model or encoder: not among the layers that are offloaded

  /// Whether what it puts out is exchanged before the next layer reads it, by no pass of its own.
  bool is_exchanged() const { return exchange_us || !work.handing_on.empty(); }
  /// What ZeRO gathers of its parameters.
  double gathered_bytes() const { return parameter_bytes * gathered_share; }
};

/// Whether layers cost the same: they differ at most in names and places.
bool cost_alike(const Layer& one, const Layer& other);

/// Layers and the tensors between them: a directed acyclic graph.
struct ModelGraph {
  std::vector<Layer> layers;
  std::vector<std::pair<LayerIndex, LayerIndex>> edges;

  /// Connects each layer to the next.
  void connect_as_chain();
};

/// A topological order of the layers, as close as possible to the given order. Throws InputError
/// naming a layer of a cycle.
std::vector<LayerIndex> topological_order(const ModelGraph& model);

/// As `topological_order`, without layers on or after a cycle.
std::vector<LayerIndex> sortable_layers(const ModelGraph& model);

}  // namespace penstock
