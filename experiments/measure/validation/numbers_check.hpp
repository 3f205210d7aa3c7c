#pragma once

#include <optional>
#include <string>

#include "experiments/run/layout/layout.hpp"
#include "validate/job/job.hpp"
#include "validate/job/trained_numbers.hpp"

namespace penstock {

/// The largest error of an order that trains the same model: only sums are rounded differently.
constexpr double most_numbers_error = 1e-10;

/// Relative error of a run's numbers against the unpipelined model, or why they are not compared.
struct NumbersCheck {
  std::optional<double> error;
  std::string why_not;
  bool of_loss_alone = false;        // an order without backwards
  bool of_weights = false;           // also of the weights after the optimizer step
  bool by_versions = false;          // of an order without flushes
  double most = most_numbers_error;  // above it, another model was trained
};

/// Trains the layers of a job unpipelined; for an order without flushes, weights change by the rule
/// of its schedule. `numbers`: those of a run of the job, if known.
NumbersCheck check_numbers(const Layout& layout, const Schedule& order, const Job& job,
                           const std::optional<TrainedNumbers>& numbers);

}  // namespace penstock
