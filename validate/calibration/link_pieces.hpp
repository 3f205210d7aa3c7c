#pragma once

#include <span>
#include <vector>

#include "validate/calibration/monotone_curve.hpp"

namespace penstock {

/// What a message takes from so many bytes on: a latency, and so much a byte.
struct LinkPiece {
  double from_bytes = 0;
  double latency_ns = 0;
  double ns_per_byte = 0;
  friend bool operator==(const LinkPiece&, const LinkPiece&) = default;
};

/// One, two or three pieces, ascending; the first begins at 0.
using LinkPieces = std::vector<LinkPiece>;

/// What a message of so many bytes takes.
double at(const LinkPieces& pieces, double bytes);

/// Finds where protocols or caches change by trying every pair of places between points, with at
/// least three points a piece. Each piece is a latency and a time a byte, both at least zero,
/// closest to its points in shares of what was measured. Jumps between pieces count as misses,
/// downward ones ten times as much, and a further piece must be worth its constants (the criterion
/// of G. Schwarz, Ann. Statist. 6, 1978). There must be a point.
LinkPieces fit_link_pieces(std::span<const CurvePoint> points);

}  // namespace penstock
