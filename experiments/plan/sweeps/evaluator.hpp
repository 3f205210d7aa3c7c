#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/fields/fields.hpp"
#include "experiments/input/long_work/budget.hpp"
#include "experiments/input/long_work/memo.hpp"
#include "experiments/plan/sweeps/configured.hpp"
#include "experiments/plan/sweeps/space/sweep_space.hpp"
#include "experiments/run/chain.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/timeline/peak_bytes.hpp"

namespace penstock {

/// A pointer into a scenario that changes costs of stages given by their times, or of ideal links,
/// and nothing else of a layout: a field whose table says so.
class CostKnob {
 public:
  static constexpr std::size_t no_stage = SIZE_MAX;
  static constexpr std::size_t every_stage = SIZE_MAX - 1;

  /// The knob of a pointer, whose step `*` is every item of a list; nothing for any other pointer.
  static std::optional<CostKnob> at(std::string_view pointer);

  std::string_view key() const { return field_->key; }  // "forward_us"
  bool of_link() const { return stage_ == no_stage; }
  /// Whether it may change what stages hold and send, not only their times.
  bool changes_bytes() const { return changes_bytes_; }
  /// Whether the schema takes this value.
  bool takes(double value) const { return value >= bounds_.first && value <= bounds_.second; }
  /// Whether a document states a number for it, everywhere.
  bool is_stated(const nlohmann::json& document) const;
  /// Changes a layout as reading a scenario with this value would.
  void set(Layout& layout, double value) const;

 private:
  CostKnob(const Field& field, std::size_t stage);

  const Field* field_;
  std::size_t stage_;
  std::pair<double, double> bounds_;
  bool changes_bytes_;
};

/// Whether knobs are all that decides the costs of a layout: the document of its scenario states
/// each of them, and has no section that derives anything from costs.
bool knobs_decide(const nlohmann::json& document, const Layout& layout,
                  const std::vector<CostKnob>& knobs);

/// Runs configurations of a sweep, one after the other. Keeps what those share that differ in costs
/// alone; the outcome does not depend on what ran before. Each thread has its own.
class Evaluator {
 public:
  /// Space, catalogue and room must outlive this.
  Evaluator(const SweepSpace& space, const Catalogue& catalogue, SimulationMemory& room);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  /// With JSON texts of a configuration's values. A configuration that cannot be is a finding, and
  /// so is one that needs more memory than the room has.
  SweepOutcome run(const std::vector<std::string>& values);
  /// The row of a configuration, with its line end.
  std::string row(std::uint64_t number);

 private:
  /// The last run of configurations that only costs set apart.
  struct KnownRun {
    std::optional<CostStep> step;  // empty where costs alone do not decide
    std::optional<PeakBytes> peaks;
  };

  bool read_knobs(const std::vector<std::string>& values);
  std::string structure_of(const std::vector<std::string>& values) const;
  SweepOutcome run_known(const std::vector<std::string>& values);
  SweepOutcome run_alone(const std::vector<std::string>& values);
  std::optional<SweepResult> run_step(KnownRun& known) const;
  /// `structure`: to be known from now on; empty: not.
  SweepOutcome run_whole(const std::vector<std::string>& values, std::string structure);
  SweepOutcome run_document(nlohmann::json document, std::string structure);

  const SweepSpace& space_;
  SimulationMemory& room_;
  bool alone_ = false;  // with all of the room
  Chain chain_;
  std::vector<CostKnob> knobs_;                            // of the varied pointers
  std::vector<std::size_t> knob_of_;                       // by pointer: its knob, or SIZE_MAX
  std::vector<double> knob_values_;                        // of the configuration at hand
  Memo<std::string, KnownRun> cost_steps_{4096, 500'000};  // by structure; some 60 MB
};

}  // namespace penstock
