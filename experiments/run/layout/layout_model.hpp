#pragma once

#include <optional>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/degrees.hpp"
#include "experiments/run/layout/layout.hpp"
#include "hardware_models/model/model_layers.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// Sizes of a cell, and the devices that share it. Needs the layout's degrees, batch, memory and
/// slices.
CellShape shape_of(const ModelSection& model, const Layout& layout);

/// All that the costs of layers by kind follow from.
struct LayerInputs {
  ModelSpec spec;
  bool from_file = false;
  bool has_sequences = false;  // of stated lengths, which devices and slices share
  CellShape shape;
  std::vector<RecomputeScope> scopes;  // a graph of each
  Operators operators;                 // that `selected` recomputes

  friend bool operator==(const LayerInputs&, const LayerInputs&) = default;
};
std::size_t hash_of(const LayerInputs& inputs);

/// The layers of a scenario with their costs under its recomputation mode. Throws InputError with a
/// pointer into the scenario.
ModelGraph model_of(const Scenario& scenario, const Batch& batch, const CellShape& shape,
                    LayerGraphs* known = nullptr);
/// The same under other recomputations; the work of each layer is computed once.
std::vector<ModelGraph> models_of(const Scenario& scenario,
                                  const std::vector<RecomputeSection>& recomputations,
                                  const Batch& batch, const CellShape& shape,
                                  LayerGraphs* known = nullptr);

/// Makes the layers of a layout anew, for cells of this shape and kinds with these numbers.
void make_layers(Layout& layout, ModelSpec spec, const CellShape& shape);

/// Makes the model of a settled layout again, for cells of another shape and kinds with other
/// numbers. Its layers must be by kind, and its cut stays.
void refit_model(Layout& layout, ModelSpec spec, const CellShape& shape);

/// A schedule with the passes of another one, once each: models are made again without the rest.
Schedule passes_of(const Schedule& schedule);

/// Multiplies the times and the sizes that a layer states for a whole microbatch.
void scale_stated(Layer& layer, double times, double bytes);

/// What the stack and the degrees change in each layer, before the model is cut.
void fit_layers(const Layout& layout, ModelGraph& model);

/// What a scenario says of documents, with the tokens of a full microbatch, which the costs of the
/// layout are for. The layout has all but its notes. Throws as above for what does not go with
/// microbatches that differ.
std::optional<BatchSection> settle_documents(const Scenario& scenario, const Layout& layout);

/// Refuses layers whose costs do not follow from the tokens of a microbatch. Throws as above.
void check_tokens_count(const Layout& layout);

/// Adjusts the model to its partition: the stash of a fully recomputed stage, tied weights of the
/// first and last stage, exchanges inside a stage. Throws as above.
void fit_model(Layout& layout);

}  // namespace penstock
