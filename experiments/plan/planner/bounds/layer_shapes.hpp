#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "experiments/plan/planner/bounds/layer_times.hpp"
#include "experiments/plan/planner/bounds/plan_base.hpp"
#include "experiments/plan/planner/space/layout_space.hpp"

namespace penstock {

/// All that the cells of a layer cost depends on, but for recomputation.
struct LayerShapeKey {
  std::uint32_t tensor = 1;
  std::uint32_t context = 1;
  std::uint32_t expert = 1;
  std::uint32_t microbatch = 1;
  bool sequence = true;
  std::uint32_t slices = 1;
  bool sharded = false;  // runs on the stack of sharded gradients

  friend auto operator<=>(const LayerShapeKey&, const LayerShapeKey&) = default;
};

LayerShapeKey shape_key(const LayoutChoice& choice, std::uint32_t slices, bool sharded);

/// Layers priced once for each shape of cells. Recomputation changes what is kept and R alone.
class LayerShapes {
 public:
  /// Both must outlive it.
  LayerShapes(const PlanBase& base, const LayoutSpace& space);

  /// Asks for a shape; `choice` is a layout of it.
  void ask(const LayerShapeKey& key, const LayoutChoice& choice) {
    asked_.try_emplace(key, choice);
  }
  /// Prices all shapes asked for; `jobs` threads at most.
  void price(std::size_t jobs);
  /// nullptr when the shape is refused. `recomputation` is of the space.
  const std::vector<LayerTimes>* of(const LayerShapeKey& key, std::uint8_t recomputation) const;

 private:
  using ByRecomputation = std::vector<std::vector<LayerTimes>>;

  std::optional<ByRecomputation> priced(const LayerShapeKey& key, LayoutChoice choice) const;

  const PlanBase& base_;
  const LayoutSpace& space_;
  std::vector<RecomputeSection> recomputations_;
  std::vector<std::uint8_t> like_;  // by recomputation: the first with the same layers
  std::map<LayerShapeKey, LayoutChoice> asked_;
  std::map<LayerShapeKey, std::optional<ByRecomputation>> known_;
};

}  // namespace penstock
