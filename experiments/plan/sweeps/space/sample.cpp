#include "experiments/plan/sweeps/space/sample.hpp"

#include <fmt/format.h>

#include <boost/random/sobol.hpp>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"

namespace penstock {
namespace {

constexpr double two_to_32 = 4294967296.0;

}  // namespace

SampleMethod sample_method_of(const std::string& name) {
  if (name == "random") return SampleMethod::random;
  if (name == "sobol") return SampleMethod::sobol;
  throw InputError(fmt::format("unknown method \"{}\"; known: random, sobol", name));
}

SamplePoints::SamplePoints(const Sample& sample, std::size_t axes) : sample_(sample), axes_(axes) {
  if (sample.method != SampleMethod::sobol) return;
  // Boost leaves out the first point, the origin, without which no first 2^k points are balanced.
  boost::random::sobol sequence(axes);
  sobol_.resize(sample.count * axes, 0);
  for (std::size_t i = axes; i < sobol_.size(); ++i) {
    sobol_[i] = static_cast<std::uint32_t>(sequence() >> 32);
  }
}

double SamplePoints::share(std::uint64_t point, std::size_t axis) const {
  if (sample_.method == SampleMethod::sobol) return sobol_[point * axes_ + axis] / two_to_32;
  const auto bits = philox(
      {static_cast<std::uint32_t>(point), static_cast<std::uint32_t>(point >> 32),
       static_cast<std::uint32_t>(axis), 0},
      {static_cast<std::uint32_t>(sample_.seed), static_cast<std::uint32_t>(sample_.seed >> 32)});
  return bits[0] / two_to_32;
}

}  // namespace penstock
