#include "hardware_models/layers/building/layer_work.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/error.hpp"

namespace penstock {

double LayerNumbers::operator[](std::string_view name) const { return values_.find(name)->second; }

std::optional<double> LayerNumbers::given(std::string_view name) const {
  const double value = (*this)[name];
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

double LayerNumbers::share(std::string_view name, double degree, std::string_view group) const {
  const double value = (*this)[name];
  if (std::fmod(value, degree) == 0) return value / degree;
  throw InputError(
      pointer_step(name),
      fmt::format("{} is not divisible among {} devices of {} parallelism; it must be a multiple "
                  "of that",
                  value, degree, group));
}

}  // namespace penstock
