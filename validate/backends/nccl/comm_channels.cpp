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

}  // namespace penstock
