#include "gui/models/drawing/lane_rows.hpp"

#include <algorithm>
#include <array>

namespace penstock {
namespace {

constexpr int lowest = 9;
constexpr int highest = 90;
constexpr double link_share = 0.45;

/// The height of a strip beside compute.
int part(int lane_height, double share) {
  return std::max(3, static_cast<int>(lane_height * share));
}

/// Adds strips from top to bottom.
struct StripStack {
  std::vector<LaneRow> rows;
  int top = 0;

  void add(LaneRow row, int height) {
    row.top = top;
    row.height = height;
    rows.push_back(row);
    top += height + 1;
  }
};

void add_run(const LaneChoice& choice, LaneRow row, int lane_height, StripStack& stack) {
  row.kind = LaneKind::compute;
  stack.add(row, lane_height);
  if (choice.two_runs && choice.style == PairStyle::ghost) {
    LaneRow ghost = stack.rows.back();
    ghost.run = 1;
    ghost.ghost = true;
    ghost.height = std::max(3, lane_height / 3);
    ghost.top += lane_height - ghost.height;
    stack.rows.push_back(ghost);
  }
  row.flipped = false;
  for (const LaneKind kind : {LaneKind::send, LaneKind::receive}) {
    row.kind = kind;
    if (choice.transfers) stack.add(row, part(lane_height, 0.28));
  }
  row.kind = LaneKind::memory;
  if (choice.memory) stack.add(row, part(lane_height, 0.9));
}

void add_links(const LaneChoice& choice, LaneRow row, bool both, int lane_height,
               StripStack& stack) {
  row.kind = LaneKind::link;
  for (row.rank = 0; choice.links && row.rank < choice.link_count; ++row.rank) {
    const std::uint8_t first = row.run;
    stack.add(row, part(lane_height, link_share));
    if (both) {
      row.run = 1;
      row.flipped = choice.style == PairStyle::mirrored;
      stack.add(row, part(lane_height, link_share));
    }
    row.run = first;
    row.flipped = false;
  }
}

bool is_pinned(const LaneChoice& choice, std::uint32_t rank) {
  return std::find(choice.pinned.begin(), choice.pinned.end(), rank) != choice.pinned.end();
}

std::vector<std::uint32_t> ranks_in_order(const LaneChoice& choice) {
  std::vector<std::uint32_t> ranks;
  for (const std::uint32_t rank : choice.pinned) {
    if (rank < choice.ranks) ranks.push_back(rank);
  }
  for (std::uint32_t rank = 0; rank < choice.ranks; ++rank) {
    if (!is_pinned(choice, rank)) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

std::string_view name(PairStyle style) {
  constexpr std::array<std::string_view, pair_style_count> names{"ghost", "above", "mirrored", "A",
                                                                 "B"};
  return names[static_cast<std::size_t>(style)];
}

std::vector<LaneRow> lane_rows(const LaneChoice& choice, int lane_height) {
  StripStack stack;
  const bool both =
      choice.two_runs && (choice.style == PairStyle::above || choice.style == PairStyle::mirrored);
  const std::uint8_t first = choice.two_runs && choice.style == PairStyle::only_second ? 1 : 0;
  for (const std::uint32_t rank : ranks_in_order(choice)) {
    LaneRow row{.rank = rank, .run = first, .pinned = is_pinned(choice, rank)};
    add_run(choice, row, lane_height, stack);
    if (both) {
      row.run = 1;
      row.flipped = choice.style == PairStyle::mirrored;
      add_run(choice, row, lane_height, stack);
    }
    if (choice.two_runs && choice.differences) {
      stack.add({.kind = LaneKind::difference, .rank = rank, .run = 0}, part(lane_height, 0.35));
    }
    stack.top += std::max(1, lane_height / 6);
  }
  add_links(choice, {.run = first}, both, lane_height, stack);
  return stack.rows;
}

int pinned_height(const std::vector<LaneRow>& rows) {
  if (rows.empty() || !rows.front().pinned) return 0;
  const auto first =
      std::find_if(rows.begin(), rows.end(), [](const LaneRow& row) { return !row.pinned; });
  return first == rows.end() ? 0 : first->top;
}

int height_of(const std::vector<LaneRow>& rows) {
  int end = 0;
  for (const LaneRow& row : rows) end = std::max(end, row.top + row.height);
  return end;
}

int fitting_lane_height(const LaneChoice& choice, int room) {
  LaneChoice one = choice;
  one.ranks = std::min(choice.ranks, 1U);
  one.links = false;
  const bool both = choice.style == PairStyle::above || choice.style == PairStyle::mirrored;
  const int links =
      !choice.links ? 0 : static_cast<int>(choice.link_count) * (both && choice.two_runs ? 2 : 1);
  for (int height = highest; height > lowest; --height) {
    const int of_rank = height_of(lane_rows(one, height)) + 1 + std::max(1, height / 6);
    const int of_links = links * (part(height, link_share) + 1);
    if (of_rank * static_cast<int>(choice.ranks) + of_links <= room) return height;
  }
  return lowest;
}

}  // namespace penstock
