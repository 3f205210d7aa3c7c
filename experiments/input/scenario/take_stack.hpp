#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// How sure the times of kernels are.
struct Confidence {
  double spread = 0;  // relative standard deviation of step times of runs like the fitted ones
  std::string because;
  FittedRange fitted;
  Provenance provenance;
};

/// What the note begins with on a device whose kernels no stack prices.
constexpr std::string_view no_stack = "no stack: ";

/// Gives a device the constants of the scenario's stack: the named one, or the usual one of its
/// kind of training. Notes which; returns how sure its step times are, nothing without a stack.
/// Throws InputError for an unknown name.
std::optional<Confidence> take_stack(const Scenario& scenario, const Catalogue& catalogue,
                                     Device& device, std::vector<std::string>& notes);

}  // namespace penstock
