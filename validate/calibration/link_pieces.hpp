#pragma once

#include <span>
#include <vector>

#include "validate/calibration/monotone_curve.hpp"

namespace penstock {

/// The time of a message from some size on: a latency, and a time per byte.
struct LinkPiece {
  double from_bytes = 0;
  double latency_ns = 0;
  double ns_per_byte = 0;
  friend bool operator==(const LinkPiece&, const LinkPiece&) = default;
};

/// One, two or three pieces, ascending; the first begins at 0.
using LinkPieces = std::vector<LinkPiece>;

/// The time of a message of this many bytes.
double at(const LinkPieces& pieces, double bytes);

/// Finds where protocols or caches change. Tries every pair of breaks between points, with at least
/// three points per piece. Each piece has a latency and a time per byte, both at least zero, with
/// the least relative squared errors. Jumps between pieces count as errors, downward ones ten times
/// as much. A further piece must be worth its constants (the criterion of G. Schwarz, Ann. Statist.
/// 6, 1978). Needs at least one point.
LinkPieces fit_link_pieces(std::span<const CurvePoint> points);

}  // namespace penstock
