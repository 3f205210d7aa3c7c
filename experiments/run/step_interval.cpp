#include "experiments/run/step_interval.hpp"

#include "sim/base/portable_math.hpp"

namespace penstock {

StepInterval step_interval(double spread) {
  constexpr double deviations = 1.645;  // of a normal distribution, on each side of the level
  const double factor = portable_exp(deviations * spread);
  return {1 / factor, factor};
}

}  // namespace penstock
