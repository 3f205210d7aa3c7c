#include "validate/backends/nccl/comm_channels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace penstock {
namespace {

/// Channels in the order of their first task.
class ChannelMaker {
 public:
  ChannelMaker(const Plan& plan, ChannelRule rule) : plan_(plan), rule_(rule) {
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      const WorkClass& work = plan.class_of(task);
      if (!is_collective(work.pass)) continue;
      holders_[plan.model_stage[index(work.stage)]].insert(rank_of(work));
    }
  }

  TaskChannels made() {
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      const WorkClass& work = plan_.class_of(task);
      made_.of_task.push_back(plan_.is_link(work.resource) ? channel_of(work) : no_channel);
    }
    return std::move(made_);
  }

 private:
  std::uint32_t rank_of(const WorkClass& work) const {
    return index(plan_.link(work.resource).from);
  }

  std::uint32_t channel_of(const WorkClass& work) {
    if (is_collective(work.pass)) {
      const std::uint32_t stage = plan_.model_stage[index(work.stage)];
      const std::set<std::uint32_t>& all = holders_.at(stage);
      return numbered(stages_, stage,
                      {fmt::format("stage {}", stage), {all.begin(), all.end()}, true});
    }
    const std::uint32_t from = index(plan_.link(work.resource).from);
    const std::uint32_t to = index(plan_.link(work.resource).to);
    const std::vector<std::uint32_t> both{std::min(from, to), std::max(from, to)};
    if (rule_ == ChannelRule::per_direction) {
      return numbered(pairs_, std::pair(from, to), {fmt::format("{}>{}", from, to), both});
    }
    return numbered(pairs_, std::pair(both[0], both[1]),
                    {fmt::format("{}-{}", both[0], both[1]), both});
  }

  template <class Key>
  std::uint32_t numbered(std::map<Key, std::uint32_t>& numbers, const Key& key, Channel channel) {
    const auto next = static_cast<std::uint32_t>(made_.channels.size());
    const auto [place, is_new] = numbers.emplace(key, next);
    if (is_new) made_.channels.push_back(std::move(channel));
    return place->second;
  }

  const Plan& plan_;
  ChannelRule rule_;
  std::map<std::uint32_t, std::set<std::uint32_t>> holders_;  // by model stage
  std::map<std::uint32_t, std::uint32_t> stages_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> pairs_;
  TaskChannels made_;
};

/// Transfers of a collective kind on a channel, by rank and then in order.
using Rows = std::map<std::uint32_t, std::vector<TaskId>>;
using Collectives = std::map<std::pair<std::uint32_t, Pass>, Rows>;

Collectives collectives_of(const Plan& plan, const TaskChannels& channels) {
  Collectives all;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (!is_collective(work.pass)) continue;
    all[{channels.of_task[task], work.pass}][index(plan.link(work.resource).from)].push_back(task);
  }
  return all;
}

class MeetingMaker {
 public:
  MeetingMaker(const Plan& plan, const TaskChannels& channels, ChannelRule rule)
      : plan_(plan), channels_(channels), rule_(rule), last_(channels.channels.size(), none) {
    made_.of_task.assign(plan.tasks(), none);
    if (rule == ChannelRule::per_pair) find_readers();
  }

  Meetings made() {
    add_collectives();
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      if (made_.of_task[task] == none) add_single(task);
    }
    sort();
    return std::move(made_);
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  void add_collectives() {
    for (const auto& [key, rows] : collectives_of(plan_, channels_)) {
      for (std::size_t at = 0; at < rows.begin()->second.size(); ++at) {
        Meeting meeting{0, {}};
        for (const auto& [rank, tasks] : rows) meeting.tasks.push_back(tasks.at(at));
        meeting.order = *std::max_element(meeting.tasks.begin(), meeting.tasks.end());
        add(std::move(meeting));
      }
    }
  }

  void add_single(TaskId task) {
    if (plan_.class_of(task).follows_partner) return join(made_.of_task[task - 1], task);
    const std::uint32_t channel = channels_.of_task[task];
    if (channel == no_channel) return add({task, {task}});
    if (crosses(task, last_[channel])) {
      Meeting& before = made_.all[last_[channel]];
      if (may_come_early(task, before)) return join(last_[channel], task);
      if (may_be_late(before.tasks.front(), task)) {
        before.order = task;
        return join(last_[channel], task);
      }
    }
    last_[channel] = static_cast<std::uint32_t>(made_.all.size());
    add({task, {task}});
  }

  /// Whether a transfer goes the other way than the last one of its pair, which is alone.
  bool crosses(TaskId task, std::uint32_t meeting) const {
    if (rule_ != ChannelRule::per_pair || meeting == none) return false;
    const Meeting& before = made_.all[meeting];
    const Link& own = plan_.link(plan_.class_of(task).resource);
    const Link& other = plan_.link(plan_.class_of(before.tasks.front()).resource);
    return before.tasks.size() == 1 && own.from == other.to;
  }

  /// Whether all that a transfer waits for comes before a meeting.
  bool may_come_early(TaskId task, const Meeting& meeting) const {
    bool may = true;
    plan_.for_each_input(task, [&](TaskId input) {
      may = may && made_.all[made_.of_task[input]].order < meeting.order;
    });
    return may;
  }

  /// Whether all that reads a transfer comes after a task.
  bool may_be_late(TaskId transfer, TaskId task) const {
    return std::all_of(readers_[transfer].begin(), readers_[transfer].end(), [&](TaskId reader) {
      const std::uint32_t meeting = made_.of_task[reader];
      if (meeting != none) return made_.all[meeting].order > task;
      return reader - (plan_.class_of(reader).follows_partner ? 1 : 0) > task;
    });
  }

  void find_readers() {
    readers_.resize(plan_.tasks());
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      plan_.for_each_input(task, [&](TaskId input) {
        if (channels_.of_task[input] != no_channel) readers_[input].push_back(task);
      });
    }
  }

  void add(Meeting meeting) {
    for (const TaskId task : meeting.tasks) {
      made_.of_task[task] = static_cast<std::uint32_t>(made_.all.size());
    }
    made_.all.push_back(std::move(meeting));
  }

  void join(std::uint32_t meeting, TaskId task) {
    made_.of_task[task] = meeting;
    made_.all[meeting].tasks.push_back(task);
  }

  void sort() {
    std::sort(made_.all.begin(), made_.all.end(),
              [](const Meeting& a, const Meeting& b) { return a.order < b.order; });
    for (std::uint32_t at = 0; at < made_.all.size(); ++at) {
      for (const TaskId task : made_.all[at].tasks) made_.of_task[task] = at;
    }
  }

  const Plan& plan_;
  const TaskChannels& channels_;
  ChannelRule rule_;
  std::vector<std::uint32_t> last_;           // by channel: its last meeting
  std::vector<std::vector<TaskId>> readers_;  // by transfer
  Meetings made_;
};

}  // namespace

std::uint32_t Channel::position_of(std::uint32_t rank) const {
  return static_cast<std::uint32_t>(std::lower_bound(members.begin(), members.end(), rank) -
                                    members.begin());
}

bool Channel::has(std::uint32_t rank) const {
  return std::binary_search(members.begin(), members.end(), rank);
}

TaskChannels task_channels(const Plan& plan, ChannelRule rule) {
  return ChannelMaker(plan, rule).made();
}

std::vector<std::vector<std::uint32_t>> split_rounds(const std::vector<Channel>& channels) {
  std::vector<std::vector<std::uint32_t>> rounds;
  std::vector<std::set<std::uint32_t>> taken;  // by round
  for (std::uint32_t channel = 0; channel < channels.size(); ++channel) {
    const std::vector<std::uint32_t>& members = channels[channel].members;
    const auto is_free = [&](const std::set<std::uint32_t>& ranks) {
      return std::none_of(members.begin(), members.end(),
                          [&](std::uint32_t rank) { return ranks.contains(rank); });
    };
    const auto round = std::find_if(taken.begin(), taken.end(), is_free) - taken.begin();
    if (round == std::ssize(taken)) {
      taken.emplace_back();
      rounds.emplace_back();
    }
    taken[static_cast<std::size_t>(round)].insert(members.begin(), members.end());
    rounds[static_cast<std::size_t>(round)].push_back(channel);
  }
  return rounds;
}

Meetings meetings_of(const Plan& plan, const TaskChannels& channels, ChannelRule rule) {
  return MeetingMaker(plan, channels, rule).made();
}

std::optional<std::string> uneven_collectives(const Plan& plan, const TaskChannels& channels) {
  for (const auto& [key, rows] : collectives_of(plan, channels)) {
    const auto& [channel, pass] = key;
    const auto& [first, tasks] = *rows.begin();
    for (const auto& [rank, others] : rows) {
      if (others.size() == tasks.size()) continue;
      return fmt::format("{} collectives of {} on rank {} and {} on rank {}", tasks.size(),
                         channels.channels[channel].name, first, others.size(), rank);
    }
    if (rows.size() == channels.channels[channel].members.size()) continue;
    return fmt::format("collectives of {} without all of its ranks",
                       channels.channels[channel].name);
  }
  return std::nullopt;
}

}  // namespace penstock
