#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "experiments/plan/sweeps/cost_knobs.hpp"
#include "experiments/plan/sweeps/sweep_result.hpp"
#include "experiments/run/brief_run.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/report/peak_bytes.hpp"

namespace penstock {

/// A finished run that is priced and run again with other costs: lowered once, and its memory is
/// reused.
class PreparedRun {
 public:
  /// `knobs` decide the costs of the layout.
  PreparedRun(Layout layout, BriefRun run, PeakBytes peaks, const std::vector<CostKnob>& knobs);

  /// The figures with these values of the knobs; nothing if the run has findings or refuses them,
  /// so that a whole run must say why.
  std::optional<SweepResult> with(const std::vector<CostKnob>& knobs,
                                  const std::vector<double>& values);

  std::size_t tasks() const { return run_.priced.plan.tasks(); }

 private:
  void price_anew();

  Layout layout_;
  BriefRun run_;
  PeakBytes peaks_;
  bool new_links_;   // a knob changes them
  bool new_demand_;  // a knob changes bytes
  std::unique_ptr<HardwareModel> hardware_;
  Demand demand_;
};

}  // namespace penstock
