#include "gui/models/tracks/track.hpp"

#include <utility>

namespace penstock {

void StackedBoxes::add(std::int64_t begin, std::int64_t end, std::uint32_t tag) {
  const auto free = std::find_if(free_from_.begin(), free_from_.end(),
                                 [&](std::int64_t from) { return from <= begin; });
  const auto at = static_cast<std::size_t>(free - free_from_.begin());
  if (at == tracks_.size()) {
    tracks_.push_back({.times = times_});
    free_from_.push_back(0);
  }
  tracks_[at].add(begin, end, tag);
  free_from_[at] = end;
}

std::vector<Track> StackedBoxes::take() {
  for (Track& track : tracks_) track.shrink();
  return std::exchange(tracks_, {});
}

}  // namespace penstock
