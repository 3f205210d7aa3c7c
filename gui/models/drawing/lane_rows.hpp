#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace penstock {

enum class LaneKind : std::uint8_t { compute, send, receive, memory, difference };

/// How two runs stand on one axis.
enum class PairStyle : std::uint8_t { ghost, above, mirrored, only_first, only_second };
constexpr std::size_t pair_style_count = 5;
/// "ghost", "above", "mirrored", "A", "B".
std::string_view name(PairStyle style);

/// A strip of the canvas. Positions in pixels from the top of all strips.
struct LaneRow {
  int top = 0;
  int height = 0;
  LaneKind kind = LaneKind::compute;
  std::uint32_t rank = 0;
  std::uint8_t run = 0;  // 0 or 1
  bool ghost = false;    // a thin strip over the row of the other run
  bool flipped = false;  // its shares hang from the top
};

/// Which strips there are.
struct LaneChoice {
  std::uint32_t ranks = 0;
  bool transfers = true;
  bool memory = false;
  bool differences = false;  // of two runs
  bool two_runs = false;
  PairStyle style = PairStyle::ghost;
  std::vector<std::uint32_t> pinned{};  // ranks that stand above the others
  friend bool operator==(const LaneChoice&, const LaneChoice&) = default;
};

/// The strips of all ranks, top to bottom; a rank's compute strip has this height.
std::vector<LaneRow> lane_rows(const LaneChoice& choice, int lane_height);
/// The end of the last strip.
int height_of(const std::vector<LaneRow>& rows);
/// The largest height, from 9 to 90, with which all strips fit into a room; 9 if none does.
int fitting_lane_height(const LaneChoice& choice, int room);

}  // namespace penstock
