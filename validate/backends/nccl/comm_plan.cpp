#include "validate/backends/nccl/comm_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "validate/backends/nccl/comm_channels.hpp"
#include "validate/job/rank_program.hpp"

namespace penstock {
namespace {

/// The ranks that take part in a task.
std::vector<std::uint32_t> ranks_of(const Plan& plan, TaskId task) {
  const WorkClass& work = plan.class_of(task);
  if (!plan.is_link(work.resource)) return {work.resource};
  const Link& link = plan.link(work.resource);
  if (is_collective(work.pass)) return {index(link.from)};
  return {index(link.from), index(link.to)};
}

std::optional<std::string> why_not_link(const Plan& plan, TaskId task) {
  const WorkClass& work = plan.class_of(task);
  if (!plan.is_link(work.resource) || is_collective(work.pass)) return std::nullopt;
  for (const Rank end : {plan.link(work.resource).from, plan.link(work.resource).to}) {
    if (!is_rank(end)) {
      return fmt::format("{}, which goes to or from {}", task_text(plan, task), end_phrase(end));
    }
  }
  return std::nullopt;
}

/// Lays meetings out by rank.
class CommLayout {
 public:
  CommLayout(const PricedPlan& priced, ChannelRule rule)
      : priced_(priced),
        plan_(priced.plan),
        channels_(task_channels(plan_, rule)),
        meetings_(meetings_of(plan_, channels_, rule)),
        places_(meetings_.all.size()) {
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      if (plan_.class_of(task).pass == Pass::gather_weights) gathers_.insert(channel(task));
    }
  }

  CommPlan made() {
    CommPlan made{channels_.channels, {}};
    made.ranks.resize(plan_.ranks);
    for (std::uint32_t meeting = 0; meeting < meetings_.all.size(); ++meeting) {
      add(meeting, made.ranks);
    }
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      for (std::uint32_t item = 0; item < made.ranks[rank].size(); ++item) {
        add_waits(rank, item, made.ranks[rank]);
      }
    }
    return made;
  }

 private:
  struct Place {
    std::uint32_t rank;
    std::uint32_t item;
  };

  std::uint32_t channel(TaskId task) const { return channels_.of_task[task]; }

  void add(std::uint32_t meeting, std::vector<std::vector<RankItem>>& ranks) {
    const Meeting& all = meetings_.all[meeting];
    std::set<std::uint32_t> there;
    for (const TaskId task : all.tasks) {
      for (const std::uint32_t rank : ranks_of(plan_, task)) there.insert(rank);
    }
    for (const std::uint32_t rank : there) {
      places_[meeting].push_back({rank, static_cast<std::uint32_t>(ranks[rank].size())});
      ranks[rank].push_back(item_of(all, rank));
    }
  }

  RankItem item_of(const Meeting& meeting, std::uint32_t rank) const {
    RankItem item;
    const TaskId first = meeting.tasks.front();
    item.channel = channel(first);
    if (item.channel == no_channel) {
      item.action = first;
      if (meeting.tasks.size() > 1) item.beside = meeting.tasks.back();
      return item;
    }
    for (const TaskId task : meeting.tasks) {
      const auto ranks = ranks_of(plan_, task);
      if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) continue;
      item.group.push_back(op_of(task, rank));
    }
    return item;
  }

  CommOp op_of(TaskId task, std::uint32_t rank) const {
    const WorkClass& work = plan_.class_of(task);
    const std::uint64_t bytes = work.buffer == UINT32_MAX ? 0 : priced_.costs.bytes[work.buffer];
    const Link& link = plan_.link(work.resource);
    if (work.pass == Pass::gather_weights) return {CommKind::all_gather, task, 0, bytes};
    if (is_collective(work.pass)) {
      const bool scatters = gathers_.contains(channel(task));
      return {scatters ? CommKind::reduce_scatter : CommKind::all_reduce, task, 0, bytes};
    }
    if (index(link.from) == rank) return {CommKind::send, task, index(link.to), bytes};
    return {CommKind::receive, task, index(link.from), bytes};
  }

  /// An item waits for its inputs on its rank; the other end waits for those that it has.
  void add_waits(std::uint32_t rank, std::uint32_t item, std::vector<RankItem>& items) const {
    RankItem& own = items[item];
    std::set<std::uint32_t> waits;
    const auto add_inputs = [&](TaskId task) {
      if (task == no_task) return;
      plan_.for_each_input(task, [&](TaskId input) {
        const auto place = place_of(input, rank);
        if (!place || *place == item) return;
        const RankItem& other = items[*place];
        const bool one_stream = other.is_action() == own.is_action() &&
                                (own.is_action() || other.channel == own.channel);
        if (!one_stream || *place > item) waits.insert(*place);
      });
    };
    add_inputs(own.action);
    add_inputs(own.beside);
    for (const CommOp& op : own.group) add_inputs(op.task);
    own.waits.assign(waits.begin(), waits.end());
  }

  std::optional<std::uint32_t> place_of(TaskId task, std::uint32_t rank) const {
    for (const Place& place : places_[meetings_.of_task[task]]) {
      if (place.rank == rank) return place.item;
    }
    return std::nullopt;
  }

  const PricedPlan& priced_;
  const Plan& plan_;
  TaskChannels channels_;
  Meetings meetings_;
  std::vector<std::vector<Place>> places_;  // by meeting
  std::set<std::uint32_t> gathers_;         // channels whose weights are gathered
};

/// An input that no rank of a task has: nobody there can wait for it.
std::optional<std::string> why_not_inputs(const Plan& plan, const TaskChannels& channels) {
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    std::optional<std::string> reason;
    const std::vector<std::uint32_t> ranks = ranks_of(plan, task);
    plan.for_each_input(task, [&](TaskId input) {
      const std::uint32_t channel = channels.of_task[input];
      const bool collective = channel != no_channel && channels.channels[channel].is_collective;
      const auto theirs = collective ? channels.channels[channel].members : ranks_of(plan, input);
      const bool meets = std::any_of(ranks.begin(), ranks.end(), [&](std::uint32_t rank) {
        return std::find(theirs.begin(), theirs.end(), rank) != theirs.end();
      });
      if (!meets) {
        reason = fmt::format("{}, which waits for {} on other ranks", task_text(plan, task),
                             task_text(plan, input));
      }
    });
    if (reason) return reason;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_no_comm_plan(const Plan& plan) {
  if (auto reason = why_only_threads(plan)) return reason;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (auto reason = why_not_link(plan, task)) return reason;
  }
  const TaskChannels channels = task_channels(plan, ChannelRule::per_direction);
  if (auto reason = uneven_collectives(plan, channels)) return reason;
  return why_not_inputs(plan, channels);
}

CommPlan comm_plan(const PricedPlan& priced, ChannelRule rule) {
  return CommLayout(priced, rule).made();
}

}  // namespace penstock
