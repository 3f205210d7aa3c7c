#include "experiments/measure/measured_runs/clocks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "experiments/input/files/table.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

constexpr double rounding_ns = 1;

/// Two ranks whose tensors go both ways, and what these take at least, in whole nanoseconds.
struct RankPair {
  Rank a;
  Rank b;
  double there_ns = 0;
  double back_ns = 0;
  bool slow = false;  // there and back, beside other pairs

  double round_ns() const { return there_ns + back_ns; }  // which clocks do not change
  /// How far the clock of b is ahead where tensors take as long each way.
  double ahead_ns() const { return (there_ns - back_ns) / 2; }
};

/// The quickest there and back first, so that slow ones are last.
std::vector<RankPair> rank_pairs(const TransferTimes& times) {
  std::map<std::pair<Rank, Rank>, double> ns;
  for (const LinkTime& of : times.least) ns[{of.link.from, of.link.to}] = std::round(of.us * 1e3);
  std::vector<RankPair> pairs;
  std::vector<double> rounds;
  for (const auto& [ends, there] : ns) {
    const auto back = ns.find({ends.second, ends.first});
    if (ends.first > ends.second || back == ns.end()) continue;
    pairs.push_back({ends.first, ends.second, there, back->second});
    rounds.push_back(pairs.back().round_ns());
  }
  const double usual = lower_median(std::move(rounds));
  for (RankPair& pair : pairs) pair.slow = is_slow(pair.round_ns(), usual, times.action_ns);
  std::ranges::stable_sort(pairs, {}, &RankPair::round_ns);
  return pairs;
}

/// Whether a slow link is of a pair that is not slow there and back, where others say what is slow.
bool has_slow_link(const std::vector<RankPair>& pairs, const TransferTimes& times) {
  if (std::ranges::count(pairs, false, &RankPair::slow) < 2) return false;
  return std::ranges::any_of(times.slow, [&](const LinkTime& slow) {
    const auto [from, to] = slow.link;
    const std::pair ends{std::min(from, to), std::max(from, to)};
    return std::ranges::any_of(pairs, [&](const RankPair& pair) {
      return !pair.slow && std::pair(pair.a, pair.b) == ends;
    });
  });
}

/// Ranks whose clocks are aligned, in groups that grow pair by pair.
class ClockGroups {
 public:
  ClockGroups(std::uint32_t ranks, double overlap_ns)
      : group_(ranks), ahead_ns_(ranks), overlap_ns_(overlap_ns) {
    std::iota(group_.begin(), group_.end(), 0U);
  }

  /// Moves the group with the later first rank to the clock of the other.
  void join(RankPair pair) {
    if (group_[index(pair.a)] > group_[index(pair.b)]) {
      std::swap(pair.a, pair.b);
      std::swap(pair.there_ns, pair.back_ns);
    }
    const std::uint32_t to = group_[index(pair.a)];
    const std::uint32_t from = group_[index(pair.b)];
    if (from == to) return;
    const double by_ns = shift_of(pair);
    for (std::size_t rank = 0; rank < group_.size(); ++rank) {
      if (group_[rank] != from) continue;
      group_[rank] = to;
      ahead_ns_[rank] += by_ns;
    }
  }

  /// By rank, of the first one of its group.
  const std::vector<double>& ahead_ns() const { return ahead_ns_; }

 private:
  /// Nobody knows which way a slow pair is slow: a clock of the group that fits stays as it is.
  double shift_of(const RankPair& pair) const {
    const double middle = pair.ahead_ns() - ahead_ns_[index(pair.b)] + ahead_ns_[index(pair.a)];
    if (!pair.slow) return middle;
    for (std::size_t rank = 0; rank < group_.size(); ++rank) {
      const double shift = -ahead_ns_[rank];
      const bool fits = std::abs(shift - middle) <= pair.round_ns() / 2 + overlap_ns_;
      if (group_[rank] == group_[index(pair.b)] && fits) return shift;
    }
    return middle;
  }

  std::vector<std::uint32_t> group_;  // by rank: the first rank of its group
  std::vector<double> ahead_ns_;
  double overlap_ns_;
};

/// The least and the most that each clock can be ahead of the first, so that no tensor arrives
/// before it leaves.
class ClockBounds {
 public:
  ClockBounds(const std::vector<RankPair>& pairs, std::uint32_t ranks, double overlap_ns)
      : pairs_(pairs),
        overlap_ns_(overlap_ns),
        least_(ranks, -unbounded),
        most_(ranks, unbounded) {}

  bool hold(std::size_t rank, double ns) const { return least_[rank] <= ns && ns <= most_[rank]; }
  double middle(std::size_t rank) const { return std::midpoint(least_[rank], most_[rank]); }

  /// Takes a clock as known, which bounds others; false if none fit.
  bool settle(std::size_t rank, double ns) {
    least_[rank] = ns;
    most_[rank] = ns;
    std::size_t rounds = 0;
    while (narrows()) {
      if (++rounds > most_.size()) return false;  // the bounds of a ring contradict each other
    }
    return true;
  }

 private:
  bool narrows() {
    bool changed = false;
    const auto bound = [&](std::size_t of, double least_ns, double most_ns) {
      if (least_ns <= least_[of] && most_ns >= most_[of]) return;
      least_[of] = std::max(least_[of], least_ns);
      most_[of] = std::min(most_[of], most_ns);
      changed = true;
    };
    for (const RankPair& pair : pairs_) {
      const std::size_t a = index(pair.a), b = index(pair.b);
      const double there_ns = pair.there_ns + overlap_ns_, back_ns = pair.back_ns + overlap_ns_;
      bound(b, least_[a] - back_ns, most_[a] + there_ns);
      bound(a, least_[b] - there_ns, most_[b] + back_ns);
    }
    return changed;
  }

  static constexpr double unbounded = std::numeric_limits<double>::infinity();
  const std::vector<RankPair>& pairs_;
  double overlap_ns_;
  std::vector<double> least_;
  std::vector<double> most_;
};

/// By rank, how far its clock is set back: 0 where the bounds of all pairs and of earlier ranks
/// allow it, otherwise the middle of what they allow. Nothing if no clocks fit all pairs.
std::optional<std::vector<double>> clocks_that_fit(const std::vector<RankPair>& pairs,
                                                   std::uint32_t ranks, double overlap_ns) {
  ClockBounds bounds(pairs, ranks, overlap_ns);
  std::vector<double> ahead_ns(ranks);
  std::vector<std::size_t> wrong;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (!bounds.hold(rank, 0)) {
      wrong.push_back(rank);
    } else if (!bounds.settle(rank, 0)) {
      return std::nullopt;
    }
  }
  for (const std::size_t rank : wrong) {
    ahead_ns[rank] = bounds.middle(rank);
    if (!bounds.settle(rank, ahead_ns[rank])) return std::nullopt;
  }
  return ahead_ns;
}

/// The first few of a list.
std::string first_of(std::vector<std::string> all) {
  constexpr std::size_t most_shown = 3;
  if (all.size() > most_shown) {
    all.resize(most_shown);
    all.emplace_back("…");
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

/// Whether no tensor arrives before it leaves by these clocks.
bool fit(const std::vector<double>& ahead_ns, const std::vector<RankPair>& pairs,
         double overlap_ns) {
  return std::ranges::all_of(pairs, [&](const RankPair& pair) {
    const double apart_ns = ahead_ns[index(pair.b)] - ahead_ns[index(pair.a)];
    const double most_ns = overlap_ns + rounding_ns;
    return apart_ns <= pair.there_ns + most_ns && -apart_ns <= pair.back_ns + most_ns;
  });
}

}  // namespace

std::vector<std::int64_t> clock_offsets(const Plan& plan, const TransferTimes& times,
                                        std::int64_t overlap_ns) {
  const std::vector<RankPair> pairs = rank_pairs(times);
  if (times.clock_error_ns <= overlap_ns && !has_slow_link(pairs, times)) return {};
  const auto overlaps_ns = static_cast<double>(overlap_ns);
  ClockGroups clocks(plan.ranks, overlaps_ns);
  for (const RankPair& pair : pairs) clocks.join(pair);
  std::vector<double> ahead_ns = clocks.ahead_ns();
  if (!fit(ahead_ns, pairs, overlaps_ns)) {
    if (auto fitting = clocks_that_fit(pairs, plan.ranks, overlaps_ns)) {
      ahead_ns = *std::move(fitting);
    }
  }
  std::vector<std::int64_t> rounded;
  for (const double ns : ahead_ns) rounded.push_back(std::llround(ns));
  const bool none = std::ranges::count(rounded, 0) == std::ssize(rounded);
  return none ? std::vector<std::int64_t>{} : rounded;
}

std::string unaligned_clocks(const TransferTimes& times, std::int64_t overlap_ns) {
  double least_us = -(static_cast<double>(overlap_ns) + rounding_ns) / 1e3;
  const double allowed_us = least_us;
  std::set<std::pair<Rank, Rank>> pairs;
  for (const LinkTime& of : times.least) {
    if (of.us >= allowed_us) continue;
    least_us = std::min(least_us, of.us);
    pairs.insert(std::minmax(of.link.from, of.link.to));
  }
  std::vector<std::string> names;
  for (const auto& [a, b] : pairs) names.push_back(fmt::format("{} and {}", index(a), index(b)));
  if (names.empty()) return "";
  return fmt::format(
      "clocks are not aligned between ranks {}: tensors arrive up to {} µs before they leave",
      first_of(std::move(names)), number_text(-least_us));
}

std::string far_clocks(const std::vector<std::int64_t>& offsets, std::int64_t step_ns) {
  std::vector<std::string> far;
  for (std::size_t rank = 0; rank < offsets.size(); ++rank) {
    const bool is_far = offsets[rank] != 0 && std::abs(offsets[rank]) >= step_ns / 2;
    if (is_far) far.push_back(fmt::format("{}", rank));
  }
  if (far.empty()) return "";
  return fmt::format(
      "the clocks of ranks 0 and {} differ by half a step or more, or these are other steps: "
      "ProfilerStep# annotations number them",
      first_of(std::move(far)));
}

std::int64_t align_clocks(const Plan& plan, const std::vector<std::int64_t>& offsets,
                          Timeline& timeline) {
  Time first{INT64_MAX};
  const auto for_each_action = [&](auto visit) {
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      const std::uint32_t resource = plan.class_of(task).resource;
      if (!plan.is_link(resource)) visit(task, resource);
    }
  };
  for_each_action([&](TaskId task, std::uint32_t rank) {
    timeline.begin[task] -= from_ns(offsets[rank]);
    timeline.end[task] -= from_ns(offsets[rank]);
    first = std::min(first, timeline.begin[task]);
  });
  for_each_action([&](TaskId task, std::uint32_t /*rank*/) {
    timeline.begin[task] -= first;
    timeline.end[task] -= first;
  });
  return to_ns(first);
}

}  // namespace penstock
