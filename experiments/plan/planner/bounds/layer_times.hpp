#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "experiments/plan/planner/bounds/plan_base.hpp"
#include "experiments/plan/planner/space/layout_space.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/model/partition.hpp"

namespace penstock {

/// What F and B use of the device; I and W use as much together as B.
using CellUse = std::array<DeviceUse, 2>;

inline void add_use(const CellUse& some, CellUse& sum) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += some[i];
}

/// Times of one layer in microseconds by pass, and the parameters that a device holds of it.
struct LayerTimes {
  std::array<std::optional<double>, 5> us;  // F, B, I, W, R
  CellUse use;                              // where the space has fused cells
  std::array<SharedParameters, 2> parameters;
  // Of one cell.
  double kept_bytes = 0;       // from F to the end of B or W
  double freed_bytes = 0;      // of them, until the end of I
  double pending_bytes = 0;    // between I and W
  double workspace_bytes = 0;  // of each action
};

/// Of each layer of a model on one rank, without recomputation. `uses`: with what they use of the
/// device.
std::vector<LayerTimes> layer_times(const ModelGraph& model, const HardwareModel& hardware,
                                    bool uses);

/// The times of the same layers with another recomputation: only R and what is kept differ.
std::vector<LayerTimes> with_recomputation(std::vector<LayerTimes> times, const ModelGraph& model,
                                           const HardwareModel& hardware);

/// Times of the layers of a model once it is cut: those at the end of a stage may be recomputed
/// otherwise than those at its begin.
struct CutTimes {
  std::vector<LayerTimes> times;
  std::vector<std::uint32_t> of_layer;  // in `times`, by layer of the model

  const LayerTimes& of(std::size_t layer) const { return times[of_layer[layer]]; }
};

/// Hardware whose layer times are known. Asks `inner` for everything else. Layers are told by their
/// index in `model`.
class KnownLayers final : public HardwareModel {
 public:
  /// All must outlive it.
  KnownLayers(const HardwareModel& inner, const ModelGraph& model, const CutTimes& cut)
      : inner_(inner), model_(model), cut_(cut) {}

  std::optional<double> compute_us(const Layer& layer, Pass pass) const override;
  TransferTime transfer(double bytes, Rank from, Rank to) const override {
    return inner_.transfer(bytes, from, to);
  }
  std::optional<TransferTime> collective(CollectiveKind kind, double bytes,
                                         const Holders& holders) const override {
    return inner_.collective(kind, bytes, holders);
  }

 private:
  const HardwareModel& inner_;
  const ModelGraph& model_;
  const CutTimes& cut_;
};

/// All that the cells of a layer cost depends on, but for recomputation.
struct LayerShapeKey {
  std::uint32_t tensor = 1;
  std::uint32_t context = 1;
  std::uint32_t expert = 1;
  std::optional<std::uint32_t> expert_tensor;
  std::uint32_t microbatch = 1;
  bool sequence = true;
  std::uint32_t slices = 1;
  bool hides_experts = false;

  friend auto operator<=>(const LayerShapeKey&, const LayerShapeKey&) = default;
};

/// Layers priced once for each shape of cells, on the stacks of the ZeRO levels of a space. What
/// their recomputations cost is priced when it is asked for.
class LayerShapes {
 public:
  /// Both must outlive it.
  LayerShapes(const PlanBase& base, const LayoutSpace& space);

  /// Asks for a shape; `choice` is a layout of it.
  void ask(const LayerShapeKey& key, const LayoutChoice& choice) {
    shapes_.try_emplace(key).first->second.choice = choice;
  }
  /// Prices F, B, I and W of all shapes asked for, until asked to `stop`; `jobs` threads at most.
  void price(std::size_t jobs, const std::function<bool()>& stop);
  /// Of a shape that was asked for, without recomputation; nullptr when it is refused.
  const std::vector<LayerTimes>* passes(const LayerShapeKey& key, bool sharded) const;
  /// The same with a recomputation of the space.
  const std::vector<LayerTimes>* of(const LayerShapeKey& key, bool sharded,
                                    std::uint8_t recomputation) const;
  /// The recomputation of the other layers of a stage, where only some are recomputed.
  std::uint8_t nothing() const { return nothing_; }
  const RecomputeSection& recomputation(std::uint8_t number) const {
    return recomputations_[number];
  }
  /// The different layers of a shape that is not refused, without kernels.
  const ModelGraph& model(const LayerShapeKey& key, bool sharded, std::uint8_t recomputation) const;

 private:
  /// A shape on one stack.
  struct OnStack {
    std::vector<LayerTimes> passes;
    // By recomputation.
    std::vector<std::vector<LayerTimes>> times;
    std::vector<ModelGraph> models;
  };
  struct Shape {
    LayoutChoice choice;
    mutable bool refused = false;
    mutable std::once_flag once;            // for all recomputations
    mutable std::array<OnStack, 2> stacks;  // with whole gradients, and with sharded ones
  };

  void find_nothing(const LayoutSpace& space);
  Layout layout_of(const LayerShapeKey& key, const Shape& shape, bool sharded) const;
  template <class Visit>
  void for_each_stack(const LayerShapeKey& key, const Shape& shape, Visit visit) const;
  void price(const LayerShapeKey& key, const Shape& shape) const;
  const Shape& complete(const LayerShapeKey& key) const;
  std::vector<ModelGraph> models(const Layout& layout) const;
  void complete(const Layout& layout, std::vector<ModelGraph> models, OnStack& stack) const;

  const PlanBase& base_;
  std::vector<bool> stacks_;  // of the space: whether gradients are sharded
  bool fuses_ = false;        // whether the space has fused cells
  std::uint8_t nothing_ = 0;  // the recomputation of layers that are not recomputed
  std::vector<RecomputeSection> recomputations_;
  std::vector<Scenario> by_operators_;  // one for each set of operators
  std::vector<std::uint8_t> like_;      // by recomputation: the first with the same layers
  std::map<LayerShapeKey, Shape> shapes_;
};

}  // namespace penstock
