#include "sim/base/portable_math.hpp"

#include <cmath>

namespace penstock {
namespace {

// ln 2 in two parts: whole numbers below 2^11 times the first part are exact.
constexpr double ln2_high = 6.93147180369123816490e-01;
constexpr double ln2_low = 1.90821492927058770002e-10;
constexpr double half_sqrt2 = 0.70710678118654752440;

}  // namespace

double portable_log(double x) {
  // x = m * 2^e with m between sqrt(1/2) and sqrt(2); ln m = 2 artanh((m - 1) / (m + 1)).
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < half_sqrt2) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double square = s * s;  // below 0.0295: eleven terms reach the last digit
  double sum = 0;
  for (int odd = 21; odd >= 3; odd -= 2) sum = (sum + 1.0 / odd) * square;
  return exponent * ln2_high + (2 * s + (2 * s * sum + exponent * ln2_low));
}

double portable_exp(double x) {
  // x = k ln 2 + r with |r| at most ln 2 / 2, for which fourteen terms are enough.
  const double k = std::floor(x / (ln2_high + ln2_low) + 0.5);
  const double r = (x - k * ln2_high) - k * ln2_low;
  double sum = 1;
  for (int n = 14; n >= 1; --n) sum = 1 + sum * r / n;
  return std::ldexp(sum, static_cast<int>(k));
}

}  // namespace penstock
