#include "validate/comparison/task_match.hpp"

#include <algorithm>
#include <span>
#include <tuple>

#include "sim/base/limits.hpp"

namespace penstock {
namespace {

/// The search key of a task in another plan.
struct Entry {
  std::uint64_t op;  // pass, whether it is an exchange, stage and microbatch
  std::uint64_t place;
  TaskId task;
};

std::uint64_t number_of(const Link& place) {
  return (std::uint64_t{index(place.from)} << 32) | index(place.to);
}

/// The tasks of a plan by op, then place, then time.
std::vector<Entry> entries_of(const Plan& plan) {
  static_assert(Limits::microbatches <= 1U << 24 && Limits::stages <= 1U << 16);
  std::vector<std::uint64_t> op, place;
  for (const WorkClass& work : plan.classes) {
    const std::uint64_t exchanged = is_exchange(plan, work) ? 0x80 : 0;
    op.push_back(((std::uint64_t{index(work.stage)} << 8) | exchanged |
                  static_cast<std::uint64_t>(work.pass))
                 << 24);
    place.push_back(number_of(place_of(plan, work.resource)));
  }
  std::vector<Entry> entries;
  entries.reserve(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t work = plan.work[task];
    entries.push_back({op[work] | index(plan.microbatch[task]), place[work], task});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& one, const Entry& other) {
    return std::tie(one.op, one.place, one.task) < std::tie(other.op, other.place, other.task);
  });
  return entries;
}

/// Takes the entries with the same op off the front.
std::span<const Entry> take_group(std::span<const Entry>& rest) {
  std::size_t size = 1;
  while (size < rest.size() && rest[size].op == rest.front().op) ++size;
  const std::span<const Entry> group = rest.first(size);
  rest = rest.subspan(size);
  return group;
}

void add_all(std::span<const Entry> entries, std::vector<TaskId>& tasks) {
  for (const Entry& entry : entries) tasks.push_back(entry.task);
}

/// Pairs the entries of one op: same places first, then the rest.
void match_group(std::span<const Entry> a, std::span<const Entry> b, TaskMatch& match) {
  std::vector<TaskId> left_a, left_b;
  while (!a.empty() && !b.empty()) {
    if (a.front().place == b.front().place) {
      match.shared.push_back({a.front().task, b.front().task});
      a = a.subspan(1);
      b = b.subspan(1);
    } else {
      const bool first = a.front().place < b.front().place;
      (first ? left_a : left_b).push_back((first ? a : b).front().task);
      (first ? a : b) = (first ? a : b).subspan(1);
    }
  }
  add_all(a, left_a);
  add_all(b, left_b);
  const std::size_t both = std::min(left_a.size(), left_b.size());
  for (std::size_t i = 0; i < both; ++i) match.shared.push_back({left_a[i], left_b[i]});
  const auto skip = static_cast<std::ptrdiff_t>(both);
  match.only_a.insert(match.only_a.end(), left_a.begin() + skip, left_a.end());
  match.only_b.insert(match.only_b.end(), left_b.begin() + skip, left_b.end());
}

}  // namespace

Link place_of(const Plan& plan, std::uint32_t resource) {
  if (plan.is_link(resource)) return plan.link(resource);
  return {Rank{resource}, Rank{resource}};
}

TaskMatch match_tasks(const Plan& a, const Plan& b) {
  const std::vector<Entry> all_a = entries_of(a);
  const std::vector<Entry> all_b = entries_of(b);
  std::span<const Entry> rest_a = all_a;
  std::span<const Entry> rest_b = all_b;
  TaskMatch match;
  match.shared.reserve(std::min(all_a.size(), all_b.size()));
  while (!rest_a.empty() && !rest_b.empty()) {
    if (rest_a.front().op == rest_b.front().op) {
      match_group(take_group(rest_a), take_group(rest_b), match);
    } else if (rest_a.front().op < rest_b.front().op) {
      add_all(take_group(rest_a), match.only_a);
    } else {
      add_all(take_group(rest_b), match.only_b);
    }
  }
  add_all(rest_a, match.only_a);
  add_all(rest_b, match.only_b);
  std::sort(match.shared.begin(), match.shared.end(),
            [](const TaskPair& one, const TaskPair& other) { return one.a < other.a; });
  std::sort(match.only_a.begin(), match.only_a.end());
  std::sort(match.only_b.begin(), match.only_b.end());
  return match;
}

}  // namespace penstock
