#pragma once

#include <cstddef>
#include <cstdint>

#include "experiments/pictures/colour.hpp"
#include "sim/order/schedule.hpp"
#include "sim/report/idle_cause.hpp"

namespace penstock {

// The colours of all pictures. The strong ones are those of Okabe and Ito, which stay apart under
// the common kinds of colour blindness.

constexpr Colour paper{255, 255, 255};
constexpr Colour ink{34, 38, 43};          // titles, labels
constexpr Colour faint_ink{98, 105, 114};  // subtitles, what is read second
constexpr Colour axis_line{140, 147, 156};
constexpr Colour grid_line{226, 229, 233};
constexpr Colour idle_ground{243, 244, 246};
constexpr Colour idle_hatch{219, 222, 227};

/// The colour of a pass; the chunks of a rank share it, from its full strength for the first to a
/// pale one for the last.
Colour pass_colour(Pass pass, std::uint32_t chunk = 0, std::uint32_t chunks = 1);

/// The colour of idle time with a known cause, which is drawn hatched: muted, so that it is never
/// taken for that of a pass.
Colour idle_colour(IdleCause cause);
/// The lines over it.
Colour idle_lines(IdleCause cause);

/// The line around an activation that leaves its rank or, `returns`, comes back.
Colour move_outline(bool returns);

/// Marks the peak of a rank's memory.
constexpr Colour peak_colour{213, 94, 0};

/// Dark or light ink, whichever reads better on `ground`.
Colour text_on(Colour ground);

/// The colour of the n-th series of a plot. There are `series_colours`, then they come again.
Colour series_colour(std::size_t series);
constexpr std::size_t series_colours = 7;
/// What joins the points of a series: pale, so that a thin line shows on it.
Colour joining_colour(std::size_t series);

/// The colour of a share from 0 to 1 of the most: from pale to dark.
Colour share_colour(double share);

}  // namespace penstock
