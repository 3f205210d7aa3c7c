#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "experiments/input/long_work/memo.hpp"
#include "experiments/run/batch/step_batch.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/stage_demand.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/plan/by_microbatch.hpp"

namespace penstock {

/// All that the costs of a microbatch depend on in one layout.
struct MicrobatchInputs {
  using Numbers = std::array<double, 3>;  // tokens, pictured, squares
  Numbers own{}, of_module{};
  std::vector<double> loads;
  std::vector<std::uint32_t> parts;  // of the plan, that are priced

  friend bool operator==(const MicrobatchInputs&, const MicrobatchInputs&) = default;
};
std::size_t hash_of(const MicrobatchInputs& inputs);

/// The documents of a layout, draw by draw, and what their microbatches cost. Several threads may
/// use it at once.
class MicrobatchCosts {
 public:
  /// The layout has documents. Throws InputError as `price` does.
  MicrobatchCosts(const Layout& layout, std::shared_ptr<const HardwareModel> hardware);

  /// As `step_batch`.
  StepBatch draw(std::uint32_t number) const { return step_batch(layout_, token_cost_, number); }
  /// Whether the costs of the layout hold for each microbatch.
  bool all_plain(const StepBatch& batch) const;
  /// The costs of a plan by microbatch, for the microbatches of a replica. `plain`: those of the
  /// layout's plan.
  Costs of(const MicrobatchPlan& plan, const Costs& plain, const ReplicaBatch& batch) const;

 private:
  /// Microbatches that were priced, since replicas and draws repeat them.
  struct Known {
    std::mutex mutex;
    Memo<MicrobatchInputs, const Costs> costs{1024};  // of thousands that differ few come again
  };

  std::shared_ptr<const Costs> known_or_own(const Plan& classes,
                                            const std::vector<std::uint32_t>& parts,
                                            const StepMicrobatch& microbatch) const;
  Costs own(const Plan& classes, const StepMicrobatch& microbatch) const;

  Layout layout_;  // with an order that has each pass once
  Layout bare_;    // without lengths, of which there may be millions: copied for each microbatch
  std::shared_ptr<const HardwareModel> hardware_;
  Training training_;  // which no microbatch changes
  TokenCost token_cost_;
  std::unique_ptr<Known> known_ = std::make_unique<Known>();
};

}  // namespace penstock
