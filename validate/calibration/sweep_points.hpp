#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hardware_models/spec/parameters.hpp"
#include "validate/store/profile_row.hpp"

namespace penstock {

/// What a point of a sweep is for: constants are fitted to the first alone.
enum class Part : std::uint8_t { training, interpolation, extrapolation };
std::string_view name(Part part);

/// A point of a sweep.
struct SweepPoint {
  KernelPoint kernel;
  NamedNumbers sizes;
  Part part = Part::training;
};

/// The points at which kernels are measured: sizes spread evenly over their logarithms, the largest
/// of all to be extrapolated to, and of the others a third, chosen by a hash of seed and point, to
/// be interpolated.
std::vector<SweepPoint> sweep_points(std::uint64_t seed);

/// A number that equal splits into parts share.
std::uint64_t split_hash(const std::vector<SweepPoint>& points);

}  // namespace penstock
