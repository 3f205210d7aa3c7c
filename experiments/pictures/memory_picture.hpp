#pragma once

#include <string>

#include "experiments/pictures/picture.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// How to draw memory over time.
struct MemoryPicture {
  std::string title;
  PictureOptions options = {};
};

/// A picture file of the memory that each rank holds over time, from the samples of a timeline: a
/// lane for each rank, filled as high as it holds of the largest peak, the peak at its right. Lanes
/// too low for that show it as colour. What is too short to be seen keeps its maximum, so that no
/// peak is lost. Throws InputError for a timeline without samples, and UsageError when the picture
/// is too small.
std::string draw_memory(PictureFormat format, const Plan& plan, const Timeline& timeline,
                        const MemoryPicture& picture);

}  // namespace penstock
