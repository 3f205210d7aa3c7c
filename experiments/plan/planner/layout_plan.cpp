#include "experiments/plan/planner/layout_plan.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <tuple>

namespace penstock {
namespace {

auto degrees_of(const LayoutChoice& choice) {
  return std::tie(choice.tensor, choice.pipeline, choice.data, choice.context, choice.expert,
                  choice.microbatch);
}

}  // namespace

bool lacks_memory(const LayoutPlan& plan) {
  const std::uint64_t refused = plan.refused.empty() ? 0 : plan.refused.front().layouts;
  return !plan.too_large.empty() || plan.without_memory > refused;
}

bool is_better(const JudgedLayout& one, const JudgedLayout& other) {
  return std::tie(one.trial.makespan, one.trial.peak_bytes, one.number) <
         std::tie(other.trial.makespan, other.trial.peak_bytes, other.number);
}

bool are_equal(const JudgedLayout& one, const JudgedLayout& other) {
  return one.trial.timeline_hash == other.trial.timeline_hash &&
         one.trial.makespan == other.trial.makespan &&
         one.trial.peak_bytes == other.trial.peak_bytes &&
         degrees_of(one.choice) == degrees_of(other.choice);
}

void check_bounds(const JudgedLayout& layout) {
  const double us = to_us(layout.trial.makespan);
  if (layout.bound_us > us) {
    throw std::logic_error(
        fmt::format("fault of the planner: the bound of {:.9g} us is above the step time of {:.9g} "
                    "us of {}; please report it",
                    layout.bound_us, us, text_of(layout.choice)));
  }
  const auto bytes = static_cast<double>(layout.trial.peak_bytes);
  if (layout.least_bytes > bytes + 1) {
    throw std::logic_error(
        fmt::format("fault of the planner: the bound of {:.0f} bytes is above the {:.0f} bytes of "
                    "the fullest rank of {}; please report it",
                    layout.least_bytes, bytes, text_of(layout.choice)));
  }
}

}  // namespace penstock
