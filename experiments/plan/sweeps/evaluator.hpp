#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/scenario/scenario_reader.hpp"
#include "experiments/plan/sweeps/cost_knobs.hpp"
#include "experiments/plan/sweeps/prepared_run.hpp"
#include "experiments/plan/sweeps/row_memory.hpp"
#include "experiments/plan/sweeps/space/sweep_space.hpp"
#include "experiments/plan/sweeps/sweep_result.hpp"
#include "experiments/run/layout/known_parts.hpp"

namespace penstock {

/// Runs configurations of a sweep, one after the other. Keeps what those share that differ in costs
/// alone; the outcome does not depend on what ran before. Each thread has its own.
class Evaluator {
 public:
  /// Space, catalogue and room must outlive this.
  Evaluator(const SweepSpace& space, const Catalogue& catalogue, RowMemory& room);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;
  ~Evaluator();

  /// With JSON texts of a configuration's values. A configuration that cannot be is a finding, and
  /// so is one that needs more memory than the room has.
  SweepOutcome run(const std::vector<std::string>& values);
  /// The row of a configuration, with its line end.
  std::string row(std::uint64_t number);

 private:
  struct Known;

  bool read_knobs(const std::vector<std::string>& values);
  std::string structure_of(const std::vector<std::string>& values) const;
  SweepOutcome run_known(const std::vector<std::string>& values);
  SweepOutcome run_alone(const std::vector<std::string>& values);
  SweepOutcome run_whole(const std::vector<std::string>& values, Known* known);
  SweepOutcome run_document(const nlohmann::json& document, Known* known);

  const SweepSpace& space_;
  const Catalogue& catalogue_;
  RowMemory& room_;
  bool alone_ = false;  // with all of the room
  ScenarioReader reader_;
  KnownParts known_parts_;
  std::vector<CostKnob> knobs_;       // of the varied pointers
  std::vector<std::size_t> knob_of_;  // by pointer: its knob, or SIZE_MAX
  std::vector<double> knob_values_;   // of the configuration at hand
  std::unordered_map<std::string, std::unique_ptr<Known>> known_;  // by structure
  std::size_t known_tasks_ = 0;
};

}  // namespace penstock
