#include "experiments/show/pictures/palette.hpp"

#include <algorithm>
#include <array>

namespace penstock {
namespace {

// All tables below were searched so that any two colours that can meet are distinguishable, also
// with colour blindness: tests/experiments/show/pictures/palette_test.cpp computes it.

/// The last chunk of a rank is paler than the first by this share.
constexpr double palest = 0.25;

// By pass. The main ones keep their usual hues; a transfer has a hue like that of the pass whose
// result it carries.
constexpr std::array<Colour, pass_count> pass_colours{{{36, 114, 250},   // forward
                                                       {197, 124, 19},   // backward
                                                       {193, 255, 167},  // its input gradient
                                                       {255, 242, 0},    // its weight gradient
                                                       {115, 59, 13},    // recompute
                                                       {93, 56, 159},    // update
                                                       {37, 0, 55},      // evict
                                                       {131, 179, 111},  // load
                                                       {48, 165, 252},   // send_activation
                                                       {209, 186, 41},   // send_gradient
                                                       {68, 17, 0},      // send_evicted
                                                       {19, 223, 254},   // send_loaded
                                                       {0, 0, 133},      // reduce_gradient
                                                       {156, 94, 18},    // gather_weights
                                                       {21, 41, 255},    // tie_gradient
                                                       {32, 66, 90}}};   // reduce_early

/// The darkest of them, on dark ground.
struct PalePass {
  Pass pass;
  Colour colour;
};
constexpr std::array<PalePass, 4> pale_passes{{{Pass::evict, {251, 245, 255}},
                                               {Pass::send_evicted, {175, 167, 159}},
                                               {Pass::reduce_gradient, {166, 171, 192}},
                                               {Pass::reduce_early, {206, 223, 200}}}};

// By cause, muted, on light and on dark ground.
constexpr std::array<Colour, idle_cause_count> light_idle{{{181, 192, 199},    // warm-up
                                                           {196, 193, 175},    // dependency
                                                           {119, 128, 98},     // contention
                                                           {128, 109, 149},    // transfer
                                                           {97, 89, 70},       // memory
                                                           {157, 149, 184},    // launch
                                                           {167, 147, 145}}};  // drain
constexpr std::array<Colour, idle_cause_count> dark_idle{{{102, 100, 137},
                                                          {66, 62, 52},
                                                          {105, 95, 101},
                                                          {136, 131, 170},
                                                          {109, 139, 99},
                                                          {72, 105, 72},
                                                          {147, 127, 134}}};

// By kind of buffer: like each other as little as like the passes.
constexpr std::array<Colour, buffer_kinds> memory_colours{{{140, 136, 169},  // parameters
                                                           {8, 147, 125},    // stash
                                                           {22, 224, 246},   // receive
                                                           {163, 82, 122},   // gradient, in none
                                                           {108, 99, 146},   // weight gradients
                                                           {162, 178, 184},  // optimizer
                                                           {37, 66, 147},    // versions
                                                           {186, 184, 150},  // pending weight
                                                           {34, 98, 6},      // workspace
                                                           {142, 57, 92},    // recomputed
                                                           {67, 54, 42},     // context
                                                           {88, 124, 78},    // input stash
                                                           {42, 0, 78}}};    // gathered

Colour full_colour(Pass pass, PictureTheme ground) {
  const auto* const pale = std::ranges::find(pale_passes, pass, &PalePass::pass);
  const bool is_pale = ground == PictureTheme::dark && pale != pale_passes.end();
  return is_pale ? pale->colour : pass_colours[static_cast<std::size_t>(pass)];
}

}  // namespace

Colour pass_colour(Pass pass, std::uint32_t chunk, std::uint32_t chunks, PictureTheme ground) {
  const Colour full = full_colour(pass, ground);
  const bool shaded = runs_layers(pass) && pass != Pass::recompute && chunks > 1;
  return shaded ? mix(full, paper, palest * chunk / (chunks - 1)) : full;
}

Colour move_outline(bool returns) { return returns ? ink : paper; }

Colour idle_colour(IdleCause cause, PictureTheme ground) {
  const auto& colours = ground == PictureTheme::dark ? dark_idle : light_idle;
  return colours[static_cast<std::size_t>(cause)];
}

Colour idle_lines(Colour idle, Colour letters) { return mix(idle, letters, 0.25); }

Hatch hatch_of(IdleCause cause) {
  constexpr std::array<Hatch, idle_cause_count> hatches{Hatch::rising,
                                                        Hatch::level,
                                                        Hatch::level | Hatch::upright,
                                                        Hatch::upright,
                                                        Hatch::rising | Hatch::falling,
                                                        Hatch::dotted,
                                                        Hatch::falling};
  return hatches[static_cast<std::size_t>(cause)];
}

Colour memory_colour(BufferKind kind) { return memory_colours[static_cast<std::size_t>(kind)]; }

Colour text_on(Colour ground) {
  return contrast(ground, paper) > contrast(ground, ink) ? paper : ink;
}

Colour series_colour(std::size_t series) {
  constexpr std::array<Colour, series_colours> colours{{{0, 128, 250},
                                                        {151, 95, 2},
                                                        {131, 178, 112},
                                                        {209, 180, 0},
                                                        {61, 192, 255},
                                                        {189, 126, 22},
                                                        {4, 5, 189},
                                                        {61, 21, 0},
                                                        {36, 1, 55},
                                                        {110, 60, 4},
                                                        {87, 43, 99},
                                                        {51, 80, 211}}};
  return colours[series % series_colours];
}

std::size_t series_of(std::string_view name) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash % series_colours;
}

Colour joining_colour(std::size_t series) { return mix(series_colour(series), paper, 0.55); }

Colour share_colour(double share) {
  constexpr Colour palest_share{230, 240, 247};
  constexpr Colour darkest_share{0, 58, 110};
  return mix(palest_share, darkest_share, std::clamp(share, 0.0, 1.0));
}

}  // namespace penstock
