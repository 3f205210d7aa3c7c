#include "experiments/measure/measured_runs/clocks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "experiments/input/files/table.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

/// Two ranks whose tensors go both ways, and what these take at least.
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
  for (const LinkTime& of : times.least) ns[{of.link.from, of.link.to}] = of.us * 1e3;
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

}  // namespace

std::vector<std::int64_t> clock_offsets(const Plan& plan, const TransferTimes& times,
                                        std::int64_t overlap_ns) {
  const std::vector<RankPair> pairs = rank_pairs(times);
  if (times.clock_error_ns <= overlap_ns && !has_slow_link(pairs, times)) return {};
  ClockGroups clocks(plan.ranks, static_cast<double>(overlap_ns));
  for (const RankPair& pair : pairs) clocks.join(pair);
  std::vector<std::int64_t> rounded;
  for (const double ns : clocks.ahead_ns()) rounded.push_back(std::llround(ns));
  const bool none = std::ranges::count(rounded, 0) == std::ssize(rounded);
  return none ? std::vector<std::int64_t>{} : rounded;
}

std::string unaligned_clocks(const TransferTimes& times, std::int64_t overlap_ns) {
  constexpr double rounding_ns = 1;
  constexpr std::size_t most_shown = 3;
  double least_us = -(static_cast<double>(overlap_ns) + rounding_ns) / 1e3;
  const double allowed_us = least_us;
  std::set<std::pair<Rank, Rank>> pairs;
  for (const LinkTime& of : times.least) {
    if (of.us >= allowed_us) continue;
    least_us = std::min(least_us, of.us);
    pairs.insert(std::minmax(of.link.from, of.link.to));
  }
  std::vector<std::string> shown;
  for (const auto& [a, b] : pairs) {
    if (shown.size() < most_shown) shown.push_back(fmt::format("{} and {}", index(a), index(b)));
  }
  if (pairs.size() > shown.size()) shown.emplace_back("…");
  if (shown.empty()) return "";
  return fmt::format(
      "clocks are not aligned between ranks {}: tensors arrive up to {} µs before they leave",
      fmt::join(shown, ", "), number_text(-least_us));
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
