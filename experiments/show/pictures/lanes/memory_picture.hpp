#pragma once

#include <string>
#include <vector>

#include "experiments/show/pictures/picture.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/memory.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// How to draw memory over time.
struct MemoryPicture {
  std::string title;
  PictureOptions options = {};
  std::vector<BytesByKind> kinds = {};  // of each sample; empty where they are not known
};

/// A picture file of the memory of each rank over time, from the samples of a timeline. Each rank
/// has a lane, filled in proportion to the largest peak of all ranks, kind upon kind where they are
/// known, with its own peak on the right. Low lanes use colour instead of height, for the sum.
/// Short changes keep their maximum, so no peak is lost. Throws InputError for a timeline without
/// samples, and UsageError if the picture is too small.
std::string draw_memory(PictureFormat format, const Plan& plan, const Timeline& timeline,
                        const MemoryPicture& picture);

}  // namespace penstock
