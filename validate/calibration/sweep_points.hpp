#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hardware_models/spec/parameters.hpp"
#include "validate/store/profile_row.hpp"

namespace penstock {

/// Use of a point: constants are fitted to training only.
enum class Part : std::uint8_t { training, interpolation, extrapolation };
std::string_view name(Part part);

struct SweepPoint {
  KernelPoint kernel;
  NamedNumbers sizes;
  Part part = Part::training;
};

/// The points at which kernels are measured, evenly spread in the logarithm of size. The largest
/// are held out for extrapolation. Of the others, a third is held out for interpolation, chosen by
/// a hash of seed and point.
std::vector<SweepPoint> sweep_points(std::uint64_t seed);

/// Equal for equal splits into parts.
std::uint64_t split_hash(const std::vector<SweepPoint>& points);

}  // namespace penstock
