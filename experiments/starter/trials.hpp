#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/catalogue/catalogue.hpp"
#include "experiments/planner/space/layout_choice.hpp"
#include "experiments/planner/space/training_task.hpp"
#include "sim/base/error.hpp"

namespace penstock {

/// A simulated layout.
struct TriedLayout {
  LayoutChoice layout;
  std::string text;  // its scenario
  double samples_per_s = 0;
  std::optional<double> tokens_per_s = {};
  std::uint64_t peak_bytes = 0;  // of the worst rank
  std::uint64_t capacity_bytes = 0;
  bool weights_fit = true;  // without any activations

  bool fits() const { return peak_bytes <= capacity_bytes; }
};

/// Simulates layouts of a task, one by one.
class Trials {
 public:
  /// Both must outlive this object.
  Trials(const TrainingTask& task, const Catalogue& catalogue)
      : task_(task), catalogue_(catalogue) {}

  /// Index of the layout among all that were tried, each once; empty if its scenario is refused or
  /// deadlocks.
  std::optional<std::size_t> simulate(const LayoutChoice& choice);

  const TriedLayout& operator[](std::size_t number) const { return tried_[number]; }
  const std::vector<TriedLayout>& all() const { return tried_; }
  /// The error of the first refused layout.
  const std::optional<InputError>& refusal() const { return refusal_; }

 private:
  const TrainingTask& task_;
  const Catalogue& catalogue_;
  std::vector<TriedLayout> tried_;
  std::optional<InputError> refusal_;
};

}  // namespace penstock
