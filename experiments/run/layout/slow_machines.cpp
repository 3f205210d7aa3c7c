#include "experiments/run/layout/slow_machines.hpp"

#include <fmt/format.h>

#include "experiments/run/layout/sizes.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// By squaring: the same on every computer.
double power(double base, std::uint64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) result *= base;
  }
  return result;
}

}  // namespace

void expect_slow_machines(const Scenario& scenario, Layout& layout) {
  if (!scenario.slow_machines) return;
  const auto& [share, factor] = *scenario.slow_machines;
  const auto& machine = layout.hardware.spec.machine;
  if (!machine) {
    throw InputError("/chance/slow_machines",
                     "the hardware has no machines; name one of penstock list hardware, or use "
                     "\"stragglers\"");
  }
  const std::uint64_t machines = (devices_of(layout) + machine->devices - 1) / machine->devices;
  const double any = 1 - power(1 - share, machines);
  const double expected = 1 + (factor - 1) * any;
  const Rank middle{layout.placement.ranks() / 2};
  layout.chance.stragglers.push_back({.rank = middle, .factor = expected});
  layout.notes.push_back(
      fmt::format("a slow machine is among {} with {:.1f} % probability: rank {} takes {:.4g} "
                  "times as long (/chance/slow_machines)",
                  machines, 100 * any, index(middle), expected));
}

}  // namespace penstock
