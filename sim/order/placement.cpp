#include "sim/order/placement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

std::vector<Stage> ascending(std::uint32_t first, std::uint32_t count) {
  std::vector<Stage> stages;
  stages.reserve(count);
  for (Stage stage : Numbers<Stage>(first, first + count)) stages.push_back(stage);
  return stages;
}

constexpr std::uint32_t no_chain = UINT32_MAX;

}  // namespace

Placement Placement::given(std::uint32_t ranks,
                           const std::vector<std::vector<Rank>>& ranks_of_stage,
                           std::vector<std::vector<Stage>> chains) {
  Placement placement;
  const auto stages = static_cast<std::uint32_t>(ranks_of_stage.size());
  placement.ranks_ = ranks;
  placement.first_slot_.push_back(0);
  placement.stages_of_rank_.resize(ranks);
  for (Stage stage : Numbers<Stage>(stages)) {
    const auto& replicas = ranks_of_stage[index(stage)];
    if (replicas.empty()) throw InputError(fmt::format("stage {} has no rank", index(stage)));
    for (auto replica = replicas.begin(); replica != replicas.end(); ++replica) {
      const Rank rank = *replica;
      if (index(rank) >= ranks) {
        throw InputError(fmt::format("stage {} is on rank {}; ranks are 0 to {}", index(stage),
                                     index(rank), ranks - 1));
      }
      if (std::find(replicas.begin(), replica, rank) != replica) {
        throw InputError(
            fmt::format("stage {} is on rank {} twice; its replicas are on different ranks",
                        index(stage), index(rank)));
      }
      placement.rank_of_slot_.push_back(rank);
      placement.stages_of_rank_[index(rank)].push_back(stage);
    }
    placement.first_slot_.push_back(static_cast<std::uint32_t>(placement.rank_of_slot_.size()));
  }
  placement.chain_.assign(stages, no_chain);
  placement.position_.assign(stages, 0);
  placement.before_.assign(stages, no_stage);
  placement.after_.assign(stages, no_stage);
  for (std::uint32_t chain = 0; chain < chains.size(); ++chain) {
    for (std::uint32_t place = 0; place < chains[chain].size(); ++place) {
      const Stage stage = chains[chain][place];
      if (index(stage) >= stages) {
        throw InputError(fmt::format("chain {} names stage {}; stages are 0 to {}", chain,
                                     index(stage), stages - 1));
      }
      if (placement.chain_[index(stage)] != no_chain) {
        throw InputError(fmt::format(
            "stage {} occurs twice in the chains; each stage belongs to one", index(stage)));
      }
      placement.chain_[index(stage)] = chain;
      placement.position_[index(stage)] = place;
      if (place == 0) continue;
      const Stage previous = chains[chain][place - 1];
      placement.before_[index(stage)] = previous;
      placement.after_[index(previous)] = stage;
    }
  }
  for (Stage stage : Numbers<Stage>(stages)) {
    if (placement.chain_[index(stage)] == no_chain) {
      throw InputError(
          fmt::format("stage {} is in no chain; each stage belongs to one", index(stage)));
    }
  }
  placement.chains_ = std::move(chains);
  return placement;
}

Placement Placement::loop(std::uint32_t ranks, std::uint32_t chunks) {
  std::vector<std::vector<Rank>> on(std::size_t{ranks} * chunks);
  for (std::uint32_t s = 0; s < on.size(); ++s) on[s] = {Rank{s % ranks}};
  return given(ranks, on, {ascending(0, ranks * chunks)});
}

Placement Placement::vee(std::uint32_t ranks, std::uint32_t chunks) {
  std::vector<std::vector<Rank>> on(std::size_t{ranks} * chunks);
  for (std::uint32_t s = 0; s < on.size(); ++s) {
    const std::uint32_t k = s % (2 * ranks);
    on[s] = {Rank{k < ranks ? k : 2 * ranks - 1 - k}};
  }
  return given(ranks, on, {ascending(0, ranks * chunks)});
}

Placement Placement::bidirectional(std::uint32_t ranks) {
  std::vector<std::vector<Rank>> on(std::size_t{ranks} * 2);
  for (std::uint32_t s = 0; s < ranks; ++s) {
    on[s] = {Rank{s}};
    on[ranks + s] = {Rank{ranks - 1 - s}};
  }
  return given(ranks, on, {ascending(0, ranks), ascending(ranks, ranks)});
}

std::vector<std::vector<Rank>> ranks_by_model_stage(const Placement& placement) {
  std::vector<std::vector<Rank>> ranks;
  for (const Stage stage : placement.stages()) {
    const std::uint32_t position = placement.position(stage);
    if (position >= ranks.size()) ranks.resize(std::size_t{position} + 1);
    for (const Microbatch replica : Numbers<Microbatch>(placement.replicas(stage))) {
      ranks[position].push_back(placement.rank_of(stage, replica));
    }
  }
  for (std::vector<Rank>& holders : ranks) {
    std::ranges::sort(holders);
    holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
  }
  return ranks;
}

Rank next_holder(const std::vector<Rank>& holders, Rank rank) {
  const auto next = std::upper_bound(holders.begin(), holders.end(), rank);
  return next == holders.end() ? holders.front() : *next;
}

}  // namespace penstock
