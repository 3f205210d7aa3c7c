#include "sim/base/random.hpp"

#include <cmath>

namespace penstock {
namespace {

using Coefficients = std::array<double, 8>;  // of a polynomial, the constant first

double polynomial(const Coefficients& of, double x) {
  double sum = 0;
  for (std::size_t i = of.size(); i-- > 0;) sum = sum * x + of[i];
  return sum;
}

struct Rational {
  Coefficients above;
  Coefficients below;
  double at(double x) const { return polynomial(above, x) / polynomial(below, x); }
};

// The centre, the tails, and the far tails.
constexpr Rational middle{
    {3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
     1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
     3.3430575583588128105e+4, 2.5090809287301226727e+3},
    {1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
     2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4,
     5.2264952788528545610e+3}};
constexpr Rational tail{
    {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4},
    {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9}};
constexpr Rational far_tail{
    {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7},
    {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15}};

// ln 2 in two parts: whole numbers below 2^11 times the first part are exact.
constexpr double ln2_high = 6.93147180369123816490e-01;
constexpr double ln2_low = 1.90821492927058770002e-10;
constexpr double half_sqrt2 = 0.70710678118654752440;

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t odd = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high(odd) ^ counter[1] ^ key[0], low(odd), high(even) ^ counter[3] ^ key[1],
               low(even)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

double uniform(std::uint64_t bits) {
  // Midpoints of 2^52 equal parts: 52 bits leave room for the half.
  return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
}

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) return q * middle.at(0.180625 - q * q);
  const double r = std::sqrt(-portable_log(q < 0 ? p : 1 - p));
  const double size = r <= 5 ? tail.at(r - 1.6) : far_tail.at(r - 5);
  return q < 0 ? -size : size;
}

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
