#include "sim/report/steady_interval.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

namespace penstock {
namespace {

/// Microbatches after which every replica of every stage has had equally many; at most `limit`.
std::uint64_t period_of(const Plan& plan, std::uint64_t limit) {
  std::vector<std::set<std::uint32_t>> ranks(plan.model_stage.size());
  for (const WorkClass& work : plan.classes) {
    if (work.pass == Pass::forward) ranks[index(work.stage)].insert(work.resource);
  }
  std::uint64_t period = 1;
  for (const auto& replicas : ranks) {
    if (!replicas.empty()) period = std::min(limit, std::lcm(period, replicas.size()));
  }
  return period;
}

/// Begins of F on first stages, and ends of their B or W, each ascending.
struct Passages {
  std::vector<Time> entered;
  std::vector<Time> left;
};

Passages passages_of(const Plan& plan, const Timeline& timeline) {
  Passages found;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (plan.model_stage[index(work.stage)] != 0) continue;
    if (work.pass == Pass::forward) found.entered.push_back(timeline.begin[task]);
    if (ends_activation(work.pass)) found.left.push_back(timeline.end[task]);
  }
  std::sort(found.entered.begin(), found.entered.end());
  std::sort(found.left.begin(), found.left.end());
  return found;
}

}  // namespace

std::optional<double> steady_interval_us(const Plan& plan, const Timeline& timeline) {
  const auto [entered, left] = passages_of(plan, timeline);
  if (left.empty()) return std::nullopt;
  const auto fill = static_cast<std::size_t>(
      std::lower_bound(entered.begin(), entered.end(), left.front()) - entered.begin());
  if (left.size() <= 2 * fill) return std::nullopt;
  const std::size_t last = left.size() - 1 - fill;
  const std::uint64_t period = period_of(plan, left.size());
  const std::uint64_t whole = (last - fill) / period * period;
  if (whole == 0) return std::nullopt;
  return to_us(left[last] - left[last - whole]) / static_cast<double>(whole);
}

}  // namespace penstock
