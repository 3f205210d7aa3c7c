#include "schedules/patterns/pieces.hpp"

#include <algorithm>
#include <map>
#include <span>

namespace penstock {
namespace {

std::vector<Rank> ranks_of(const Placement& placement, Stage stage) {
  std::vector<Rank> ranks;
  for (const Microbatch replica : Numbers<Microbatch>(placement.replicas(stage))) {
    ranks.push_back(placement.rank_of(stage, replica));
  }
  return ranks;
}

/// The stages of an order that is cut, by whole stage.
class CutStages {
 public:
  CutStages(const Placement& whole, const std::vector<std::uint32_t>& pieces) {
    std::uint32_t next = 0;
    for (const Stage stage : whole.stages()) {
      first_.push_back(next);
      next += count_.emplace_back(pieces[whole.position(stage)]);
    }
  }

  Numbers<Stage> of(Stage stage) const {
    const std::uint32_t first = first_[index(stage)];
    return Numbers<Stage>(first, first + count_[index(stage)]);
  }

  Placement placed(const Placement& whole) const {
    std::vector<std::vector<Rank>> ranks;
    for (const Stage stage : whole.stages()) {
      ranks.insert(ranks.end(), of(stage).size(), ranks_of(whole, stage));
    }
    std::vector<std::vector<Stage>> chains(whole.chains().size());
    for (std::size_t chain = 0; chain < chains.size(); ++chain) {
      for (const Stage stage : whole.chains()[chain]) {
        for (const Stage piece : of(stage)) chains[chain].push_back(piece);
      }
    }
    return Placement::given(whole.ranks(), ranks, std::move(chains));
  }

  std::vector<Action> of(const Action& action) const {
    std::vector<Action> pieces;
    for (const Stage piece : of(action.stage)) {
      pieces.emplace_back(action.pass, piece, action.microbatch);
    }
    const bool backwards = gives_gradient(action.pass) || action.pass == Pass::backward_weight;
    if (backwards) std::ranges::reverse(pieces);
    return pieces;
  }

 private:
  std::vector<std::uint32_t> first_, count_;  // by whole stage
};

void take_turns(std::span<const Action> one, std::span<const Action> other,
                std::vector<Action>& row) {
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    if (i < one.size()) row.push_back(one[i]);
    if (i < other.size()) row.push_back(other[i]);
  }
}

}  // namespace

PlacedOrder cut_order(const PlacedOrder& whole, const std::vector<std::uint32_t>& pieces) {
  const CutStages stages(whole.placement, pieces);
  Schedule schedule(whole.schedule.ranks());
  schedule.set_weights(whole.schedule.weights());
  for (const Rank rank : Numbers<Rank>(schedule.ranks())) {
    const std::vector<Action>& row = whole.schedule.on(rank);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::vector<Action> one = stages.of(row[i]);
      const std::vector<Action> other =
          row[i].with_next ? stages.of(row[++i]) : std::vector<Action>{};
      take_turns(one, other, schedule.on(rank));
    }
  }
  return {stages.placed(whole.placement), std::move(schedule)};
}

PlacedOrder joined_order(const PlacedOrder& cut, const std::vector<std::uint32_t>& pieces) {
  std::map<Stage, Stage> whole;  // by first piece
  for (const std::vector<Stage>& chain : cut.placement.chains()) {
    std::size_t first = 0;
    for (const std::uint32_t count : pieces) {
      whole.emplace(chain[first], Stage{});
      first += count;
    }
  }
  std::vector<std::vector<Rank>> ranks;
  for (auto& [piece, stage] : whole) {
    stage = Stage{static_cast<std::uint32_t>(ranks.size())};
    ranks.push_back(ranks_of(cut.placement, piece));
  }
  std::vector<std::vector<Stage>> chains(cut.placement.chains().size());
  for (std::size_t chain = 0; chain < chains.size(); ++chain) {
    for (const Stage piece : cut.placement.chains()[chain]) {
      if (const auto found = whole.find(piece); found != whole.end()) {
        chains[chain].push_back(found->second);
      }
    }
  }
  Schedule schedule(cut.schedule.ranks());
  schedule.set_weights(cut.schedule.weights());
  for (const Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const Action& action : cut.schedule.on(rank)) {
      const auto found = whole.find(action.stage);
      if (found == whole.end()) continue;
      schedule.on(rank).emplace_back(action.pass, found->second, action.microbatch);
    }
  }
  return {Placement::given(cut.placement.ranks(), ranks, std::move(chains)), std::move(schedule)};
}

}  // namespace penstock
