#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/plan/planner/space/training_task.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// What all layouts of a task share, the links of their machine too. Blocks that differ in their
/// number alone are one, so that their cells are priced once.
struct PlanBase {
  TrainingTask task;
  Catalogue catalogue;
  Scenario scenario;                         // of some layout
  Scenario reduced;                          // each different block once
  std::vector<std::uint32_t> reduced_layer;  // by layer of the model
  ModelSpec heads;                           // all blocks, those without a head without their parts
  Layout settled;                            // of `reduced`, on one rank
  Layout bare;                               // the same without layers, to be copied often
  Hardware sharded;                          // with the stack that ZeRO-2 and -3 run on by default
};

/// Throws InputError for what scenarios refuse.
PlanBase plan_base(const TrainingTask& task, Catalogue catalogue);

/// Degrees and batch of a layout on one rank, without layers. Cells are 1 / `slices` of a
/// microbatch. Throws InputError without a file's name.
Layout without_layers(const PlanBase& base, const LayoutChoice& choice, std::uint32_t slices);

/// The same with the different layers.
Layout with_shape(const PlanBase& base, const LayoutChoice& choice, std::uint32_t slices);

/// Takes the kernels off layers that are priced; plans ask whether there are any.
void leave_marks_of_kernels(Layer& layer);

/// All layers of a model from the different ones, whose kernels are taken off.
ModelGraph whole_model(const PlanBase& base, const ModelGraph& reduced);

/// What the bounds of a layout may rest on.
enum class BoundBy : std::uint8_t {
  even_cut,     // known before anything is priced
  priced_cut,   // made by prices, with those of the frame
  equal_parts,  // of the work: the cut follows the order of actions
  nothing,      // the scenario has settings that bounds do not cover
};

BoundBy bound_by(const PlanBase& base, const std::string& partition);

}  // namespace penstock
