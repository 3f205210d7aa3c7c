#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// What a lane of an overview shows of a rank.
enum class OverviewKind : std::uint8_t { compute, send, receive, idle };

/// How long a rank does what, in bins of equal width from the start of the run on. Ops that overlap
/// count each.
struct OverviewLane {
  std::uint32_t rank = 0;
  OverviewKind kind = OverviewKind::compute;
  std::int64_t bin = 0;                  // its width in picoseconds
  std::int64_t unit = 1;                 // of a cell, in picoseconds
  std::vector<std::uint8_t> categories;  // passes, or of idle time causes; ascending
  std::vector<std::uint32_t> cells;      // by bin, then category
};

/// What is reported of a rank: its start, end and busy time, its actions, then idle time by cause.
constexpr std::size_t overview_facts = 11;
using RankFacts = std::array<std::int64_t, overview_facts>;

/// A run seen as a whole, for showing one of which only parts are read.
struct TimelineOverview {
  Time makespan{};
  std::vector<RankFacts> ranks;
  std::vector<OverviewLane> lanes;  // by rank, then kind
  bool empty() const { return ranks.empty(); }
};

/// Adds up a lane in a bounded number of bins, about as many as there are stretches at most. Their
/// width doubles when time runs out.
class OverviewLaneMaker {
 public:
  explicit OverviewLaneMaker(std::size_t most_bins) : most_bins_(most_bins) {}

  /// A stretch of a category.
  void add(Time begin, Time end, std::uint8_t category);
  OverviewLane take(std::uint32_t rank, OverviewKind kind);

 private:
  struct Row {
    std::uint8_t category;
    std::vector<std::int64_t> busy;  // by bin
  };
  std::vector<std::int64_t>& row_of(std::uint8_t category);
  void widen();

  std::size_t most_bins_;
  std::int64_t bin_ = std::int64_t{1} << 20;
  std::int64_t end_ = 0;
  std::size_t count_ = 0;  // of stretches
  std::vector<Row> rows_;
};

/// Makes an overview task by task, in plan order. Idle time is given by who knows its causes.
class OverviewMaker {
 public:
  explicit OverviewMaker(const Plan& plan);

  void add(std::uint32_t work, Time begin, Time end);
  void add_idle(std::uint32_t rank, Time begin, Time end, std::uint8_t cause);
  Time makespan() const { return makespan_; }
  TimelineOverview take();

 private:
  OverviewLaneMaker& lane_of(std::uint32_t rank, OverviewKind kind) {
    return lanes_[rank * std::size_t{4} + static_cast<std::size_t>(kind)];
  }

  const Plan& plan_;
  Time makespan_{};
  std::vector<RankFacts> facts_;
  std::vector<OverviewLaneMaker> lanes_;  // by rank, then kind
};

}  // namespace penstock
