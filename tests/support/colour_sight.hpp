#pragma once

#include <cstddef>
#include <cstdint>

#include "experiments/show/pictures/palette.hpp"

namespace penstock::testing {

/// How a person sees colours: as most do, or without one of the three cones.
enum class Sight : std::uint8_t { usual, protan, deutan, tritan };
constexpr std::size_t sights = 4;

/// A colour of CIELAB under D65.
struct Lab {
  double lightness, a, b;
};

/// A colour as seen, by the matrices of Machado, Oliveira and Fernandes (2009) at full severity.
Lab seen(Colour colour, Sight sight);

/// The difference CIEDE2000 of two colours.
double difference(const Lab& one, const Lab& other);

/// The least difference of two colours over all kinds of sight.
double least_difference(Colour one, Colour other);

}  // namespace penstock::testing
