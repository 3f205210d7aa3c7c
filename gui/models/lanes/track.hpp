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
  std::vector<std::uint32_t> length;  // empty if a box is longer than 32 bits can say, 4 ms
  std::vector<std::int64_t> end;      // only then
  std::vector<std::uint32_t> tag;
  const Timeline* times = nullptr;  // must outlive the track

  std::size_t size() const { return tag.size(); }
  std::int64_t begin_at(std::size_t box) const {
    return times == nullptr ? begin[box] : times->begin[tag[box]].picoseconds;
  }
  std::int64_t end_at(std::size_t box) const {
    if (times != nullptr) return times->end[tag[box]].picoseconds;
    return end.empty() ? begin[box] + length[box] : end[box];
  }
  void add(std::int64_t from, std::int64_t to, std::uint32_t its_tag) {
    tag.push_back(its_tag);
    if (times != nullptr) return;
    begin.push_back(from);
    if (end.empty() && to - from <= UINT32_MAX) {
      length.push_back(static_cast<std::uint32_t>(to - from));
    } else {
      keep_ends();
      end.push_back(to);
    }
  }
  /// Room for boxes of up to 4 ms.
  void reserve(std::size_t boxes) {
    tag.reserve(boxes);
    if (times != nullptr) return;
    begin.reserve(boxes);
    length.reserve(boxes);
  }
  void shrink() {
    begin.shrink_to_fit();
    length.shrink_to_fit();
    end.shrink_to_fit();
    tag.shrink_to_fit();
  }
  std::size_t bytes() const {
    return 8 * (begin.capacity() + end.capacity()) + 4 * (length.capacity() + tag.capacity());
  }

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

 private:
  /// From lengths to ends.
  void keep_ends() {
    for (std::size_t box = 0; box < length.size(); ++box) end.push_back(begin[box] + length[box]);
    length = {};
  }
};

}  // namespace penstock
