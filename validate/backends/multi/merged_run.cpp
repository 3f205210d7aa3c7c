#include "validate/backends/multi/merged_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace penstock {
namespace {

/// Stamps of one task, by rank.
using Stamps = std::vector<std::map<std::uint32_t, RankStamp>>;

Stamps stamps_of(const Plan& plan, const std::vector<RankRun>& runs) {
  Stamps all(plan.tasks());
  for (std::uint32_t rank = 0; rank < runs.size(); ++rank) {
    for (const RankStamp& stamp : runs[rank].stamps) {
      if (stamp.task >= plan.tasks()) throw std::runtime_error("an unknown task was recorded");
      all[stamp.task].emplace(rank, stamp);
    }
  }
  return all;
}

/// The rank that says when a task ended.
std::uint32_t ending_rank(const Plan& plan, TaskId task) {
  const WorkClass& work = plan.class_of(task);
  if (!plan.is_link(work.resource)) return work.resource;
  const Link& link = plan.link(work.resource);
  return index(is_collective(work.pass) ? link.from : link.to);
}

const RankStamp& stamp_of(const Plan& plan, const Stamps& stamps, TaskId task, std::uint32_t rank) {
  const auto found = stamps[task].find(rank);
  if (found != stamps[task].end()) return found->second;
  throw std::runtime_error(
      fmt::format("rank {} did not say when {} ran", rank, task_text(plan, task)));
}

void check_order(const Plan& plan, const Stamps& stamps, TaskId task,
                 const std::vector<RankRun>& runs, Causality& causality) {
  const WorkClass& work = plan.class_of(task);
  if (!plan.is_link(work.resource) || is_collective(work.pass)) return;
  const Link& link = plan.link(work.resource);
  const std::uint32_t from = index(link.from), to = index(link.to);
  causality.add(stamp_of(plan, stamps, task, from).begin_ns,
                stamp_of(plan, stamps, task, to).end_ns,
                runs[from].uncertainty_ns + runs[to].uncertainty_ns);
}

}  // namespace

RunMerger::RunMerger(const Plan& plan, ChannelRule rule)
    : plan_(plan), meetings_(meetings_of(plan, task_channels(plan, rule), rule)) {}

Timeline RunMerger::merge(const std::vector<RankRun>& runs, Causality& causality) const {
  const Stamps stamps = stamps_of(plan_, runs);
  std::vector<std::int64_t> begin(plan_.tasks()), end(plan_.tasks());
  for (const Meeting& meeting : meetings_.all) {
    std::int64_t latest = INT64_MIN;
    for (const TaskId task : meeting.tasks) {
      for (const auto& [rank, stamp] : stamps[task]) latest = std::max(latest, stamp.begin_ns);
    }
    for (const TaskId task : meeting.tasks) {
      check_order(plan_, stamps, task, runs, causality);
      begin[task] = latest;
      end[task] = std::max(latest, stamp_of(plan_, stamps, task, ending_rank(plan_, task)).end_ns);
    }
  }
  Timeline timeline;
  const std::int64_t first = begin.empty() ? 0 : *std::min_element(begin.begin(), begin.end());
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    timeline.begin.push_back(from_ns(begin[task] - first));
    timeline.end.push_back(from_ns(end[task] - first));
  }
  find_last_inputs(plan_, timeline);
  return timeline;
}

}  // namespace penstock
