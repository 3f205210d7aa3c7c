#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/report/idle.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Idle time of one cause, and the op behind it.
constexpr std::uint32_t no_next = 0x1fff'ffffU;
constexpr std::uint32_t idle_tag(IdleCause cause, TaskId next) {
  return static_cast<std::uint32_t>(cause) << 29 | (next < no_next ? next : no_next);
}
constexpr IdleCause cause_of(std::uint32_t tag) { return static_cast<IdleCause>(tag >> 29); }
constexpr TaskId next_of(std::uint32_t tag) {
  return (tag & no_next) == no_next ? no_task : tag & no_next;
}

/// Boxes side by side in time that never overlap, in order; times in picoseconds. The tag of an op
/// is its task; see `idle_tag` for idle time. Most tracks keep no times that a timeline has: that
/// takes a quarter of the room.
struct Track {
  /// A length of more than 4 ms, which 32 bits cannot say.
  struct LongBox {
    std::size_t box;
    std::int64_t length;
  };

  std::vector<std::int64_t> begin;    // of a track with times of its own
  std::vector<std::uint32_t> length;  // of that, or of idle time; `is_long`: it is in `longer`
  std::vector<LongBox> longer;        // by box
  std::vector<std::uint32_t> tag;
  const Timeline* times = nullptr;  // has the times of the tasks; must outlive the track
  // Boxes are idle time: those before one op follow each other, and the last ends as the op begins.
  bool waits = false;
  std::int64_t last_end = 0;  // of idle time that no op follows

  static constexpr std::uint32_t is_long = UINT32_MAX;

  std::size_t size() const { return tag.size(); }
  std::int64_t begin_at(std::size_t box) const {
    if (waits) return end_at(box) - length_at(box);
    return times == nullptr ? begin[box] : times->begin[tag[box]].picoseconds;
  }
  std::int64_t end_at(std::size_t box) const {
    if (waits) return end_of_waits(box) - lengths_behind(box);
    return times == nullptr ? begin[box] + length_at(box) : times->end[tag[box]].picoseconds;
  }
  void add(std::int64_t from, std::int64_t to, std::uint32_t its_tag) {
    tag.push_back(its_tag);
    if (times == nullptr) begin.push_back(from);
    if (times == nullptr || waits) add_length(to - from);
    if (next_of(its_tag) == no_task) last_end = to;
  }
  void reserve(std::size_t boxes) {
    tag.reserve(boxes);
    if (times == nullptr) begin.reserve(boxes);
    if (times == nullptr || waits) length.reserve(boxes);
  }
  void shrink() {
    begin.shrink_to_fit();
    length.shrink_to_fit();
    longer.shrink_to_fit();
    tag.shrink_to_fit();
  }
  std::size_t bytes() const {
    return 8 * begin.capacity() + 4 * (length.capacity() + tag.capacity()) +
           sizeof(LongBox) * longer.capacity();
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

  /// Calls `visit(begin, end, tag)` for the boxes that lie between two moments or reach there, and
  /// `ahead(tag)` some time before, to fetch what the visit reads.
  template <class Visitor, class Ahead>
  void for_each_between(std::int64_t from, std::int64_t until, Visitor&& visit,
                        Ahead&& ahead) const {
    const std::size_t first = first_ending_after(from);
    if (waits) return for_each_wait(first, until, visit);
    if (times != nullptr) return for_each_task(first, until, visit, ahead);
    for (std::size_t box = first; box < size(); ++box) {
      if (begin[box] >= until) return;
      visit(begin[box], begin[box] + length_at(box), tag[box]);
    }
  }
  template <class Visitor>
  void for_each_between(std::int64_t from, std::int64_t until, Visitor&& visit) const {
    for_each_between(from, until, visit, [](std::uint32_t) {});
  }
  /// Calls `visit(tag, part, whole)` for the same boxes: the length of what lies between the
  /// moments, and of all.
  template <class Visitor>
  void for_each_part(std::int64_t from, std::int64_t until, Visitor&& visit) const {
    for_each_between(from, until, [&](std::int64_t first, std::int64_t end, std::uint32_t its_tag) {
      visit(its_tag, std::min(end, until) - std::max(first, from), end - first);
    });
  }
  /// Calls `visit(begin, end, tag)` for all boxes.
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    constexpr auto all = std::numeric_limits<std::int64_t>::max();
    for_each_between(-all, all, visit);
  }

 private:
  static constexpr std::size_t fetched_ahead = 16;

  void add_length(std::int64_t its_length) {
    const bool fits = its_length < std::int64_t{is_long};
    if (!fits) longer.push_back({length.size(), its_length});
    length.push_back(fits ? static_cast<std::uint32_t>(its_length) : is_long);
  }
  std::int64_t length_at(std::size_t box) const {
    return length[box] == is_long ? long_length(box) : length[box];
  }
  std::int64_t long_length(std::size_t box) const {
    std::size_t low = 0;
    for (std::size_t high = longer.size(); high - low > 1;) {
      const std::size_t middle = (low + high) / 2;
      (longer[middle].box <= box ? low : high) = middle;
    }
    return longer[low].length;
  }
  /// Where the op begins that a box of idle time and maybe others wait for.
  std::int64_t end_of_waits(std::size_t box) const {
    const TaskId next = next_of(tag[box]);
    return next == no_task ? last_end : times->begin[next].picoseconds;
  }
  /// Of the boxes behind one that wait for the same op.
  std::int64_t lengths_behind(std::size_t box) const {
    std::int64_t sum = 0;
    for (std::size_t b = box + 1; b < size() && next_of(tag[b]) == next_of(tag[box]); ++b) {
      sum += length_at(b);
    }
    return sum;
  }
  void fetch(std::uint32_t task) const {
    __builtin_prefetch(times->begin.data() + task);
    __builtin_prefetch(times->end.data() + task);
  }

  template <class Visitor, class Ahead>
  void for_each_task(std::size_t first, std::int64_t until, Visitor&& visit, Ahead&& ahead) const {
    const Time* const begins = times->begin.data();
    const Time* const ends = times->end.data();
    const std::uint32_t* const tags = tag.data();
    const std::size_t count = size();
    for (std::size_t box = first; box < count; ++box) {
      const std::uint32_t later = tags[std::min(box + fetched_ahead, count - 1)];
      fetch(later);
      ahead(later);
      const std::int64_t own = begins[tags[box]].picoseconds;
      if (own >= until) return;
      visit(own, ends[tags[box]].picoseconds, tags[box]);
    }
  }

  template <class Visitor>
  void for_each_wait(std::size_t first, std::int64_t until, Visitor&& visit) const {
    const std::uint32_t* const tags = tag.data();
    const std::size_t count = size();
    for (std::size_t box = first; box < count;) {
      const TaskId later = next_of(tags[std::min(box + fetched_ahead, count - 1)]);
      if (later != no_task) __builtin_prefetch(times->begin.data() + later);
      const std::int64_t end = end_of_waits(box);
      std::int64_t at = end - length_at(box) - lengths_behind(box);
      do {
        if (at >= until) return;
        const std::int64_t from = at;
        at += length_at(box);
        visit(from, at, tags[box]);
      } while (++box < count && at < end);
    }
  }
};

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

/// What ranks take that have something for each track of theirs: of ops, transfers and idle time.
template <class Rank>
std::size_t bytes_of_ranks(const std::vector<Rank>& ranks) {
  std::size_t sum = 0;
  for (const Rank& rank : ranks) {
    for (const auto* tracks : {&rank.compute, &rank.send, &rank.receive}) {
      for (const auto& track : *tracks) sum += track.bytes();
    }
    sum += rank.idle.bytes();
  }
  return sum;
}

/// The most categories that boxes can be coloured by.
constexpr std::size_t most_categories = 16;

/// The busy time of a track by category, in bins of several widths: each level has bins eight times
/// as wide as the one below. All sums are exact, in picoseconds.
class Pyramid {
 public:
  struct Level {
    std::int64_t bin = 0;   // its width
    std::int64_t unit = 1;  // of its cells, in picoseconds
    std::size_t bins = 0;
    // By bin, then by row of `categories`; in the second if a bin is longer than 32 bits can say.
    std::vector<std::uint32_t> narrow{};
    std::vector<std::int64_t> wide{};

    std::size_t cells() const { return narrow.size() + wide.size(); }
    std::int64_t busy(std::size_t cell) const {
      return unit * (wide.empty() ? static_cast<std::int64_t>(narrow[cell]) : wide[cell]);
    }
  };

  /// The category and the row of boxes that are not counted.
  static constexpr std::uint8_t left_out = UINT8_MAX;

  Pyramid() = default;
  /// `category` gives that of a tag, below `most_categories` or `left_out`. The narrowest bins have
  /// about `boxes_per_bin`. With fewer, boxes are drawn one by one sooner, and bins take more room.
  template <class Category>
  Pyramid(const Track& track, Category category, std::int64_t boxes_per_bin = 4) {
    if (track.size() == 0) return;
    std::vector<std::uint8_t> of_box(track.size());
    for (std::size_t box = 0; box < of_box.size(); ++box) of_box[box] = category(track.tag[box]);
    build(track, of_box, boxes_per_bin);
  }
  /// No levels: all boxes are drawn one by one. For runs that change while a hand moves.
  static Pyramid without_levels(std::vector<std::uint8_t> categories);

  /// Of a track of which only this is known: the narrowest level.
  static Pyramid of_level(std::vector<std::uint8_t> categories, Level base);

  /// The categories that the track has; a row of a bin holds one time for each.
  const std::vector<std::uint8_t>& categories() const { return categories_; }
  /// The row of a category; `left_out` if the track has none of it.
  std::uint8_t row_of(std::uint8_t category) const {
    return category < most_categories ? row_of_category_[category] : left_out;
  }
  const std::vector<Level>& levels() const {
    static const std::vector<Level> none;
    return levels_ == nullptr ? none : *levels_;
  }
  /// The widest level with bins no wider than this; nullptr if there is none.
  const Level* level_for(double picoseconds) const;
  std::size_t bytes() const;

 private:
  void set_categories(std::vector<std::uint8_t> categories);
  void build(const Track& track, std::vector<std::uint8_t>& category_of_box,
             std::int64_t boxes_per_bin);
  void build_next();
  template <class Cell>
  void fill_base(const Track& track, const std::vector<std::uint8_t>& row_of_box, std::int64_t bin,
                 std::vector<Cell>& cells) const;

  std::vector<std::uint8_t> categories_;
  std::array<std::uint8_t, most_categories> row_of_category_{};
  std::shared_ptr<std::vector<Level>> levels_;  // shared by copies; once built, they stay
};

}  // namespace penstock
