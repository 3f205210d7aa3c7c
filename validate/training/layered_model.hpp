#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/plan/plan.hpp"
#include "validate/job/job.hpp"
#include "validate/kernels/registry.hpp"

namespace penstock {

/// The layer's role in a residual connection.
enum class Residual : std::uint8_t {
  none,
  begins,  // also passes on its input, below its output
  ends,    // adds the lower half of its input to its output for the upper half
  around,  // adds its input to its output
};

/// A layer at its place in a model.
struct PlacedLayer {
  const KernelEntry* kernel;
  LayerNumbers numbers;
  std::uint32_t number;  // in the model, across stages
  Residual residual;
  // Its first weight equals that of this layer: a tied head and the embedding.
  std::optional<std::uint32_t> tied_to = {};
  // Of a layer that reads two outputs: both are those of the single layer before it; what is behind
  // it reads its own output alone.
  bool opens_pairs = false;
  bool closes_pairs = false;

  std::size_t rows_in() const;  // including the residual, or the older output
  std::size_t rows_out() const;
};

/// The layers of a job, ready to run.
struct LayeredModel {
  std::vector<std::vector<PlacedLayer>> stages;  // by model stage; the last one ends in a loss
  KernelCell cell;                               // the first slice of microbatch 0

  /// Whether its last layer shares the table of its first.
  bool is_tied() const { return stages.back().back().tied_to.has_value(); }
  std::uint32_t layers() const { return stages.back().back().number + 1; }
};

/// Why layers are not supported; nothing when they are. Throws InputError for layers that no cost
/// model would price.
std::optional<std::string> why_not_layers(const JobLayers& layers);

/// Throws UsageError with the reason when layers are not supported.
LayeredModel layered_model(const JobLayers& layers);

/// The first slice of a microbatch.
KernelCell cell_of(const LayeredModel& model, Microbatch microbatch);
/// The drawn input of a model for a cell.
Tensor model_input(const LayeredModel& model, const KernelCell& cell);
/// A possible input of a model stage for a cell: the model's input, or drawn values.
Tensor stage_input(const LayeredModel& model, std::uint32_t model_stage, const KernelCell& cell);
/// The number of values in a model stage's input for a cell.
std::size_t stage_numbers(const LayeredModel& model, std::uint32_t model_stage);

/// The loss of a model without one: half the squared distance to a drawn target, averaged over the
/// columns of a microbatch. Not a kind of layer; its parameters are the input "rows" and whether
/// "images" come in.
extern const KernelEntry distance_kernel;

/// A stage and a microbatch or slice.
struct CellKey {
  Stage stage;
  Microbatch microbatch;
  friend auto operator<=>(const CellKey&, const CellKey&) = default;
};

/// The weight version that each microbatch uses on a rank, by the order of that rank; version v is
/// the result of v updates.
std::map<CellKey, std::uint32_t> versions_used(const Plan& plan, Rank rank, const WeightRule& rule);

/// The cells with recomputed activations.
std::set<CellKey> recomputed_cells(const Plan& plan);

/// Whether a plan has any B or I.
bool has_backward(const Plan& plan);

}  // namespace penstock
