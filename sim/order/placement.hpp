#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/numbers.hpp"

namespace penstock {

/// Which rank runs which stage, and the order of stages.
///
/// A chain is one copy of the model: its stages from first to last. Most schedules have one chain;
/// bidirectional ones have two, laid over the same ranks in opposite directions. A stage may have
/// several replicas, which take the microbatches in turn.
class Placement {
 public:
  /// Stage s on rank s mod ranks.
  static Placement loop(std::uint32_t ranks, std::uint32_t chunks);
  /// The stages snake over the ranks: 0, 1, …, ranks-1, ranks-1, …, 1, 0, 0, 1, …
  static Placement vee(std::uint32_t ranks, std::uint32_t chunks);
  /// Two copies of the model: stage s on rank s, and stage ranks + s on rank ranks-1-s.
  static Placement bidirectional(std::uint32_t ranks);
  /// Any placement: the replicas of each stage, and the chains. Throws InputError unless every
  /// stage is in exactly one chain and every rank is below `ranks`.
  static Placement given(std::uint32_t ranks, const std::vector<std::vector<Rank>>& ranks_of_stage,
                         std::vector<std::vector<Stage>> chains);

  std::uint32_t ranks() const { return ranks_; }
  std::uint32_t stage_count() const { return static_cast<std::uint32_t>(position_.size()); }
  Numbers<Stage> stages() const { return Numbers<Stage>(stage_count()); }
  const std::vector<std::vector<Stage>>& chains() const { return chains_; }

  std::uint32_t replicas(Stage stage) const {
    return first_slot_[index(stage) + 1] - first_slot_[index(stage)];
  }
  /// A dense number for each (stage, replica).
  std::uint32_t slot_of(Stage stage, Microbatch microbatch) const {
    const std::uint32_t count = replicas(stage);
    return first_slot_[index(stage)] + (count == 1 ? 0 : index(microbatch) % count);
  }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(rank_of_slot_.size()); }
  Rank rank_of_slot(std::uint32_t slot) const { return rank_of_slot_[slot]; }
  Rank rank_of(Stage stage, Microbatch microbatch = {}) const {
    return rank_of_slot_[slot_of(stage, microbatch)];
  }
  /// The stages that a rank holds, ascending.
  const std::vector<Stage>& stages_of(Rank rank) const { return stages_of_rank_[index(rank)]; }

  /// The previous stage of the chain; nothing for the first.
  std::optional<Stage> before(Stage stage) const { return known(before_[index(stage)]); }
  /// The next stage of the chain; nothing for the last.
  std::optional<Stage> after(Stage stage) const { return known(after_[index(stage)]); }
  /// The model stage: its index in its chain.
  std::uint32_t position(Stage stage) const { return position_[index(stage)]; }
  std::uint32_t chain_of(Stage stage) const { return chain_[index(stage)]; }

  friend bool operator==(const Placement&, const Placement&) = default;

 private:
  static constexpr Stage no_stage{UINT32_MAX};
  static std::optional<Stage> known(Stage stage) {
    return stage == no_stage ? std::nullopt : std::optional<Stage>(stage);
  }

  std::uint32_t ranks_ = 0;
  std::vector<std::uint32_t> first_slot_;
  std::vector<Rank> rank_of_slot_;
  std::vector<std::vector<Stage>> stages_of_rank_;
  std::vector<std::vector<Stage>> chains_;
  std::vector<std::uint32_t> chain_;
  std::vector<std::uint32_t> position_;
  std::vector<Stage> before_;  // by stage: neighbours in its chain
  std::vector<Stage> after_;
};

/// By model stage: the ranks that hold it in any chain, ascending and unique.
std::vector<std::vector<Rank>> ranks_by_model_stage(const Placement& placement);
/// The next holder of a stage after a rank, cyclic.
Rank next_holder(const std::vector<Rank>& holders, Rank rank);

}  // namespace penstock
