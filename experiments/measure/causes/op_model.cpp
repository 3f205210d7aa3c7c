#include "experiments/measure/causes/op_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

constexpr double least_slow_rank = 0.02;
constexpr double least_uneven = 0.01;

using Values = std::vector<double>;

double picoseconds(Time time) { return static_cast<double>(time.picoseconds); }

double mean(const Values& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

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

/// Finds the factors one after the other.
class Fit {
 public:
  Fit(const MeasuredStep& step, const ExpectedOps* expected)
      : step_(step), plan_(*step.plan), expected_(expected) {
    for (const WorkClass& work : plan_.classes) kinds_.push_back(kind_of(plan_, work));
    model_.groups = rank_groups_of(plan_);
    model_.link.assign(plan_.links.size(), 1);
    model_.rank.assign(plan_.ranks, 1);
    model_.measured_rank.assign(plan_.ranks, 0);
    model_.measured_link.assign(plan_.links.size(), 0);
    model_.replica.assign(model_.groups.pipelines, 1);
    find_shares();
    tasks_.resize(plan_.classes.size());
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      if (!plan_.class_of(task).follows_partner) tasks_[plan_.work[task]].push_back(task);
    }
  }

  OpModel fitted() {
    find_microbatches();
    compare_ranks();
    find_stages();
    split_microbatches();
    compare_links(step_, expected_, model_);
    return std::move(model_);
  }

 private:
  const WorkClass& work(std::uint32_t number) const { return plan_.classes[number]; }
  bool is_action(std::uint32_t number) const { return !plan_.is_link(work(number).resource); }
  bool varies(std::uint32_t number) const {
    return is_action(number) && OpModel::varies(work(number).pass) && !tasks_[number].empty();
  }
  std::uint32_t stage_of(std::uint32_t number) const {
    return plan_.model_stage.empty() ? 0 : plan_.model_stage[index(work(number).stage)];
  }
  double expected_of(std::uint32_t number) const {
    return expected_ == nullptr ? 0 : expected_->of(stage_of(number), kinds_[number]);
  }
  double length(TaskId task) const { return picoseconds(step_.length(task)); }
  std::uint32_t pipeline_of(std::uint32_t rank) const { return model_.groups.ranks[rank].pipeline; }
  double ops_of(std::uint32_t number) const { return static_cast<double>(tasks_[number].size()); }
  /// Of the median of ops over that of others.
  double error(double ops, double others) const {
    if (ops <= 0 || others <= 0) return 0;
    return error_of_median * model_.jitter * std::sqrt(1 / ops + 1 / others);
  }

  void find_shares();
  void find_microbatches();
  void set_medians();
  Values shares_from_ops() const;
  void find_jitter(std::size_t fitted);
  void compare_ranks();
  Reference reference(std::uint32_t number) const;
  double middle(const Values& holders) const;
  void find_references();
  void measure_ranks();
  void split_replicas();
  void find_stages();
  void even_out();
  void split_microbatches();

  const MeasuredStep& step_;
  const Plan& plan_;
  const ExpectedOps* expected_;
  std::vector<OpKind> kinds_;               // by class
  std::vector<std::vector<TaskId>> tasks_;  // by class
  std::vector<std::uint32_t> pipeline_of_share_;
  // Without the factors of replicas. By stage and kind: medians of its ranks; by kind: those of its
  // stages, and the pace.
  std::map<std::pair<std::uint32_t, OpKind>, Peers> holders_;
  std::map<OpKind, Peers> stages_, pace_;
  std::map<std::pair<std::uint32_t, OpKind>, std::uint32_t> stages_of_rank_;
  bool by_fastest_ = true;  // the factors of replicas are not known yet
  Values ops_, peer_ops_;   // by rank: those compared, and those that they are compared with
  OpModel model_;
};

void Fit::find_shares() {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
  model_.share_of.resize(plan_.tasks());
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    if (!is_action(plan_.work[task])) continue;
    const std::uint32_t pipeline = pipeline_of(plan_.class_of(task).resource);
    const auto next = static_cast<std::uint32_t>(numbers.size());
    const auto [found, is_new] =
        numbers.try_emplace({pipeline, index(plan_.microbatch[task])}, next);
    if (is_new) pipeline_of_share_.push_back(pipeline);
    model_.share_of[task] = found->second;
  }
  model_.microbatch.assign(numbers.size(), 1);
}

/// By class: the median of its ops, were their microbatches alike.
void Fit::set_medians() {
  model_.usual.assign(plan_.classes.size(), 0);
  for (std::uint32_t number = 0; number < tasks_.size(); ++number) {
    if (!is_action(number) || tasks_[number].empty()) continue;
    Values values;
    for (const TaskId task : tasks_[number]) {
      values.push_back(length(task) /
                       (varies(number) ? model_.microbatch[model_.share_of[task]] : 1));
    }
    model_.usual[number] = median(std::move(values));
  }
}

/// By share: the median of its ops over those of their classes; 0 without ops.
Values Fit::shares_from_ops() const {
  std::vector<Values> ratios(model_.microbatch.size());
  for (std::uint32_t number = 0; number < tasks_.size(); ++number) {
    if (!varies(number) || model_.usual[number] <= 0) continue;
    for (const TaskId task : tasks_[number]) {
      ratios[model_.share_of[task]].push_back(length(task) / model_.usual[number]);
    }
  }
  Values shares;
  for (Values& of_share : ratios) shares.push_back(median(std::move(of_share)));
  return shares;
}

/// `fitted`: numbers that fit the ops beside the medians of their classes. Each takes some of what
/// ops are off.
void Fit::find_jitter(std::size_t fitted) {
  Values deviations;
  for (std::uint32_t number = 0; number < tasks_.size(); ++number) {
    if (!varies(number) || model_.usual[number] <= 0 || tasks_[number].size() < 2) continue;
    ++fitted;
    for (const TaskId task : tasks_[number]) {
      const double usual = model_.usual[number] * model_.microbatch[model_.share_of[task]];
      if (length(task) > 0) deviations.push_back(std::abs(std::log(length(task) / usual)));
    }
  }
  const auto ops = static_cast<double>(deviations.size());
  const double free = std::max(1.0, ops - static_cast<double>(fitted));
  model_.jitter = 1.4826 * median(std::move(deviations)) * std::sqrt(ops / free);
}

void Fit::find_microbatches() {
  set_medians();
  for (int round = 0; round < 3; ++round) {
    model_.microbatch = shares_from_ops();
    for (double& share : model_.microbatch) {
      if (share <= 0) share = 1;
    }
    set_medians();
  }
  find_jitter(model_.microbatch.size());
  Values ops(model_.microbatch.size()), of_pipeline(model_.groups.pipelines);
  for (std::uint32_t number = 0; number < tasks_.size(); ++number) {
    if (!varies(number)) continue;
    for (const TaskId task : tasks_[number]) ++ops[model_.share_of[task]];
    of_pipeline[pipeline_of(work(number).resource)] += ops_of(number);
  }
  bool differ = false;
  for (std::size_t share = 0; share < ops.size(); ++share) {
    const double off = std::abs(std::log(model_.microbatch[share]));
    const double others = of_pipeline[pipeline_of_share_[share]];
    differ = differ || off > std::max(least_uneven, sure * error(ops[share], others));
  }
  if (differ) return;
  std::ranges::fill(model_.microbatch, 1);
  set_medians();
  find_jitter(0);
}

void Fit::find_references() {
  holders_.clear();
  stages_.clear();
  pace_.clear();
  stages_of_rank_.clear();
  for (std::uint32_t number = 0; number < tasks_.size(); ++number) {
    if (!varies(number)) continue;
    const double usual = model_.usual[number] / model_.replica[pipeline_of(work(number).resource)];
    holders_[{stage_of(number), kinds_[number]}].add(usual, ops_of(number));
    ++stages_of_rank_[{work(number).resource, kinds_[number]}];
    const double stated = expected_of(number);
    if (stated > 0) pace_[kinds_[number]].add(usual / stated, ops_of(number));
  }
  for (const auto& [key, holders] : holders_) {
    stages_[key.second].add(middle(holders.usual), holders.ops);
  }
}

/// Slow replicas may be half of the holders of a stage: until they are known, the fastest counts.
double Fit::middle(const Values& holders) const {
  return by_fastest_ ? *std::ranges::min_element(holders) : lower_median(holders);
}

/// What the ops of a class take at the peers of its rank.
Reference Fit::reference(std::uint32_t number) const {
  const auto& [holders, ops] = holders_.at({stage_of(number), kinds_[number]});
  if (holders.size() > 2) return {middle(holders), ops};
  if (const double stated = expected_of(number); stated > 0) {
    const Peers& pace = pace_.at(kinds_[number]);
    return {stated * lower_median(pace.usual), pace.ops};
  }
  if (holders.size() == 2) return {middle(holders), ops};
  if (stages_of_rank_.at({work(number).resource, kinds_[number]}) < 2) return {};
  const Peers& stages = stages_.at(kinds_[number]);
  return {lower_median(stages.usual), stages.ops};
}

/// Over their peers, without the factors of replicas.
void Fit::measure_ranks() {
  std::vector<Values> ratios(plan_.ranks);
  ops_.assign(plan_.ranks, 0);
  peer_ops_.assign(plan_.ranks, 0);
  for (std::uint32_t number = 0; number < tasks_.size(); ++number) {
    if (!varies(number)) continue;
    const Reference peers = reference(number);
    if (peers.usual <= 0) continue;
    const std::uint32_t rank = work(number).resource;
    ratios[rank].push_back(model_.usual[number] / model_.replica[pipeline_of(rank)] / peers.usual);
    ops_[rank] += ops_of(number);
    peer_ops_[rank] += peers.ops - ops_of(number);
  }
  for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
    model_.measured_rank[rank] = lower_median(ratios[rank]);
    model_.ranks_known = model_.ranks_known || !ratios[rank].empty();
  }
}

/// Ranks and replicas in turn, since each is compared without the factors of the other.
void Fit::compare_ranks() {
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
  for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
    const double slower = model_.measured_rank[rank];
    const double sure_off = sure * error(ops_[rank], peer_ops_[rank]);
    if (slower > 1 + std::max(least_slow_rank, sure_off)) model_.rank[rank] = slower;
  }
}

/// Where half of the ranks of a pipeline are slower or faster than their peers, all of it is.
void Fit::split_replicas() {
  const std::uint32_t pipelines = model_.groups.pipelines;
  if (pipelines < 2 || pipelines == plan_.ranks) return;
  std::vector<Values> ratios(pipelines);
  Values ops(pipelines);
  for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
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
    const double sure_off = sure * error(ops[pipeline], of_all - ops[pipeline]);
    const bool differs = std::abs(std::log(ratio)) > std::max(least_uneven, sure_off);
    model_.replica[pipeline] = differs ? ratio : 1;
  }
}

/// What stages take without the factors of ranks and replicas.
void Fit::find_stages() {
  std::map<std::pair<std::uint32_t, OpKind>, Values> values;
  const auto factor = [&](std::uint32_t number) {
    const std::uint32_t rank = work(number).resource;
    return varies(number) ? model_.rank[rank] * model_.replica[pipeline_of(rank)] : 1;
  };
  const auto each = [&](auto visit) {
    for (std::uint32_t number = 0; number < tasks_.size(); ++number) {
      if (is_action(number) && !tasks_[number].empty()) {
        visit(number, std::pair{stage_of(number), kinds_[number]});
      }
    }
  };
  each([&](std::uint32_t number, const auto& key) {
    values[key].push_back(model_.usual[number] / factor(number));
  });
  each([&](std::uint32_t number, const auto& key) { model_.usual[number] = median(values[key]); });
  even_out();
}

void Fit::even_out() {
  std::map<OpKind, std::map<std::uint32_t, std::pair<double, double>>> of_kind;  // usual, ops
  for (std::uint32_t number = 0; number < tasks_.size(); ++number) {
    if (!is_action(number) || model_.usual[number] <= 0) continue;
    auto& [usual, ops] = of_kind[kinds_[number]][stage_of(number)];
    usual = model_.usual[number];
    ops += ops_of(number);
  }
  std::map<OpKind, double> even;
  std::set<OpKind> differ;
  for (const auto& [kind, stages] : of_kind) {
    double& sum = even[kind];
    double ops = 0;
    for (const auto& [stage, usual] : stages) {
      sum += usual.first;
      ops += usual.second;
    }
    sum /= static_cast<double>(stages.size());
    for (const auto& [stage, usual] : stages) {
      const double sure_off = sure * error(usual.second, ops - usual.second);
      if (std::abs(std::log(usual.first / sum)) > std::max(least_uneven, sure_off)) {
        differ.insert(kind);
      }
    }
  }
  model_.even = model_.usual;
  const bool passes_differ =
      std::ranges::any_of(differ, [](const OpKind& kind) { return OpModel::varies(kind.pass); });
  for (std::uint32_t number = 0; number < tasks_.size(); ++number) {
    if (!is_action(number) || model_.usual[number] <= 0) continue;
    model_.even[number] = even.at(kinds_[number]);
    const bool differs = varies(number) ? passes_differ : differ.contains(kinds_[number]);
    if (!differs) model_.usual[number] = model_.even[number];
  }
}

/// The mean share of a pipeline belongs to the pipeline, and the mean of all of these to the
/// stages: evening out moves work, it takes none away.
void Fit::split_microbatches() {
  std::vector<Values> shares(model_.groups.pipelines);
  for (std::size_t share = 0; share < model_.microbatch.size(); ++share) {
    shares[pipeline_of_share_[share]].push_back(model_.microbatch[share]);
  }
  Values means;
  for (std::size_t pipeline = 0; pipeline < shares.size(); ++pipeline) {
    const double own = mean(shares[pipeline]);
    means.push_back(own > 0 ? own : 1);
    model_.replica[pipeline] *= means.back();
  }
  for (std::size_t share = 0; share < model_.microbatch.size(); ++share) {
    model_.microbatch[share] /= means[pipeline_of_share_[share]];
  }
  const double all = mean(model_.replica);
  for (double& replica : model_.replica) replica /= all;
  for (std::uint32_t number = 0; number < tasks_.size(); ++number) {
    if (!varies(number)) continue;
    model_.usual[number] *= all;
    model_.even[number] *= all;
  }
}

}  // namespace

OpModel op_model(const MeasuredStep& step, const ExpectedOps* expected) {
  return Fit(step, expected).fitted();
}

}  // namespace penstock
