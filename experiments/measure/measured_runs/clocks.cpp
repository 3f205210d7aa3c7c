#include "experiments/measure/measured_runs/clocks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

/// Two ranks whose tensors go both ways.
struct RankPair {
  Rank a;
  Rank b;
  double round_ns = 0;  // there and back, which clocks do not change
  double ahead_ns = 0;  // the clock of b
};

/// Those that are not slow there and back.
std::vector<RankPair> usual_pairs(const TransferTimes& times) {
  std::map<std::pair<Rank, Rank>, double> ns;
  for (const LinkTime& of : times.least) ns[{of.link.from, of.link.to}] = of.us * 1e3;
  std::vector<RankPair> pairs;
  std::vector<double> rounds;
  for (const auto& [ends, there] : ns) {
    const auto back = ns.find({ends.second, ends.first});
    if (ends.first > ends.second || back == ns.end()) continue;
    pairs.push_back({ends.first, ends.second, there + back->second, (there - back->second) / 2});
    rounds.push_back(pairs.back().round_ns);
  }
  const double usual = lower_median(std::move(rounds));
  std::erase_if(
      pairs, [&](const RankPair& pair) { return is_slow(pair.round_ns, usual, times.action_ns); });
  return pairs;
}

/// Whether a slow link is of a pair that is not slow there and back, where others say what is slow.
bool has_slow_link(const std::vector<RankPair>& pairs, const TransferTimes& times) {
  if (pairs.size() < 2) return false;
  return std::ranges::any_of(times.slow, [&](const LinkTime& slow) {
    const auto [from, to] = slow.link;
    const std::pair ends{std::min(from, to), std::max(from, to)};
    return std::ranges::any_of(
        pairs, [&](const RankPair& pair) { return std::pair(pair.a, pair.b) == ends; });
  });
}

}  // namespace

std::vector<std::int64_t> clock_offsets(const Plan& plan, const TransferTimes& times,
                                        std::int64_t overlap_ns) {
  const std::vector<RankPair> pairs = usual_pairs(times);
  if (times.clock_error_ns <= overlap_ns && !has_slow_link(pairs, times)) return {};
  std::vector<std::vector<std::pair<Rank, double>>> ahead(plan.ranks);  // of each, its neighbours
  for (const RankPair& pair : pairs) {
    ahead[index(pair.a)].emplace_back(pair.b, pair.ahead_ns);
    ahead[index(pair.b)].emplace_back(pair.a, -pair.ahead_ns);
  }
  std::vector<std::optional<double>> offset(plan.ranks);
  for (const Rank start : Numbers<Rank>(plan.ranks)) {
    if (offset[index(start)]) continue;
    offset[index(start)] = 0;
    for (std::vector<Rank> open{start}; !open.empty();) {
      const std::uint32_t rank = index(open.back());
      open.pop_back();
      for (const auto& [next, by_ns] : ahead[rank]) {
        if (offset[index(next)]) continue;
        offset[index(next)] = *offset[rank] + by_ns;
        open.push_back(next);
      }
    }
  }
  std::vector<std::int64_t> rounded;
  for (const auto& ns : offset) rounded.push_back(std::llround(*ns));
  const bool none = std::ranges::count(rounded, 0) == std::ssize(rounded);
  return none ? std::vector<std::int64_t>{} : rounded;
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
