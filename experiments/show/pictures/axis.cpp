#include "experiments/show/pictures/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace penstock {
namespace {

/// Tolerated rounding error of quotients that should be whole.
constexpr double slack = 1e-9;

/// Every `stride`-th power of ten in the range, times each mantissa.
std::vector<Tick> powers_of_ten(double low, double high, int stride,
                                std::initializer_list<int> mantissas) {
  std::vector<Tick> ticks;
  for (int power = static_cast<int>(std::floor(low)); power <= high; ++power) {
    if (power % stride != 0) continue;
    for (const int mantissa : mantissas) {
      const RoundStep step{mantissa, power};
      const double at = std::log10(step.times(1));
      if (at >= low - slack && at <= high + slack) ticks.push_back({at, step.text(1)});
    }
  }
  return ticks;
}

/// Round values in the range, placed at their logarithms.
std::vector<Tick> round_logarithms(double low, double high, int most) {
  const double first = std::pow(10.0, low), last = std::pow(10.0, high);
  const RoundStep step = round_step(last - first, most);
  std::vector<Tick> ticks;
  for (double i = std::ceil(first / step.times(1) - slack); step.times(i) <= last * (1 + slack);
       ++i) {
    ticks.push_back({std::log10(step.times(i)), step.text(i)});
  }
  return ticks;
}

}  // namespace

double RoundStep::times(double count) const {
  // Negative powers of ten are inexact in doubles; dividing rounds only once.
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

std::vector<Tick> log_ticks(double low, double high, int most) {
  const auto fit = [most](const std::vector<Tick>& ticks) {
    return ticks.size() <= static_cast<std::size_t>(most);
  };
  std::vector<Tick> ticks = powers_of_ten(low, high, 1, {1, 2, 5});
  if (ticks.size() < 2) ticks = round_logarithms(low, high, std::max(1, most - 1));
  for (int stride = 1; !fit(ticks); ++stride) ticks = powers_of_ten(low, high, stride, {1});
  return ticks;
}

std::uint32_t lanes_per_label(double pitch, double apart) {
  std::uint32_t lanes = 1;
  while (lanes < (1U << 31) && lanes * pitch < apart) lanes *= 2;
  return lanes;
}

}  // namespace penstock
