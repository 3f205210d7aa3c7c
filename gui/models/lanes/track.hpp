#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Boxes side by side in time that never overlap, in order; times in picoseconds. The tag of an op
/// is its task; see `idle_tag` for idle time. With `times`, a track keeps tags alone and looks up
/// the times of its tasks: slower and five times smaller.
struct Track {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  std::vector<std::uint32_t> tag;
  const Timeline* times = nullptr;  // must outlive the track

  std::size_t size() const { return tag.size(); }
  std::int64_t begin_at(std::size_t box) const {
    return times == nullptr ? begin[box] : times->begin[tag[box]].picoseconds;
  }
  std::int64_t end_at(std::size_t box) const {
    return times == nullptr ? end[box] : times->end[tag[box]].picoseconds;
  }
  void add(std::int64_t from, std::int64_t to, std::uint32_t its_tag) {
    if (times == nullptr) {
      begin.push_back(from);
      end.push_back(to);
    }
    tag.push_back(its_tag);
  }
  void shrink() {
    begin.shrink_to_fit();
    end.shrink_to_fit();
    tag.shrink_to_fit();
  }
  std::size_t bytes() const { return 8 * (begin.capacity() + end.capacity()) + 4 * tag.capacity(); }

  /// The first box that ends after a moment; `size()` if there is none.
  std::size_t first_ending_after(std::int64_t time) const {
    std::size_t low = 0;
    std::size_t high = size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (end_at(middle) > time) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  /// The box at a moment; `size()` if there is none.
  std::size_t at(std::int64_t time) const {
    const std::size_t box = first_ending_after(time);
    return box < size() && begin_at(box) <= time ? box : size();
  }
};

}  // namespace penstock
