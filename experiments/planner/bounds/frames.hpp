#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "experiments/planner/bounds/layer_times.hpp"
#include "experiments/planner/bounds/plan_base.hpp"
#include "experiments/planner/bounds/step_bound.hpp"
#include "experiments/planner/space/layout_space.hpp"

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
  /// Layer times of a frame at a ZeRO level; nullptr when its shape is refused.
  const std::vector<LayerTimes>* times(const LayoutFrame& frame, std::uint32_t zero) const;

 private:
  // Tensor, context, expert, microbatch, sequence, recomputation, slices, sharded.
  using ShapeKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, bool,
                              std::uint8_t, std::uint32_t, bool>;
  using Shape = std::optional<std::vector<LayerTimes>>;

  ShapeKey key(const LayoutFrame& frame, std::uint32_t zero) const;
  std::vector<LayoutFrame> of_degrees(std::uint32_t degrees) const;
  void judge(LayoutFrame& frame) const;
  double bound_of(const LayoutFrame& frame, const std::vector<LayerTimes>& layers) const;
  void find_shapes(std::size_t jobs);
  void find_placements();
  void find_cuts();
  std::vector<StageBounds> stage_times(const LayoutFrame& frame, const Placement& placement,
                                       const std::vector<LayerTimes>& layers) const;
  void judge_memory(const Placement& placement, const std::vector<LayerTimes>& layers,
                    LayoutFrame& frame) const;

  const PlanBase& base_;
  const LayoutSpace& space_;
  const Restrictions& only_;
  std::vector<OrderGroup> groups_;
  double shared_bytes_ = 0;  // parameters that two layers share on one rank
  std::map<std::pair<std::uint16_t, std::uint32_t>, Placement> placements_;
  std::map<ShapeKey, Shape> shapes_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> stage_of_layer_;  // by stages, even cuts
};

}  // namespace penstock
