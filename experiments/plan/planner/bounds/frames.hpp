#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/plan/planner/bounds/layer_times.hpp"
#include "experiments/plan/planner/bounds/plan_base.hpp"
#include "experiments/plan/planner/bounds/stage_prices.hpp"
#include "experiments/plan/planner/bounds/step_bound.hpp"
#include "experiments/plan/planner/space/layout_space.hpp"

namespace penstock {

/// Orders with the same placement and cells, which cost the same per stage.
struct OrderGroup {
  std::vector<std::uint32_t> orders;  // of the space
  const OrderChoice* like = nullptr;  // one of them
};

std::vector<OrderGroup> order_groups(const LayoutSpace& space);

/// Layouts that differ only in order, ZeRO level and link codec, with a bound that needs no plan.
struct LayoutFrame {
  double bound_us = 0;
  std::uint32_t degrees = 0;  // of the space
  std::uint16_t group = 0;
  bool sequence = true;
  std::uint8_t recomputation = 0;
  std::uint8_t partition = 0;
  BoundBy bound_by = BoundBy::even_cut;
  std::uint8_t may_fit = 0;       // bits by ZeRO level
  double least_bytes = 0;         // of the level that needs the least
  const char* refusal = nullptr;  // why it is no layout of its own
};

/// The frames of a space. Times of layers are computed once for each shape of cells.
class LayoutFrames {
 public:
  /// All must outlive it.
  LayoutFrames(const PlanBase& base, const LayoutSpace& space, const Restrictions& only);

  /// All frames, in the order of the space; `jobs` threads at most.
  std::vector<LayoutFrame> all(std::size_t jobs);

  const std::vector<OrderGroup>& groups() const { return groups_; }
  /// nullptr for ranks that the rule does not take.
  const Placement* placement(std::uint16_t group, std::uint32_t ranks) const;
  /// The layout of a frame, without order, ZeRO level and link codec.
  LayoutChoice choice(const LayoutFrame& frame) const;
  /// How an order of the frame runs its cells; `gathers`: with the weights of ZeRO-3.
  OrderShape shape(const LayoutFrame& frame, const OrderChoice& order, bool gathers) const;
  /// Layer times of a frame at a ZeRO level; nullptr when its shape is refused.
  const std::vector<LayerTimes>* times(const LayoutFrame& frame, std::uint32_t zero) const;
  /// Prices of an evenly cut frame at a ZeRO level from its layers alone: transfers and sums are
  /// free, and nothing is held for them. No price of its layouts is lower.
  StagePrices layer_prices(const LayoutFrame& frame, std::uint32_t zero) const;

 private:
  /// By stage.
  struct StageWeights {
    std::vector<double> whole, share;
  };

  std::vector<LayoutFrame> of_degrees(std::uint32_t degrees) const;
  LayerShapeKey key(const LayoutFrame& frame, std::uint32_t zero) const;
  /// By layer of the model, where it is cut evenly.
  const std::vector<std::uint32_t>& stages_of_layers(const Placement& placement) const;
  void judge(LayoutFrame& frame) const;
  double bound_of(const LayoutFrame& frame, const std::vector<LayerTimes>& layers) const;
  void find_placements();
  void find_cuts();
  std::vector<StageBounds> stage_times(const LayoutFrame& frame, const Placement& placement,
                                       const std::vector<LayerTimes>& layers) const;
  StageWeights weights_of(const LayoutFrame& frame, const Placement& placement,
                          const std::vector<LayerTimes>& layers) const;
  std::vector<double> held_bytes(const LayoutFrame& frame, const Placement& placement,
                                 const StageWeights& weights, std::uint32_t zero) const;
  void judge_memory(const Placement& placement, const std::vector<LayerTimes>& layers,
                    LayoutFrame& frame) const;
  void add_kept(const LayoutFrame& frame, const Placement& placement,
                const std::vector<LayerTimes>& layers, StagePrices& prices) const;

  const PlanBase& base_;
  const LayoutSpace& space_;
  const Restrictions& only_;
  std::vector<OrderGroup> groups_;
  double shared_bytes_ = 0;  // parameters that two layers share on one rank
  std::map<std::pair<std::uint16_t, std::uint32_t>, Placement> placements_;
  LayerShapes shapes_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> stage_of_layer_;  // by stages, even cuts
};

}  // namespace penstock
