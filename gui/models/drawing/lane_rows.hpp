#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace penstock {

enum class LaneKind : std::uint8_t { compute, send, receive, memory, difference, link };

/// Runs on one axis: A, and up to seven that it is held against.
constexpr std::size_t most_runs = 8;
/// The place of a run among the letters, and back. A is what the others are held against: the first
/// run, or the second if that was frozen; then the first, which changes, is B.
constexpr std::size_t lettered(std::size_t run, bool frozen) {
  return frozen && run < 2 ? 1 - run : run;
}
/// "A" for run 0, "B" for run 1, …, unless the second was frozen.
constexpr char letter_of_run(std::size_t run, bool frozen = false) {
  return static_cast<char>('A' + lettered(run, frozen));
}

/// How runs stand on one axis.
enum class PairStyle : std::uint8_t { ghost, above, mirrored, only_first, only_other };
constexpr std::size_t pair_style_count = 5;
/// "ghost", "above", "mirrored", "only A", "only another".
std::string_view name(PairStyle style);

/// A strip of the canvas. Positions in pixels from the top of all strips.
struct LaneRow {
  int top = 0;
  int height = 0;
  LaneKind kind = LaneKind::compute;
  std::uint32_t rank = 0;  // or the number of a link
  std::uint8_t run = 0;    // of differences: the run that is held against A
  bool ghost = false;      // a thin strip over the row of the other run
  bool flipped = false;    // its shares hang from the top
  bool pinned = false;     // stays while the others scroll
};

/// Which strips there are.
struct LaneChoice {
  std::uint32_t ranks = 0;
  bool transfers = true;
  bool memory = false;
  bool links = false;  // below the ranks
  std::uint32_t link_count = 0;
  std::uint8_t runs = 1;
  PairStyle style = PairStyle::ghost;
  bool frozen = false;                  // the second run is A, and the first is B
  std::uint8_t other = 1;               // the place among the letters that `only_other` shows
  std::vector<std::uint32_t> pinned{};  // ranks that stand above the others
  friend bool operator==(const LaneChoice&, const LaneChoice&) = default;
};

/// The strips of all ranks, top to bottom; a rank's compute strip has this height.
std::vector<LaneRow> lane_rows(const LaneChoice& choice, int lane_height);
/// The room of the pinned strips above the others; 0 if there are none or only such.
int pinned_height(const std::vector<LaneRow>& rows);
/// The end of the last strip.
int height_of(const std::vector<LaneRow>& rows);
/// The largest height, from 9 to 90, with which all strips fit into a room; 9 if none does.
int fitting_lane_height(const LaneChoice& choice, int room);

}  // namespace penstock
