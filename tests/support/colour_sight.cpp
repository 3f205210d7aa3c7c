#include "tests/support/colour_sight.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace penstock::testing {
namespace {

using Three = std::array<double, 3>;
using Matrix = std::array<Three, 3>;

constexpr std::array<Matrix, sights> as_seen{{
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286, 1.052583, -0.204868},
      {0.114503, 0.786281, 0.099216},
      {-0.003882, -0.048116, 1.051998}}},
    {{{0.367322, 0.860646, -0.227968},
      {0.280085, 0.672501, 0.047413},
      {-0.011820, 0.042940, 0.968881}}},
    {{{1.255528, -0.076749, -0.178779},
      {-0.078411, 0.930809, 0.147602},
      {0.004733, 0.691367, 0.303900}}},
}};
/// Linear sRGB to XYZ, as shares of the white of D65.
constexpr Matrix to_xyz{{{0.4124564 / 0.95047, 0.3575761 / 0.95047, 0.1804375 / 0.95047},
                         {0.2126729, 0.7151522, 0.0721750},
                         {0.0193339 / 1.08883, 0.1191920 / 1.08883, 0.9503041 / 1.08883}}};

Three times(const Matrix& matrix, const Three& vector) {
  Three result{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) result[i] += matrix[i][j] * vector[j];
  }
  return result;
}

double linear(std::uint8_t channel) {
  const double value = channel / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

double root(double share) {
  constexpr double bend = 216.0 / 24389;
  return share > bend ? std::cbrt(share) : (24389.0 / 27 * share + 16) / 116;
}

constexpr double degree = std::numbers::pi / 180;

double hue(double a, double b) {
  if (a == 0 && b == 0) return 0;
  const double angle = std::atan2(b, a) / degree;
  return angle < 0 ? angle + 360 : angle;
}

/// 0 for greys, near 1 for strong colours.
double strength(double chroma) {
  const double power = std::pow(chroma, 7);
  return std::sqrt(power / (power + 6103515625.0));  // 25^7
}

/// From one hue to another, and the mean of both, along the shorter arc.
struct Hues {
  Hues(double one, double other, bool grey) {
    double arc = other - one;
    if (arc > 180) arc -= 360;
    if (arc < -180) arc += 360;
    apart = grey ? 0 : arc;
    mean = grey ? one + other : one + arc / 2;
    if (mean < 0) mean += 360;
    if (mean >= 360 && !grey) mean -= 360;
  }
  double apart, mean;
};

}  // namespace

Lab seen(Colour colour, Sight sight) {
  const Three light{linear(colour.red), linear(colour.green), linear(colour.blue)};
  Three shown = times(as_seen[static_cast<std::size_t>(sight)], light);
  for (double& channel : shown) channel = std::clamp(channel, 0.0, 1.0);
  Three roots = times(to_xyz, shown);
  for (double& share : roots) share = root(share);
  return {116 * roots[1] - 16, 500 * (roots[0] - roots[1]), 200 * (roots[1] - roots[2])};
}

/// Sharma, Wu and Dalal (2005).
double difference(const Lab& one, const Lab& other) {
  const double mean_ab = (std::hypot(one.a, one.b) + std::hypot(other.a, other.b)) / 2;
  const double stretch = 1 + 0.5 * (1 - strength(mean_ab));
  const double c1 = std::hypot(stretch * one.a, one.b);
  const double c2 = std::hypot(stretch * other.a, other.b);
  const Hues hues(hue(stretch * one.a, one.b), hue(stretch * other.a, other.b), c1 * c2 == 0);
  const double lightness = (one.lightness + other.lightness) / 2;
  const double chroma = (c1 + c2) / 2;
  const double t = 1 - 0.17 * std::cos((hues.mean - 30) * degree) +
                   0.24 * std::cos(2 * hues.mean * degree) +
                   0.32 * std::cos((3 * hues.mean + 6) * degree) -
                   0.20 * std::cos((4 * hues.mean - 63) * degree);
  const double middle = (lightness - 50) * (lightness - 50);
  const double dl =
      (other.lightness - one.lightness) / (1 + 0.015 * middle / std::sqrt(20 + middle));
  const double dc = (c2 - c1) / (1 + 0.045 * chroma);
  const double dh =
      2 * std::sqrt(c1 * c2) * std::sin(hues.apart / 2 * degree) / (1 + 0.015 * chroma * t);
  const double turn = 30 * std::exp(-std::pow((hues.mean - 275) / 25, 2));
  const double twist = -2 * strength(chroma) * std::sin(2 * turn * degree);
  return std::sqrt(dl * dl + dc * dc + dh * dh + twist * dc * dh);
}

double least_difference(Colour one, Colour other) {
  double least = 1000;
  for (std::size_t s = 0; s < sights; ++s) {
    const auto sight = static_cast<Sight>(s);
    least = std::min(least, difference(seen(one, sight), seen(other, sight)));
  }
  return least;
}

}  // namespace penstock::testing
