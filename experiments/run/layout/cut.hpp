#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/device_memory.hpp"
#include "experiments/run/layout/layout.hpp"
#include "schedules/partitioners/problem/cut_problem.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/model/partition.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// Cuts the model of a layout for its placement: as stated in the scenario, else by its
/// partitioner, for which the layout's hardware prices layers and links. Throws InputError with a
/// pointer into the scenario.
Partition cut_model(const Scenario& scenario, const Layout& layout);

/// A model as partitioners take it, and the layers behind each position of their chain.
struct ModelToCut {
  CutProblem problem;
  std::vector<std::vector<LayerIndex>> layers;  // by position
};

/// The time of a pass over a layer; nothing when unknown.
using PassTimes = std::function<std::optional<double>(const Layer& layer, Pass pass)>;

/// Times with which a partitioner prices layers: what is recomputed comes before the backward.
PassTimes times_to_cut(const PassTimes& own, const RecomputeSection& recompute);

/// A layer as partitioners take it.
CutLayer layer_to_cut(const Layer& layer, const PassTimes& times);

/// Orders and prices a model. `times` may be empty, for partitioners that need none. `numbers`
/// breaks ties of the order, smallest first; empty: the order of the layers. Layers in `dropped`
/// are not planned: a source joins its first reader, another layer the last that it reads.
ModelToCut model_to_cut(const ModelGraph& model, const PassTimes& times,
                        const std::vector<std::uint64_t>& numbers = {},
                        const std::vector<bool>& dropped = {});

/// What a cut depends on besides its layers and the device.
struct CutSizes {
  std::uint32_t stages = 1;
  std::uint32_t ranks = 1;
  std::uint32_t microbatches = 1;  // cells of a stage
  // Of the link between the first two ranks.
  double latency_s = 0;
  std::optional<double> bandwidth_bytes_per_s = {};
};

/// The link between the first two ranks, as one bandwidth and latency.
void add_link(const HardwareModel& hardware, CutSizes& sizes);

/// Cuts a model by a partitioner for the memory of a device. Throws InputError for what it refuses.
Partition cut_by(const PartitionerEntry& entry, const CutSettings& settings, const CutSizes& sizes,
                 const DeviceMemory& memory, ModelToCut model);

/// The partition of a cut.
Partition partition_of(const Cut& cut, const ModelToCut& model);

/// Cuts the model of a layout into the stages of its order. Where exchanges stand apart, by the
/// scenario or since the order's own cells (`written`) do so, stages are then cut at them, and the
/// order has an action of each piece. Throws InputError with a pointer into the scenario.
void cut_stages(const Scenario& scenario, const std::vector<bool>& written, Layout& layout);

}  // namespace penstock
