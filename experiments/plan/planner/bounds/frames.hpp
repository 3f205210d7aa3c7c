#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "experiments/plan/planner/bounds/layer_times.hpp"
#include "experiments/plan/planner/bounds/plan_base.hpp"
#include "experiments/plan/planner/bounds/stage_prices.hpp"
#include "experiments/plan/planner/bounds/step_bound.hpp"
#include "experiments/plan/planner/space/layout_space.hpp"
#include "experiments/run/layout/cut.hpp"
#include "experiments/run/layout/stage_demand.hpp"

namespace penstock {

/// Orders with the same placement and cells, which cost the same per stage.
struct OrderGroup {
  std::vector<std::uint32_t> orders;  // of the space
  const OrderChoice* like = nullptr;  // one of them
};

/// Layouts that differ only in order, ZeRO level and link codec, with a bound that needs no plan.
struct LayoutFrame {
  double bound_us = 0;        // until it is judged, of the work of its layers in equal parts
  std::uint32_t degrees = 0;  // of the space
  std::uint16_t group = 0;
  bool sequence = true;
  std::uint8_t recomputation = 0;
  std::uint8_t partition = 0;
  std::uint16_t some_layers = 0;  // the first of each stage; 0: as the recomputation says
  BoundBy bound_by = BoundBy::even_cut;
  bool judged = false;
  std::uint8_t may_fit = 0;                                // bits by ZeRO level
  double least_bytes = 0;                                  // of the level that needs the least
  const char* refusal = nullptr;                           // why it is no layout of its own
  std::array<const std::vector<LayerTimes>*, 2> layers{};  // by stack; nullptr: refused

  /// Whether its cut follows from its layers.
  bool has_cut() const { return bound_by == BoundBy::even_cut || bound_by == BoundBy::priced_cut; }
};

/// All frames of some degrees, with bounds from the sums of their layers.
struct DegreesBounds {
  double bound_us = 0;
  double least_bytes = 0;  // of the ZeRO level that needs the least
};

/// The frames of a space. Times of layers are computed once for each shape of cells.
class LayoutFrames {
 public:
  /// All must outlive it.
  LayoutFrames(const PlanBase& base, const LayoutSpace& space, const Restrictions& only);

  /// Of all degrees of the space, once; `jobs` threads at most. Nothing once it is asked to `stop`.
  std::vector<DegreesBounds> price_degrees(std::size_t jobs, const std::function<bool()>& stop);
  /// The frames of one combination of degrees, not judged.
  std::vector<LayoutFrame> of_degrees(std::uint32_t degrees);
  /// Bounds of a frame from its cut and what it recomputes.
  void judge(LayoutFrame& frame) const;

  const std::vector<OrderGroup>& groups() const { return groups_; }
  /// nullptr for ranks that the rule does not take.
  const Placement* placement(std::uint16_t group, std::uint32_t ranks) const;
  /// The layout of a frame, without order, ZeRO level and link codec.
  LayoutChoice choice(const LayoutFrame& frame) const;
  /// How an order of the frame runs its cells; `gathers`: with the weights of ZeRO-3.
  OrderShape shape(const LayoutFrame& frame, const OrderChoice& order, bool gathers) const;
  /// Layer times of a frame at a ZeRO level; nullptr when its shape is refused.
  static const std::vector<LayerTimes>* times(const LayoutFrame& frame, std::uint32_t zero) {
    return frame.layers[runs_sharded(zero) ? 1 : 0];
  }
  /// A layout of a frame at a ZeRO level with its different layers, on one rank.
  Layout shaped(const LayoutFrame& frame, std::uint32_t zero) const;
  /// Cuts a placed layout of a frame that has a cut, as its simulation does. Returns the times of
  /// its layers.
  CutTimes cut(const LayoutFrame& frame, std::uint32_t zero, Layout& layout) const;
  /// Prices of an evenly cut frame from its layers alone: transfers and sums are free, and nothing
  /// is held for them. No price of its layouts is lower.
  struct LayerPrices {
    StagePrices prices;                           // of all levels; nothing is held
    std::vector<std::uint32_t> levels;            // ZeRO levels on one stack
    std::vector<std::vector<double>> held_bytes;  // by level and rank
  };
  /// For each stack of the ZeRO levels that the frame takes.
  std::vector<LayerPrices> layer_prices(const LayoutFrame& frame) const;

 private:
  struct OfStack {
    StackConstants constants;
    double update_us = 0;  // of a stage, at least
    double step_us = 0;    // of the updates of a rank together
  };

  std::vector<std::uint16_t> groups_of(const LayoutChoice& degrees) const;
  void add_unjudged(LayoutFrame like, std::vector<LayoutFrame>& frames) const;
  std::vector<LayoutFrame> unjudged(std::uint32_t degrees) const;
  std::vector<LayoutFrame> different(std::uint32_t degrees) const;
  DegreesBounds bounds_of(const std::vector<LayoutFrame>& frames) const;
  double work_us(const LayoutFrame& frame, std::uint32_t zero) const;
  double mean_bytes(const LayoutFrame& frame) const;
  double stretch_of_frame(const LayoutFrame& frame, std::uint32_t zero) const;
  LayerShapeKey key(const LayoutFrame& frame) const;
  /// By layer of the model; nothing where the partitioner refuses it.
  std::vector<std::uint32_t> stages_of_layers(const LayoutFrame& frame, const Placement& placement,
                                              std::uint32_t zero) const;
  CutTimes cut_times(const LayoutFrame& frame, const std::vector<std::uint32_t>& stage_of,
                     std::uint32_t zero) const;
  ModelToCut chain_of(const LayoutFrame& frame, std::uint32_t zero) const;
  void find_link(std::uint32_t degrees);
  /// Times of its layers; without recomputation none is priced.
  void find_layers(LayoutFrame& frame, bool recomputed) const;
  void judge_cut(LayoutFrame& frame) const;
  double bound_of(const LayoutFrame& frame, const std::vector<std::uint32_t>& stage_of,
                  std::uint32_t zero) const;
  double rough_bound(const LayoutFrame& frame) const;
  void find_placements();
  void find_cuts();
  std::vector<StageBounds> stage_times(const LayoutFrame& frame, const Placement& placement,
                                       const std::vector<std::uint32_t>& stage_of,
                                       std::uint32_t zero) const;
  std::vector<KeptParameters> weights_of(const LayoutFrame& frame, const Placement& placement,
                                         const std::vector<std::uint32_t>& stage_of,
                                         std::uint32_t zero) const;
  double fixed_bytes() const;
  std::vector<double> held_bytes(const LayoutFrame& frame, const Placement& placement,
                                 const std::vector<KeptParameters>& weights,
                                 std::uint32_t zero) const;
  void judge_memory(const std::vector<std::uint32_t>& stage_of, std::uint32_t zero,
                    LayoutFrame& frame) const;
  void add_kept(const LayoutFrame& frame, const Placement& placement,
                const std::vector<std::uint32_t>& stage_of, std::uint32_t zero,
                StagePrices& prices) const;

  const PlanBase& base_;
  const LayoutSpace& space_;
  const Restrictions& only_;
  std::vector<OrderGroup> groups_;
  std::vector<BoundBy> bound_by_;  // by partition of the space
  std::vector<OfStack> stacks_;    // with whole gradients, and with sharded ones
  double shared_bytes_ = 0;        // parameters that two layers share on one rank
  std::map<std::pair<std::uint16_t, std::uint32_t>, Placement> placements_;
  LayerShapes shapes_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> stage_of_layer_;  // by stages, even cuts
  ModelToCut chain_;                                                    // of all layers, not priced
  std::vector<std::array<CutSizes, 2>> links_;  // by degrees that had their turn, and stack
};

}  // namespace penstock
