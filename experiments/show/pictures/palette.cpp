#include "experiments/show/pictures/palette.hpp"

#include <algorithm>
#include <array>

namespace penstock {
namespace {

constexpr Colour blue{0, 114, 178};
constexpr Colour vermilion{213, 94, 0};
constexpr Colour green{0, 143, 104};
constexpr Colour yellow{240, 228, 66};
constexpr Colour sky{86, 180, 233};
constexpr Colour purple{204, 121, 167};
constexpr Colour orange{230, 159, 0};
constexpr Colour deep_orange{230, 134, 20};  // between orange and vermilion; carries dark numbers
constexpr Colour brown{122, 68, 30};
constexpr Colour violet{116, 62, 150};
constexpr Colour wine{136, 34, 85};
constexpr Colour olive{128, 128, 0};
constexpr Colour rose{163, 82, 122};
constexpr Colour slate{48, 53, 62};
constexpr Colour grey{105, 114, 128};
constexpr Colour silver{205, 210, 218};

/// Distinguishable from the background and from idle time.
constexpr double palest = 0.55;

// By pass. A transfer has a colour similar to that of the pass whose result it carries. Brown is
// distinguishable from all shades of forward blue and backward orange, also with colour blindness.
constexpr std::array<Colour, pass_count> pass_colours{
    blue, deep_orange, green, yellow, brown, purple,    slate,  grey,
    sky,  orange,      slate, silver, wine,  vermilion, violet, rose};

// By cause. Distinguishable from each other and from the passes, also with colour blindness.
constexpr std::array<Colour, idle_cause_count> idle_colours{
    Colour{245, 245, 247}, {236, 216, 202}, {134, 118, 132}, {158, 154, 184},
    {166, 160, 126},       {170, 198, 166}, {211, 212, 219}};

// By kind of buffer. What is there for the whole run is grey or pale, activations are blue;
// neighbours in a stack differ in lightness, also with colour blindness.
constexpr std::array<Colour, buffer_kinds> memory_colours{grey,         // parameters
                                                          blue,         // stash
                                                          yellow,       // receive
                                                          rose,         // gradient, in no memory
                                                          silver,       // gradients of weights
                                                          violet,       // optimizer
                                                          brown,        // versions
                                                          deep_orange,  // pending weight
                                                          green,        // workspace
                                                          wine,         // recomputed
                                                          slate,        // context
                                                          sky};         // input stash

}  // namespace

Colour pass_colour(Pass pass, std::uint32_t chunk, std::uint32_t chunks) {
  const Colour full = pass_colours[static_cast<std::size_t>(pass)];
  return chunks < 2 ? full : mix(full, paper, palest * chunk / (chunks - 1));
}

Colour move_outline(bool returns) { return returns ? slate : paper; }

Colour idle_colour(IdleCause cause) { return idle_colours[static_cast<std::size_t>(cause)]; }

Colour idle_lines(IdleCause cause) { return mix(idle_colour(cause), ink, 0.16); }

Colour memory_colour(BufferKind kind) { return memory_colours[static_cast<std::size_t>(kind)]; }

Colour text_on(Colour ground) {
  return contrast(ground, paper) > contrast(ground, ink) ? paper : ink;
}

Colour series_colour(std::size_t series) {
  constexpr std::array<Colour, series_colours> colours{
      blue, vermilion, green, purple, sky, orange, slate, brown, violet, olive, wine, grey};
  return colours[series % series_colours];
}

Colour joining_colour(std::size_t series) { return mix(series_colour(series), paper, 0.55); }

Colour share_colour(double share) {
  constexpr Colour palest_share{230, 240, 247};
  constexpr Colour darkest_share{0, 58, 110};
  return mix(palest_share, darkest_share, std::clamp(share, 0.0, 1.0));
}

}  // namespace penstock
