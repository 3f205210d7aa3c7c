#pragma once

#include <cstdint>
#include <vector>

#include "gui/models/tracks/track.hpp"

namespace penstock {

/// Boxes, sorted by begin, in as few tracks as they need: each goes into the first that is free.
class StackedBoxes {
 public:
  /// Of tracks that look up times; nullptr: they have their own.
  explicit StackedBoxes(const Timeline* times) : times_(times) {}

  void add(std::int64_t begin, std::int64_t end, std::uint32_t tag);
  std::vector<Track> take();

 private:
  const Timeline* times_;
  std::vector<Track> tracks_;
  std::vector<std::int64_t> free_from_;  // by track
};

}  // namespace penstock
