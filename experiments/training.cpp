#include "experiments/training.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace penstock {
namespace {

/// By model stage: whether `test` holds for any of its layers.
template <class Test>
std::vector<bool> stages_with(const ModelGraph& model, const Partition& partition, Test test) {
  std::vector<bool> stages;
  for (const std::vector<LayerIndex>& layers : partition.stages) {
    stages.push_back(std::any_of(layers.begin(), layers.end(), [&](LayerIndex layer) {
      return test(model.layers[index(layer)]);
    }));
  }
  return stages;
}

/// Where a mode is asked for, a layer may also be made again in no time.
Recomputing recomputing_of(const Scenario& scenario, const Layout& layout) {
  if (scenario.recompute == RecomputeMode::none) return {};
  const auto again = [&](const Layer& layer) {
    return layer.recompute_us > 0 || (scenario.recompute && layer.recomputed_bytes > 0);
  };
  return {.stages = stages_with(layout.model, layout.partition, again),
          .early = scenario.recompute_early,
          .except_last = scenario.recompute == RecomputeMode::except_last};
}

/// Without data replicas there is nothing to sum and nothing to share.
Tail tail_of(const Scenario& scenario, const Layout& layout) {
  Tail tail;
  if (scenario.data > 1) {
    tail.reduces = stages_with(layout.model, layout.partition,
                               [](const Layer& layer) { return layer.parameter_bytes > 0; });
    tail.gathers = scenario.zero == 1;
  }
  // New weights can be gathered only once there are some, even where making them takes no time.
  tail.updates = scenario.optimizer_us > 0 || tail.gathers;
  tail.ties = layout.tied_embedding_bytes > 0;
  return tail;
}

/// Throws InputError for what a run of an order without flushes could only leave out.
void check_no_tail(const Scenario& scenario, const Layout& layout) {
  const Tail tail = tail_of(scenario, layout);
  const bool sums = std::find(tail.reduces.begin(), tail.reduces.end(), true) != tail.reduces.end();
  if (sums) {
    throw InputError("/parallel/data",
                     "an order that updates as it goes has no moment at which data replicas could "
                     "sum their gradients; 1 is right, or replicas of stages by /partition/ranks");
  }
  if (tail.ties) {
    throw InputError("/model/tied_embedding_bytes",
                     "an order that updates as it goes has no moment at which the ends could "
                     "exchange their gradients; leave it out");
  }
}

}  // namespace

Extras extras_of(const Scenario& scenario, const Layout& layout) {
  Extras extras{recomputing_of(scenario, layout), {}, {}};
  if (layout.schedule.has(Pass::update)) {
    check_no_tail(scenario, layout);
  } else {
    extras.tail = tail_of(scenario, layout);
  }
  const auto hold = [&](BufferKind kind) { extras.holds[static_cast<std::size_t>(kind)] = true; };
  if (scenario.optimizer != Optimizer::none) {
    hold(BufferKind::weight_gradients);
    hold(BufferKind::optimizer);
  }
  for (const Layer& layer : layout.model.layers) {
    if (layer.pending_weight_bytes > 0) hold(BufferKind::pending_weight);
    if (layer.workspace_bytes > 0) hold(BufferKind::workspace);
    if (layer.recomputed_bytes > 0) hold(BufferKind::recomputed);
  }
  return extras;
}

Training training_of(const Scenario& scenario, const Layout& layout) {
  return {.data = scenario.data,
          .optimizer = scenario.optimizer,
          .shards_optimizer = scenario.zero == 1 && scenario.data > 1,
          .optimizer_us = scenario.optimizer_us,
          .tied_embedding_bytes = layout.tied_embedding_bytes};
}

}  // namespace penstock
