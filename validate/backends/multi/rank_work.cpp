#include "validate/backends/multi/rank_work.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// The channel that carries what another one does, of plans of the same ranks.
std::uint32_t same_channel(const Channel& wanted, const std::vector<Channel>& channels) {
  const auto fits = [&](bool by_name) {
    return std::find_if(channels.begin(), channels.end(), [&](const Channel& one) {
      return by_name ? one.name == wanted.name
                     : one.members == wanted.members && !one.is_collective;
    });
  };
  const auto named = fits(true);
  return static_cast<std::uint32_t>((named != channels.end() ? named : fits(false)) -
                                    channels.begin());
}

/// Tensors of a pair are measured one by one.
CommPlan profile_comms_of(const Job& profile, const std::vector<Channel>& channels) {
  CommPlan comms = comm_plan(profile.priced, ChannelRule::per_direction);
  for (auto& items : comms.ranks) {
    for (RankItem& item : items) {
      if (!item.is_action()) {
        item.channel = same_channel(comms.channels[item.channel], channels);
      }
    }
  }
  comms.channels = channels;
  return comms;
}

}  // namespace

Plan profile_plan(const Plan& plan) {
  Plan profile = plan;
  profile.followers.clear();
  profile.inputs.clear();
  profile.work.clear();
  profile.microbatch.clear();
  profile.input.clear();
  for (std::uint32_t work = 0; work < profile.classes.size(); ++work) {
    profile.classes[work].partner = UINT32_MAX;
    profile.classes[work].follows_partner = false;
    add_task(profile, work, Microbatch{0}, no_task);
  }
  return profile;
}

MultiJob multi_job(const Job& job, ChannelRule rule) {
  MultiJob made{comm_plan(job.priced, rule), job, {}};
  made.profile.priced.plan = profile_plan(job.priced.plan);
  made.profile.priced.costs.task_duration.clear();
  made.profile.priced.costs.task_latency.clear();
  made.profile_comms = profile_comms_of(made.profile, made.comms.channels);
  return made;
}

RankWork rank_work(const Job& job, const CommPlan& comms, std::uint32_t rank) {
  RankWork work{.rank = rank, .channels = comms.channels, .items = comms.ranks[rank]};
  for (const RankItem& item : work.items) {
    const std::int64_t ns = item.is_action() ? job.task_ns(item.action) : 0;
    work.duration_ns.push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)));
  }
  return work;
}

}  // namespace penstock
