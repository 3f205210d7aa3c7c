#pragma once

#include <optional>
#include <string>

#include "experiments/layout/layout.hpp"
#include "validate/job/job.hpp"
#include "validate/job/trained_numbers.hpp"

namespace penstock {

/// How far the numbers of a run are from those of its model in one piece, or why they are not held
/// against these.
struct NumbersCheck {
  std::optional<double> error;
  std::string why_not;
  bool of_loss_alone = false;  // an order without backwards
  bool by_versions = false;    // of an order without flushes
};

/// An order that trains the same model stays within this: only sums are rounded otherwise.
constexpr double most_numbers_error = 1e-10;

/// Trains the layers of a job, whose order was `order`, in one piece; the weights of one without
/// flushes change as its rule states. `numbers`: what a run of the job came to, if that is known.
NumbersCheck check_numbers(const Layout& layout, const Schedule& order, const Job& job,
                           const std::optional<TrainedNumbers>& numbers);

}  // namespace penstock
