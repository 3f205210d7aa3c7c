#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/pictures/bubble_plot.hpp"

namespace penstock {

/// A schedule of the study, with chunks a rank.
struct StudiedSchedule {
  std::string name;
  std::uint32_t chunks = 1;
};

/// What the study compares.
struct BubbleStudy {
  std::uint32_t ranks = 8;
  std::vector<StudiedSchedule> schedules;
  std::vector<std::uint32_t> microbatches;
};

/// The schedules that are compared unless others are asked for: those without a split backward,
/// interleaved with 2 and 4 chunks, and the zero-bubble family.
std::vector<StudiedSchedule> usual_schedules();

/// Schedules by a list like "1f1b,interleaved-1f1b:4", where the number is chunks a rank. Throws
/// UsageError for an unknown name, naming the known ones, and for what is no number of chunks.
std::vector<StudiedSchedule> schedules_in(const std::string& list);

/// Numbers of microbatches by a list like "1,2,4", each once and ascending; powers of two up to 256
/// for an empty one. Throws UsageError.
std::vector<std::uint32_t> microbatches_in(const std::string& list);

/// The bubble of schedules over microbatches, on equal ranks with free links and backwards twice as
/// long as forwards (input and weight gradient each as long as a forward). Simulated, with the
/// closed form where one is known. A number of microbatches that a rule does not allow is missing,
/// with the rule as the reason. Throws UsageError for too few or too many ranks, and for chunks
/// that a schedule cannot have.
BubblePlot bubble_study(const BubbleStudy& study);

/// For each series with missing points a line: which they are, and why the first is.
std::vector<std::string> missing_points(const BubblePlot& plot);

}  // namespace penstock
