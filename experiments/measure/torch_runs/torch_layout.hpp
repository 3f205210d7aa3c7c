#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/run/layout/layout.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// What the actions of a run are to do: run the layers of the model, keep a core busy, sleep, or
/// layers if possible.
enum class Bodies : std::uint8_t { automatic, busy, layers, sleep };

/// What the layers of a run in PyTorch do.
enum class TorchBodies : std::uint8_t {
  sleep,    // for stated times
  compute,  // on a core, for stated times
  layers,   // real ones, by kind
  own,      // those of the user's file
};
std::string_view name(TorchBodies bodies);

/// A layer: stated times, or parts by kind. I of a whole backward counts all of it.
struct TorchLayer {
  double forward_us = 0;
  double input_us = 0;
  double weight_us = 0;
  std::vector<LayerSpec> parts;
};

/// The model of a run in PyTorch.
struct TorchModel {
  TorchBodies bodies = TorchBodies::sleep;
  std::string file;  // of the user's layers
  std::vector<TorchLayer> layers;
  std::uint32_t width = 64;  // values of a tensor's last dimension
  std::uint32_t examples = 1;
  std::vector<std::uint32_t> shape;  // dimensions between
  double scale = 1;                  // of stated times
  // Of layers by kind: the lengths of the documents of each microbatch; empty: it is one.
  std::vector<std::vector<std::uint32_t>> documents = {};
};

/// What a model is wanted for.
struct TorchModelRequest {
  Bodies bodies = Bodies::automatic;
  std::string file;  // of the user's layers
  double scale = 1;  // of stated times
};

/// The model of a layout. Throws UsageError for layers that PyTorch's script does not know, and
/// for models that are no chain.
TorchModel torch_model(const Layout& layout, const TorchModelRequest& request);

/// How long the actions of a stage take, by microbatch, in times of its layers.
struct MicrobatchShares {
  std::vector<double> forward, input, weight;
};

/// An order for PyTorch's runtime, compute-only or with the communication that it has written.
struct RuntimeOrder {
  std::string name;  // of the schedule; names files, too
  Placement placement;
  Schedule schedule;
  std::string csv;
  bool with_communication = false;
  std::vector<std::vector<std::uint32_t>> stages;  // the layers of each, ascending
  std::uint32_t quiet_traced = 2;                  // quiet steps to trace
  std::vector<MicrobatchShares> shares = {};       // by stage; empty: microbatches are equal
};

/// Why PyTorch's runtime does not run a layout, or would run it otherwise; "" if it does.
std::string why_not_in_torch(const Layout& layout, const Schedule& order);

/// The order of a layout that PyTorch's runtime runs.
RuntimeOrder runtime_order(const std::string& name, const Layout& layout, const Schedule& order);

/// By stage, where `drawn` has the same tasks as `plain`, whose microbatches are equal.
std::vector<MicrobatchShares> microbatch_shares(const PricedPlan& plain, const PricedPlan& drawn);

}  // namespace penstock
