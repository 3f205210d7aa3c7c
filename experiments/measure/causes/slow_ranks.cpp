#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "experiments/measure/causes/op_classes.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

constexpr double least_slow_rank = 0.02;

using Values = std::vector<double>;
using OpKey = std::pair<std::uint32_t, OpKind>;  // of OpClasses

/// What ops are compared with, and on how many ops that rests.
struct Peers {
  Values usual;
  double ops = 0;

  void add(double value, double of_ops) {
    usual.push_back(value);
    ops += of_ops;
  }
};
struct Reference {
  double usual = 0;  // 0: none
  double ops = 0;
};

/// Finds the factors of ranks and replicas, in turn, since each is compared without those of the
/// other.
class RankComparison {
 public:
  RankComparison(const OpClasses& classes, OpModel& model)
      : classes_(classes), model_(model), ranks_(classes.plan().ranks) {
    model_.peers.assign(classes_.count(), 0);
    find_compared();
    find_scatter();
  }

  void compare();

 private:
  std::uint32_t pipeline_of(std::uint32_t rank) const { return model_.groups.ranks[rank].pipeline; }
  std::uint32_t rank_of(std::uint32_t number) const { return classes_.work(number).resource; }
  double replica_of(std::uint32_t number) const {
    return model_.replica[pipeline_of(rank_of(number))];
  }

  void find_compared();
  void find_scatter();
  void find_references();
  double middle(const Values& holders) const;
  Reference reference(std::uint32_t number) const;
  void measure_ranks();
  void split_replicas();

  const OpClasses& classes_;
  OpModel& model_;
  std::uint32_t ranks_;
  std::vector<std::uint32_t> compared_;  // classes
  Values scatter_;                       // by rank: of the ops of these
  // By rank and kind: the stages that it alone holds.
  std::map<std::pair<std::uint32_t, OpKind>, std::uint32_t> own_stages_;
  // Without the factors of replicas. By stage and kind: medians of its ranks; by kind: those of its
  // stages, and the pace.
  std::map<OpKey, Peers> holders_;
  std::map<OpKind, Peers> stages_, pace_;
  bool by_fastest_ = true;  // the factors of replicas are not known yet
  Values ops_, peer_ops_;   // by rank: those compared, and those that they are compared with
};

/// Ops of a stage that differ beyond the factors of their microbatches, as those of pictures do,
/// say nothing of ranks.
void RankComparison::find_compared() {
  std::map<OpKey, Values> distances;
  std::map<OpKey, std::uint32_t> holders;
  for (std::uint32_t number = 0; number < classes_.count(); ++number) {
    if (!classes_.varies(number)) continue;
    const Values own = classes_.distances(number, model_);
    Values& all = distances[classes_.key(number)];
    all.insert(all.end(), own.begin(), own.end());
    ++holders[classes_.key(number)];
  }
  std::map<OpKey, bool> alike;
  for (auto& [key, all] : distances) {
    const double scatter = scatter_of(std::move(all), holders.at(key));
    alike[key] = scatter <= sure * std::max(least_uneven, model_.jitter);
  }
  for (std::uint32_t number = 0; number < classes_.count(); ++number) {
    if (!classes_.varies(number) || !alike.at(classes_.key(number))) continue;
    compared_.push_back(number);
    if (holders.at(classes_.key(number)) == 1) {
      ++own_stages_[{rank_of(number), classes_.kind(number)}];
    }
  }
}

void RankComparison::find_scatter() {
  std::vector<Values> distances(ranks_);
  for (const std::uint32_t number : compared_) {
    const Values own = classes_.distances(number, model_);
    Values& all = distances[rank_of(number)];
    all.insert(all.end(), own.begin(), own.end());
  }
  for (Values& all : distances) {
    scatter_.push_back(std::max(model_.jitter, scatter_of(std::move(all))));
  }
}

void RankComparison::find_references() {
  holders_.clear();
  stages_.clear();
  pace_.clear();
  for (const std::uint32_t number : compared_) {
    const double usual = model_.usual[number] / replica_of(number);
    holders_[classes_.key(number)].add(usual, classes_.ops(number));
    const double stated = classes_.expected(number);
    if (stated > 0) pace_[classes_.kind(number)].add(usual / stated, classes_.ops(number));
  }
  for (const auto& [key, holders] : holders_) {
    stages_[key.second].add(middle(holders.usual), holders.ops);
  }
}

/// Slow replicas may be half of the holders of a stage: until they are known, the fastest counts.
double RankComparison::middle(const Values& holders) const {
  return by_fastest_ ? *std::ranges::min_element(holders) : lower_median(holders);
}

/// What the ops of a class take at the peers of its rank.
Reference RankComparison::reference(std::uint32_t number) const {
  const OpKind& kind = classes_.kind(number);
  const auto& [holders, ops] = holders_.at(classes_.key(number));
  if (holders.size() > 2) return {middle(holders), ops};
  if (const double stated = classes_.expected(number); stated > 0) {
    const Peers& pace = pace_.at(kind);
    return {stated * lower_median(pace.usual), pace.ops};
  }
  if (holders.size() == 2) return {middle(holders), ops};
  if (own_stages_.at({rank_of(number), kind}) < 2) return {};
  const Peers& stages = stages_.at(kind);
  return {lower_median(stages.usual), stages.ops};
}

/// Over their peers, without the factors of replicas.
void RankComparison::measure_ranks() {
  std::vector<Values> ratios(ranks_);
  ops_.assign(ranks_, 0);
  peer_ops_.assign(ranks_, 0);
  for (const std::uint32_t number : compared_) {
    const Reference peers = reference(number);
    const std::uint32_t rank = rank_of(number);
    model_.peers[number] = peers.usual * replica_of(number);
    if (peers.usual <= 0) continue;
    // Once for each op, so that a class of few ops does not decide.
    ratios[rank].insert(ratios[rank].end(), classes_.tasks(number).size(),
                        model_.usual[number] / replica_of(number) / peers.usual);
    ops_[rank] += classes_.ops(number);
    peer_ops_[rank] += peers.ops - classes_.ops(number);
  }
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    model_.measured_rank[rank] = lower_median(ratios[rank]);
    model_.ranks_known = model_.ranks_known || !ratios[rank].empty();
  }
}

void RankComparison::compare() {
  constexpr int rounds = 4;
  for (int round = 0; round < rounds; ++round) {
    find_references();
    measure_ranks();
    if (!model_.ranks_known) return;
    split_replicas();
    by_fastest_ = false;
  }
  find_references();
  measure_ranks();
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    const double slower = model_.measured_rank[rank];
    const double sure_off = sure * error_of(model_, ops_[rank], peer_ops_[rank], scatter_[rank]);
    if (slower > 1 + std::max(least_slow_rank, sure_off)) model_.rank[rank] = slower;
  }
}

/// Where half of the ranks of a pipeline are slower or faster than their peers, all of it is.
void RankComparison::split_replicas() {
  const std::uint32_t pipelines = model_.groups.pipelines;
  if (pipelines < 2 || pipelines == ranks_) return;
  std::vector<Values> ratios(pipelines);
  Values ops(pipelines);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (model_.measured_rank[rank] <= 0) continue;
    ratios[pipeline_of(rank)].push_back(model_.measured_rank[rank]);
    ops[pipeline_of(rank)] += ops_[rank];
  }
  Values found = model_.replica;
  for (std::uint32_t pipeline = 0; pipeline < pipelines; ++pipeline) {
    if (ratios[pipeline].size() > 1) found[pipeline] *= lower_median(ratios[pipeline]);
  }
  const double usual = lower_median(found);
  const double of_all = std::accumulate(ops.begin(), ops.end(), 0.0);
  for (std::uint32_t pipeline = 0; pipeline < pipelines; ++pipeline) {
    const double ratio = found[pipeline] / usual;
    const double others = of_all - ops[pipeline];
    const double sure_off = sure * error_of(model_, ops[pipeline], others, model_.jitter);
    const bool differs = std::abs(std::log(ratio)) > std::max(least_uneven, sure_off);
    model_.replica[pipeline] = differs ? ratio : 1;
  }
}

}  // namespace

void compare_ranks(const OpClasses& classes, OpModel& model) {
  RankComparison(classes, model).compare();
}

}  // namespace penstock
