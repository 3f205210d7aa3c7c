#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "gui/models/run/viewed_run.hpp"

namespace penstock {

/// What a person asks of a run first.
enum class FigureKind : std::uint8_t { step_time, bubble, peak_memory, mfu };
constexpr std::size_t figure_count = 4;

/// A figure of a run, for large digits.
struct Figure {
  FigureKind kind = FigureKind::step_time;
  std::string name;        // "step time", "bubble"
  std::string value;       // "38.4 ms"; empty: unknown
  std::string difference;  // to A, with its sign: "+1.3 %"; empty: no A, or one of them is unknown
  bool overflows = false;  // of memory: more than a rank has
};

/// All figures of a run. `a`: what it is held against, or nullptr. Memory is unknown in a brief
/// run.
std::array<Figure, figure_count> figures_of(const ViewedRun& run, const ViewedRun* a);

/// What a run has become against A, as `penstock compare` writes it: "time +0.5 ms (+2 %), bubble
/// +1.3 points, memory +0.20 GiB". Of runs that are brief only the time is known, and of some
/// recordings no memory.
std::string headline(const ViewedRun& a, const ViewedRun& now);

}  // namespace penstock
