#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/run/batch/packing.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/costs/hardware_model.hpp"

namespace penstock {

/// A microbatch of a replica. The loads are those of the busiest device of experts over the mean,
/// by block of the model; empty: all devices have the same. Where the model's module takes the
/// microbatches of several replicas together, `together` is their mean.
struct StepMicrobatch {
  PackedMicrobatch packed;
  std::vector<double> loads;
  std::optional<PackedMicrobatch> together = std::nullopt;

  const PackedMicrobatch& of_module() const { return together ? *together : packed; }
  friend bool operator==(const StepMicrobatch&, const StepMicrobatch&) = default;
};
using ReplicaBatch = std::vector<StepMicrobatch>;

/// The microbatches of a step, by data replica.
struct StepBatch {
  std::vector<ReplicaBatch> replicas;

  /// The mean of all microbatches, with balanced experts.
  StepMicrobatch mean() const;
  PackedMicrobatch sum() const;
  bool has_loads() const;
};

/// What a microbatch costs in F and B of the rank that takes longest, in a layout with documents.
TokenCost token_cost_of(const Layout& layout, const HardwareModel& hardware);

/// The microbatches of a draw, of at most `most_drawn_replicas` replicas. Throws InputError with a
/// pointer into the scenario.
StepBatch step_batch(const Layout& layout, const TokenCost& cost, std::uint32_t draw);

/// A microbatch whose costs are those of the layout: full, of equal documents.
StepMicrobatch plain_microbatch(const Layout& layout);

/// Makes all microbatches of a layout with documents equal to this one, for good.
void set_microbatch(Layout& layout, const StepMicrobatch& microbatch);

}  // namespace penstock
