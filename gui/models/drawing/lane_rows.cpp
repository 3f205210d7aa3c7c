#include "gui/models/drawing/lane_rows.hpp"

#include <algorithm>
#include <array>

namespace penstock {
namespace {

constexpr int lowest = 1;
constexpr int highest = 120;
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

/// The other runs as strips over the row of A, the last one at its bottom.
void add_ghosts(const LaneChoice& choice, int lane_height, StripStack& stack) {
  LaneRow ghost = stack.rows.back();
  const int end = ghost.top + lane_height;
  ghost.ghost = true;
  ghost.height = std::max(3, lane_height / (choice.runs + 1));
  for (ghost.run = 1; ghost.run < choice.runs; ++ghost.run) {
    ghost.top = end - ghost.height * (choice.runs - ghost.run);
    stack.rows.push_back(ghost);
  }
}

bool is_heat(const LaneChoice& choice, int lane_height) {
  return choice.heat || lane_height < least_drawn_height;
}

/// The strips of a run on a rank; `upward`: its ops at the bottom, as in a mirror.
void add_run(const LaneChoice& choice, LaneRow row, int lane_height, bool upward,
             StripStack& stack) {
  row.heat = is_heat(choice, lane_height);
  if (row.heat) {
    row.kind = LaneKind::compute;
    stack.add(row, lane_height);
    stack.top -= lane_height < least_drawn_height ? 1 : 0;
    return;
  }
  const int low = part(lane_height, 0.28);
  std::vector<std::pair<LaneKind, int>> strips{{LaneKind::compute, lane_height}};
  if (choice.transfers) strips.emplace_back(LaneKind::send, low);
  if (choice.transfers && choice.receives) strips.emplace_back(LaneKind::receive, low);
  if (choice.memory) strips.emplace_back(LaneKind::memory, part(lane_height, 0.9));
  if (upward) std::reverse(strips.begin(), strips.end());
  for (const auto& [kind, height] : strips) {
    row.kind = kind;
    stack.add(row, height);
    if (choice.style == PairStyle::ghost && kind == LaneKind::compute) {
      add_ghosts(choice, lane_height, stack);
    }
  }
}

/// Calls `visit(row)` for the runs that have lanes of their own.
template <class Visitor>
void for_each_run(const LaneChoice& choice, LaneRow row, Visitor visit) {
  const auto visit_at = [&](std::size_t place) {
    row.run = static_cast<std::uint8_t>(lettered(place, choice.frozen));
    visit(row);
  };
  if (choice.style == PairStyle::ghost) return visit(row);
  if (choice.style == PairStyle::only_other) {
    return visit_at(std::min<std::size_t>(choice.other, choice.runs - 1));
  }
  visit_at(0);
  if (choice.style == PairStyle::only_first) return;
  row.flipped = choice.style == PairStyle::mirrored;
  for (std::size_t place = 1; place < choice.runs; ++place) visit_at(place);
}

void add_links(const LaneChoice& choice, int lane_height, StripStack& stack) {
  LaneRow link{.kind = LaneKind::link};
  for (; choice.links && link.rank < choice.link_count; ++link.rank) {
    for_each_run(choice, link,
                 [&](const LaneRow& row) { stack.add(row, part(lane_height, link_share)); });
  }
}

/// The strips of a rank in all runs. In the mirror, differences stand between A and the others.
void add_rank(const LaneChoice& choice, std::uint32_t rank, int lane_height, StripStack& stack) {
  const LaneRow of_rank{.rank = rank, .pinned = is_pinned(choice, rank)};
  const bool mirrors = choice.style == PairStyle::mirrored;
  const bool heat = is_heat(choice, lane_height);
  for_each_run(choice, of_rank, [&](const LaneRow& row) {
    const bool is_a = lettered(row.run, choice.frozen) == 0;
    const auto add_differences = [&] {
      LaneRow between = row;
      between.kind = LaneKind::difference;
      if (!is_a && !heat) stack.add(between, part(lane_height, 0.35));
    };
    if (mirrors) add_differences();
    add_run(choice, row, lane_height, mirrors && is_a, stack);
    if (choice.style == PairStyle::above) add_differences();
  });
}

/// Spreads the room that is left over the strips of ranks.
void fill_room(int room, std::vector<LaneRow>& rows) {
  const auto ranks = std::count_if(rows.begin(), rows.end(),
                                   [](const LaneRow& row) { return row.kind != LaneKind::link; });
  const int spare = room - height_of(rows);
  if (spare <= 0 || ranks == 0) return;
  std::int64_t done = 0;
  for (LaneRow& row : rows) {
    const auto share = [&](std::int64_t strips) {
      return static_cast<int>(spare * strips / ranks);
    };
    row.top += share(done);
    if (row.kind == LaneKind::link) continue;
    row.height += share(done + 1) - share(done);
    ++done;
  }
}

}  // namespace

std::string_view name(PairStyle style) {
  constexpr std::array<std::string_view, pair_style_count> names{"ghost", "above", "mirrored",
                                                                 "only A", "only another"};
  return names[static_cast<std::size_t>(style)];
}

bool is_pinned(const LaneChoice& choice, std::uint32_t rank) {
  return std::find(choice.pinned.begin(), choice.pinned.end(), rank) != choice.pinned.end();
}

std::vector<std::uint32_t> shown_ranks(const LaneChoice& choice) {
  std::vector<std::uint32_t> ranks;
  const auto add = [&](std::uint32_t rank, bool pinned) {
    if (rank < choice.ranks && is_pinned(choice, rank) == pinned) ranks.push_back(rank);
  };
  for (const std::uint32_t rank : choice.pinned) add(rank, true);
  for (const std::uint32_t rank : choice.order) add(rank, false);
  for (std::uint32_t rank = 0; choice.order.empty() && rank < choice.ranks; ++rank) {
    add(rank, false);
  }
  return ranks;
}

std::vector<LaneRow> lane_rows(const LaneChoice& choice, int lane_height) {
  StripStack stack;
  for (const std::uint32_t rank : shown_ranks(choice)) {
    add_rank(choice, rank, lane_height, stack);
    if (!is_heat(choice, lane_height)) stack.top += std::max(1, lane_height / 6);
  }
  add_links(choice, lane_height, stack);
  if (is_heat(choice, lane_height) && lane_height < highest) fill_room(choice.room, stack.rows);
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

int fitting_lane_height(const LaneChoice& choice, std::size_t ranks, int room) {
  LaneChoice two = choice;
  two.ranks = 2;
  two.links = false;
  two.room = 0;
  two.pinned = two.order = {};
  const bool all = choice.style == PairStyle::above || choice.style == PairStyle::mirrored;
  const int links =
      !choice.links ? 0 : static_cast<int>(choice.link_count) * (all ? choice.runs : 1);
  for (int height = highest; height > lowest; --height) {
    const std::vector<LaneRow> rows = lane_rows(two, height);
    const auto second =
        std::find_if(rows.begin(), rows.end(), [](const LaneRow& row) { return row.rank == 1; });
    const int of_links = links * (part(height, link_share) + 1);
    if (second->top * static_cast<int>(ranks) + of_links <= room) return height;
  }
  return lowest;
}

const std::vector<Track>* tracks_in(const LaneRow& row, const PaintedRun& run) {
  if (row.kind == LaneKind::link) {
    const bool known = run.links != nullptr && row.rank < run.links->size();
    return known ? &(*run.links)[row.rank].tracks : nullptr;
  }
  if (row.rank >= run.lanes->ranks.size()) return nullptr;
  const RankTracks& tracks = run.lanes->ranks[row.rank];
  switch (row.kind) {
    case LaneKind::compute:
    case LaneKind::difference:
      return &tracks.compute;
    case LaneKind::send:
      return &tracks.send;
    case LaneKind::receive:
      return &tracks.receive;
    default:
      return nullptr;
  }
}

TaskId op_in(const LaneRow& row, const PaintedRun& run, double y, std::int64_t time) {
  const std::vector<Track>* const tracks = tracks_in(row, run);
  if (tracks == nullptr || y < 0 || y >= row.height) return no_task;
  const auto count = static_cast<double>(tracks->size());
  for (std::size_t t = 0; t < tracks->size(); ++t) {
    const double low = row.height * static_cast<double>(t) / count;
    const double high = row.height * static_cast<double>(t + 1) / count;
    if (y < low || y >= std::max(high, low + 1)) continue;
    const std::size_t box = (*tracks)[t].at(time);
    if (box < (*tracks)[t].size()) return (*tracks)[t].tag[box];
  }
  return no_task;
}

bool shows(const LaneRow& row, std::uint32_t resource, const Plan& plan) {
  if (!plan.is_link(resource)) return resource == row.rank && row.kind == LaneKind::compute;
  if (row.kind == LaneKind::link) return resource == plan.ranks + row.rank;
  const Link& link = plan.link(resource);
  return (row.kind == LaneKind::send && index(link.from) == row.rank) ||
         (row.kind == LaneKind::receive && index(link.to) == row.rank);
}

const LaneRow* row_with(const std::vector<LaneRow>& rows, LaneKind kind, std::uint32_t rank,
                        std::uint8_t run) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const LaneRow& each) {
    return each.run == run && each.kind == kind && each.rank == rank;
  });
  return row == rows.end() ? nullptr : &*row;
}

const LaneRow* row_of(const std::vector<LaneRow>& rows, const PaintedRun& run, std::uint8_t number,
                      TaskId task) {
  const Plan& plan = run.run->plan;
  const std::uint32_t resource = plan.class_of(task).resource;
  const std::uint32_t rank = rank_of_task(plan, task);
  const auto find = [&](LaneKind kind, std::uint32_t place) {
    return row_with(rows, kind, place, number);
  };
  if (plan.is_link(resource)) {
    const bool sends = is_rank(plan.link(resource).from);
    if (const auto* row = find(sends ? LaneKind::send : LaneKind::receive, rank)) return row;
    if (const auto* row = find(LaneKind::link, resource - plan.ranks)) return row;
  }
  return find(LaneKind::compute, rank);
}

}  // namespace penstock
