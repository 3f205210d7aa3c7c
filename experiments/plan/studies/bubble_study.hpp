#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/show/pictures/plots/plots.hpp"

namespace penstock {

/// A schedule of the study, with chunks per rank.
struct StudiedSchedule {
  std::string name;
  std::uint32_t chunks = 1;
};

/// The three definitions of papers, as in a report's "bubble".
enum class BubbleKind : std::uint8_t { of_makespan, over_ideal, of_longest_span };

/// Their names in reports, in this order.
std::vector<std::string> bubble_kinds();
/// Throws UsageError for an unknown name.
BubbleKind bubble_kind_of(const std::string& name);

struct BubbleStudy {
  BubbleKind kind = BubbleKind::of_makespan;
  std::uint32_t ranks = 8;
  std::vector<StudiedSchedule> schedules;
  std::vector<std::uint32_t> microbatches;
};

/// The default schedules: those without a split backward, interleaved with 2 and 4 chunks, and the
/// zero-bubble family.
std::vector<StudiedSchedule> usual_schedules();

/// Schedules from a list such as "1f1b,interleaved-1f1b:4"; the number is chunks per rank. Throws
/// UsageError for an unknown name, listing the known ones, and for an invalid number of chunks.
std::vector<StudiedSchedule> schedules_in(const std::string& list);

/// Numbers of microbatches from a list such as "1,2,4", unique and ascending; powers of two up to
/// 256 for an empty list. Throws UsageError.
std::vector<std::uint32_t> microbatches_in(const std::string& list);

/// The bubble of schedules over microbatches, simulated and, if known, in closed form. Ranks are
/// equal and links free. A backward takes twice as long as a forward: input and weight gradient
/// each take as long as a forward. Numbers of microbatches that a rule does not allow are missing,
/// with the rule as the reason; they have no closed form either. Throws UsageError for an invalid
/// number of ranks, and for chunks that a schedule cannot have.
BubblePlot bubble_study(const BubbleStudy& study);

/// For each series with missing points, one line: the points, and the reason for the first.
std::vector<std::string> missing_points(const BubblePlot& plot);

}  // namespace penstock
