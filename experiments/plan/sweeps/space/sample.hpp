#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

enum class SampleMethod : std::uint8_t { random, sobol };

/// Configurations drawn from the axes instead of all of them.
struct Sample {
  SampleMethod method = SampleMethod::sobol;
  std::uint64_t count = 0;
  std::uint64_t seed = 1;  // of random ones
};

/// "random" or "sobol". Throws InputError.
SampleMethod sample_method_of(const std::string& name);

/// The points of a sample in the unit cube: a pure function of the sample, the same on every
/// machine.
class SamplePoints {
 public:
  SamplePoints() = default;
  SamplePoints(const Sample& sample, std::size_t axes);

  /// The share of an axis, from 0 to below 1, at a point.
  double share(std::uint64_t point, std::size_t axis) const;

 private:
  Sample sample_;
  std::size_t axes_ = 0;
  std::vector<std::uint32_t> sobol_;  // the upper bits of each coordinate, point by point
};

}  // namespace penstock
