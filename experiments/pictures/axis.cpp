#include "experiments/pictures/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace penstock {
namespace {

/// What a quotient of doubles may miss a whole number by.
constexpr double slack = 1e-9;

}  // namespace

double RoundStep::times(double count) const {
  // A power of ten with a negative exponent is no double; dividing rounds once.
  const double power = std::pow(10.0, std::abs(exponent));
  return exponent < 0 ? count * mantissa / power : count * mantissa * power;
}

std::string RoundStep::text(double count) const {
  return fmt::format("{:.{}f}", times(count), std::max(0, -exponent));
}

RoundStep round_step(double end, int most) {
  RoundStep step{1, static_cast<int>(std::floor(std::log10(end / most)))};
  for (;; ++step.exponent) {
    for (const int mantissa : {1, 2, 5}) {
      step.mantissa = mantissa;
      if (step.times(most) >= end * (1 - slack)) return step;
    }
  }
}

std::vector<Tick> round_ticks(double end, int most) {
  if (!(end > 0)) return {{0, "0"}};
  const RoundStep step = round_step(end, most);
  std::vector<Tick> ticks;
  for (int i = 0; i <= most && step.times(i) <= end * (1 + slack); ++i) {
    ticks.push_back({step.times(i), step.text(i)});
  }
  return ticks;
}

std::vector<Tick> power_of_two_ticks(double low, double high, int most) {
  const int first = static_cast<int>(std::ceil(std::log2(low) - slack));
  const int last = static_cast<int>(std::floor(std::log2(high) + slack));
  if (first > last) return {{low, fmt::format("{:.6g}", low)}};
  const int stride = (last - first) / most + 1;
  std::vector<Tick> ticks;
  for (int power = first; power <= last; power += stride) {
    ticks.push_back({std::ldexp(1, power), fmt::format("{}", std::ldexp(1, power))});
  }
  return ticks;
}

std::uint32_t lanes_per_label(double pitch, double apart) {
  std::uint32_t lanes = 1;
  while (lanes < (1U << 31) && lanes * pitch < apart) lanes *= 2;
  return lanes;
}

}  // namespace penstock
